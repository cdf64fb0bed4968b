"""Container logs, followed line by line."""

import re
from collections.abc import AsyncIterator

from cockpit.kube.refusal import refused
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.sanitise import clean

LINE_BYTES = 64 << 10
"""A longer line is cut into pieces of this size: a progress bar has no line ends."""
KEPT_OVERWRITTEN = 8
"""Parts of a line that carriage returns overwrote; more of them repeat themselves."""


async def follow(
    session: ApiSession,
    namespace: str,
    pod: str,
    *,
    container: str = "",
    previous: bool = False,
    since_seconds: int | None = None,
    tail: int | None = 1000,
    is_following: bool = True,
) -> AsyncIterator[str]:
    """Cleaned lines of one container's log, oldest first, then as they are written.

    `previous` reads the last ended run of the container and ends. `since_seconds` and `tail` limit the past.
    Ends when the container ends. Raises Refused with the server's sentence (the container is not there or has
    not started), NoConnection when the connection breaks.
    """
    query: list[tuple[str, str]] = []
    if container:
        query.append(("container", container))
    if is_following and not previous:
        query.append(("follow", "true"))
    if previous:
        query.append(("previous", "true"))
    if since_seconds is not None:
        query.append(("sinceSeconds", str(max(int(since_seconds), 1))))
    if tail is not None:
        query.append(("tailLines", str(max(int(tail), 0))))
    path = PODS.path(namespace, pod, "log")
    async with session.stream(path, query=query, accept="*/*") as answer:
        if answer.status >= 300:
            raise refused(f"No log of {namespace}/{pod}", await answer.answer(), path)
        held = b""
        async for chunk in answer.chunks:
            lines, held = cut_lines(held + chunk)
            for line in lines:
                yield line
        if held:
            yield readable(held)


def cut_lines(data: bytes) -> tuple[list[str], bytes]:
    """Whole lines, cleaned, and the bytes of the unfinished one; over-long lines come in pieces."""
    parts = data.split(b"\n")
    rest = parts.pop()
    out: list[str] = []
    for part in parts:
        out.extend(_pieces(part))
    while len(rest) > LINE_BYTES:
        out.append(readable(rest[:LINE_BYTES]))
        rest = rest[LINE_BYTES:]
    return out, rest


def _pieces(line: bytes) -> list[str]:
    if len(line) <= LINE_BYTES:
        return [readable(line)]
    return [readable(line[at : at + LINE_BYTES]) for at in range(0, len(line), LINE_BYTES)]


def readable(line: bytes) -> str:
    """One line of log as text, as a terminal would show it: without what a carriage return overwrote."""
    return _cleaned(line.rstrip(b"\r").rpartition(b"\r")[2])


def overwritten(line: bytes) -> tuple[str, ...]:
    """What a terminal showed before that, the last `KEPT_OVERWRITTEN` parts: bars stand there alone."""
    parts = line.rstrip(b"\r").rsplit(b"\r", 2 * KEPT_OVERWRITTEN)
    begin = 1 if len(parts) > 2 * KEPT_OVERWRITTEN else 0
    texts = (_cleaned(part) for part in parts[begin:-1])
    return tuple(text for text in texts if text.strip())[-KEPT_OVERWRITTEN:]


def _cleaned(part: bytes) -> str:
    return clean(_without_colours(part.decode("utf-8", "replace")), LINE_BYTES)


def _without_colours(text: str) -> str:
    """CSI sequences are taken out whole, so that `[31m` is not left behind where ESC is removed."""
    if "\x1b" not in text:
        return text
    return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text)
