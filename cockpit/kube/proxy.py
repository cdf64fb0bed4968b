"""A `requests` session whose requests go through the API server, for libraries that only know requests.

`http://cluster.local/<path>` becomes a request of the Session, so that read-only rules, credentials and the
guard hold. To be used from threads other than the one that runs the event loop.
"""

import asyncio
import concurrent.futures
import io
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from cockpit.errors import CockpitError
from cockpit.kube.session import Session

if TYPE_CHECKING:
    import requests

BASE_URL = "http://cluster.local"
DEFAULT_SECONDS = 20.0
ANSWER_BYTES = 64 << 20


def http_session(session: Session, loop: asyncio.AbstractEventLoop) -> "requests.Session":
    """A requests.Session for `http://cluster.local/...`; everything else it refuses to send."""
    import requests
    from requests.adapters import BaseAdapter

    class _ClusterAdapter(BaseAdapter):
        def send(self, request: Any, *args: Any, **options: Any) -> requests.Response:
            return _send(session, loop, request, options.get("timeout"))

        def close(self) -> None:
            """Nothing is held here; the Session closes its own connections."""

    made = requests.Session()
    made.trust_env = False
    made.adapters.clear()
    made.mount(BASE_URL + "/", _ClusterAdapter())
    return made


def _seconds(timeout: Any) -> float:
    if isinstance(timeout, tuple):
        timeout = timeout[-1]
    return float(timeout) if timeout else DEFAULT_SECONDS


def _send(
    session: Session, loop: asyncio.AbstractEventLoop, request: Any, timeout: Any
) -> "requests.Response":
    """Send one prepared request. Raises requests' ConnectionError or Timeout with the session's sentence."""
    import requests

    parts = urlsplit(request.url)
    seconds = _seconds(timeout)
    body = request.body.encode() if isinstance(request.body, str) else request.body
    if body:
        raise requests.exceptions.InvalidSchema(
            "only requests without a body go through the API server's proxy"
        )
    asking = session.request(
        request.method,
        parts.path,
        query=tuple(parse_qsl(parts.query, keep_blank_values=True)),
        accept=request.headers.get("Accept", "*/*"),
        timeout_seconds=seconds,
        limit_bytes=ANSWER_BYTES,
    )
    future = asyncio.run_coroutine_threadsafe(asking, loop)
    try:
        answer = future.result(seconds + 5.0)
    except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
        future.cancel()
        raise requests.exceptions.Timeout(f"no answer within {seconds:g} s", request=request) from None
    except CockpitError as error:
        raise requests.exceptions.ConnectionError(error.sentence, request=request) from None
    made = requests.Response()
    made.status_code = answer.status
    made.headers["Content-Type"] = answer.content_type
    made.raw = io.BytesIO(answer.body)
    made._content = answer.body
    made.url = request.url
    made.request = request
    made.encoding = "utf-8"
    made.reason = answer.message() if not answer.ok else "OK"
    return made
