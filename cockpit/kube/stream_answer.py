"""The answer to a request whose body is read as it comes."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

from cockpit.kube.answer import ApiAnswer
from cockpit.kube.authorities import aiohttp
from cockpit.kube.failures import Silent, explain, host_of
from cockpit.kube.fast_stream import intake_of

if TYPE_CHECKING:
    import aiohttp

    from cockpit.kube.pulse import Flight


class StreamAnswer:
    """The head of a streamed answer and its bytes as they come."""

    def __init__(
        self, response: "aiohttp.ClientResponse", server: str, idle_seconds: float | None, flight: "Flight"
    ) -> None:
        self.status = response.status
        self.content_type = response.headers.get("Content-Type", "")
        self.retry_after_seconds = retry_after(response.headers.get("Retry-After"))
        self._content = response.content
        self._intake = intake_of(response)
        self._server = server
        self._idle = idle_seconds
        self._flight = flight

    @property
    def chunks(self) -> AsyncIterator[bytes]:
        """Bytes as they arrive. Raises Silent after `idle_seconds` without one, Unreachable when cut."""
        return self._chunks()

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        blocks = self._content.iter_any() if self._intake is None else self._intake.blocks()
        try:
            async for chunk in blocks:
                if chunk:
                    self._flight.hears()
                    yield chunk
        except aiohttp.ServerTimeoutError:
            raise Silent(f"{host_of(self._server)} has been silent for {self._idle:g} s.") from None
        except (aiohttp.ClientError, OSError) as error:
            raise explain(error, self._server) from None

    async def answer(self, limit_bytes: int = 1 << 20) -> ApiAnswer:
        """The rest as one answer (for a status that is no stream), at most `limit_bytes`."""
        body = b""
        async for chunk in self.chunks:
            body += chunk
            if len(body) >= limit_bytes:
                break
        return ApiAnswer(self.status, self.content_type, body, self.retry_after_seconds)

    def close(self, why: str) -> None:
        """Nothing more is read; who still waits for bytes is told why."""
        error = aiohttp.ClientConnectionError(why)
        if self._intake is not None:
            self._intake.close(error)
        elif self._content.exception() is None and not self._content.is_eof():
            self._content.set_exception(error)


def retry_after(text: str | None) -> float | None:
    """Seconds of a Retry-After header; dates, which Kubernetes never sends, are ignored."""
    if text and text.strip().isdecimal() and len(text) < 10:
        return float(text)
    return None
