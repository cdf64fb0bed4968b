"""An adapter for `requests` that reads at most so many bytes and tells a refusal, a login page and a redirect
apart from an answer. Imports `requests`: import this module late."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter
from requests.exceptions import JSONDecodeError
from requests.structures import CaseInsensitiveDict

from cockpit.model.batch import Phase
from cockpit.telemetry.faults import TelemetryError

_CHUNK_BYTES = 262_144
_SENTENCE = 160


class _Answer(Response):
    """An answer whose JSON is read three times faster than by the standard library."""

    def __init__(self, read: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._decoded = read

    def json(self, **_: Any) -> Any:
        try:
            return self._decoded(self.content)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise JSONDecodeError(str(error), "", 0) from None


class Bounded(BaseAdapter):
    """Passes requests to `inner`; raises TelemetryError for every answer that is no data. `who` names the
    Prometheus in sentences."""

    def __init__(self, inner: BaseAdapter, limit_bytes: int, who: str) -> None:
        super().__init__()
        self._inner = inner
        self._limit_bytes = limit_bytes
        self._who = who
        self.read: Callable[[bytes], Any] = msgspec.json.decode
        """How the next answer's JSON is read; raises msgspec.DecodeError."""

    def send(  # noqa: PLR0917 - the signature is requests'
        self,
        request: PreparedRequest,
        stream: bool = False,
        timeout: float | tuple[float, float] | tuple[float, None] | None = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> Response:
        answer = self._inner.send(
            request, stream=True, timeout=timeout, verify=verify, cert=cert, proxies=proxies
        )
        try:
            body = self._read(answer)
        finally:
            answer.close()
        self._check(answer, body)
        whole = _Answer(self.read)
        whole.status_code = answer.status_code
        whole.headers = CaseInsensitiveDict(answer.headers)
        # the body below is unpacked already
        whole.headers.pop("Content-Encoding", None)
        whole.encoding = "utf-8"
        whole.url = answer.url or request.url or ""
        whole.request = request
        whole.raw = io.BytesIO(body)
        return whole

    def close(self) -> None:
        self._inner.close()

    def _read(self, answer: Response) -> bytes:
        parts: list[bytes] = []
        total = 0
        for part in answer.iter_content(_CHUNK_BYTES):
            total += len(part)
            if total > self._limit_bytes:
                raise TelemetryError(
                    f"{self._who} answers more than {self._limit_bytes // 2**20} MiB; narrow "
                    "the namespace or record fewer GPU series."
                )
            parts.append(part)
        return b"".join(parts)

    def _check(self, answer: Response, body: bytes) -> None:
        status = answer.status_code
        kind = answer.headers.get("Content-Type", "").lower()
        if 300 <= status < 400:
            raise TelemetryError(
                f"{self._who} sends us elsewhere (HTTP {status}), most likely to a login page; "
                "set a URL that takes this cluster's credentials.",
                Phase.DENIED,
            )
        if status == 401:
            raise TelemetryError(f"{self._who} does not accept our credentials (HTTP 401).", Phase.DENIED)
        if status == 403:
            raise TelemetryError(
                f"{self._who} is denied (HTTP 403): {_said(body) or 'get on services/proxy is needed'}",
                Phase.DENIED,
            )
        if status == 404:
            raise TelemetryError(f"{self._who} is not there (HTTP 404): {_said(body) or 'check the URL'}")
        if status >= 400:
            raise TelemetryError(f"{self._who} refuses (HTTP {status}): {_said(body) or 'no reason given'}")
        if "html" in kind or body[:64].lstrip()[:1] == b"<":
            raise TelemetryError(
                f"{self._who} answers with a web page instead of data, "
                "most likely a login page; check the URL.",
                Phase.DENIED,
            )


def _said(body: bytes) -> str:
    """The server's own words: Prometheus' `error`, the API server's `message`, else nothing."""
    try:
        tree = json.loads(body[:65_536])
    except ValueError:
        return ""
    if not isinstance(tree, dict):
        return ""
    words = tree.get("error") or tree.get("message") or ""
    if not isinstance(words, str):
        return ""
    line = " ".join("".join(char if char.isprintable() else " " for char in words).split())
    return line if len(line) <= _SENTENCE else line[: _SENTENCE - 1] + "…"
