"""Answers: headers that every one has, warnings, and gzip where a body is large."""

import asyncio
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aiohttp import web

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.http.representation import encode
from cockpit.sim.server.http.server_context import retry_after
from cockpit.sim.server.http.statuses import failure

JSON = "application/json"
COMMON = {"Cache-Control": "no-cache, private"}
_MOST_WARNED_LETTERS, _MOST_LETTERS_CUT = 4096, 256
_MOST_WARNINGS = 64
"""Python's http.client takes no answer of more than 100 headers."""
_GZIP_BYTES = 128 * 1024
"""From here on the real server compresses."""


def answer(
    body: bytes | Tree,
    status: int = 200,
    *,
    warnings: Iterable[str] = (),
    headers: Mapping[str, str] | None = None,
    content_type: str = JSON,
) -> web.Response:
    """A whole answer."""
    data = body if isinstance(body, bytes) else encode(body) + b"\n"
    made = web.Response(body=data, status=status, headers={**COMMON, **(headers or {})})
    made.headers["Content-Type"] = content_type
    for text in _warned(warnings):
        made.headers.add("Warning", f'299 - "{text}"')
    return made


def _warned(warnings: Iterable[str]) -> Iterator[str]:
    """Quoted and without doubles; where they are too much each is cut, and what is still too much is left out
    (apiserver: WithWarningRecorder)."""
    texts = list(dict.fromkeys(warnings))[:_MOST_WARNINGS]
    is_cut = sum(map(len, texts)) > _MOST_WARNED_LETTERS
    told = 0
    for text in texts:
        shown = text[:_MOST_LETTERS_CUT] if is_cut else text
        told += len(shown)
        if told > _MOST_WARNED_LETTERS:
            return
        yield _quoted(shown)


def _quoted(text: str) -> str:
    clean = "".join(one for one in text if one.isprintable())
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"')
    return escaped.encode("ascii", "replace").decode()


def refused(error: PortError) -> web.Response:
    """A Status for a refusal."""
    return answer(failure(error), error.status, warnings=error.warnings, headers=retry_after(error))


async def compressed(request: web.Request, body: bytes) -> web.Response:
    """A whole answer, compressed where it is large and the client can read that."""
    if len(body) < _GZIP_BYTES or "gzip" not in request.headers.get("Accept-Encoding", ""):
        return answer(body)
    packed = await asyncio.to_thread(_gzip, body)
    return answer(packed, headers={"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})


def _gzip(body: bytes) -> bytes:
    packer: Any = zlib.compressobj(level=1, wbits=31)
    packed: bytes = packer.compress(body) + packer.flush()
    return packed
