"""How an attempt of a stream ended, and what a server's refusal means for it."""

import enum
import re

import msgspec

from cockpit.kube.decode.wire import ServerStatus


class How(enum.Enum):
    """Why an attempt ended."""

    CLOSED = "closed by the server"
    CUT = "cut"
    SILENT = "silent"
    EXPIRED = "version expired"
    THROTTLED = "told to wait"
    DENIED = "denied"
    ABSENT = "not served"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    NO_STREAMING_LIST = "no streaming list"
    NO_WATCH = "watching is denied"
    POLLED = "read once"


class Ended(msgspec.Struct, frozen=True):
    """How an attempt ended; `lived_seconds` counts from the answer's head."""

    how: How
    message: str = ""
    retry_after_seconds: float = 0.0
    lived_seconds: float = 0.0


LONGEST_WAIT_SECONDS = 300.0
"""A server that asks for more is asked again all the same."""

_DENIED_VERB = re.compile(r"cannot (list|watch) resource")  # apiserver's authorizer writes it so


def _denied(where: str, message: str) -> Ended:
    """Names the verb that is missing. Who may list but not watch can still read now and then."""
    found = _DENIED_VERB.search(message)
    verb = found.group(1) if found else "list and watch"
    wider = ", or choose a namespace" if where.endswith("all namespaces") else ""
    sentence = f"You cannot {verb} {where}: ask for that right{wider}."
    return Ended(How.NO_WATCH if verb == "watch" else How.DENIED, sentence)


def neither(no_watch: str) -> str:
    """The sentence about a denied watch, for somebody who may not list either."""
    return no_watch.replace("cannot watch", "cannot list or watch")


def judge(where: str, code: int, said: ServerStatus, retry_after: float | None) -> Ended:
    """What an HTTP status or an error event means; `where` is the resource in a sentence."""
    wait = min(retry_after or said.retry_after_seconds or 0.0, LONGEST_WAIT_SECONDS)
    text = said.message or f"HTTP {code}"
    if code == 410 or said.reason in ("Expired", "Gone"):
        return Ended(How.EXPIRED, text)
    if code == 401:
        return Ended(How.DENIED, f"The server refuses the credentials (401) for {where}; log in again.")
    if code == 403:
        return _denied(where, said.message)
    if code in (404, 405):
        return Ended(How.ABSENT, f"The server does not serve {where}.")
    if code in (429, 503) or wait:
        return Ended(How.THROTTLED, f"The server asks to wait ({code}): {text}", wait)
    return Ended(How.FAILED, f"{where}: {text}")
