"""What an answer that is no data means, in one sentence. Pure."""

from typing import Any

import msgspec

from cockpit.model.batch import Phase
from cockpit.sanitise import clean
from cockpit.telemetry.faults import TelemetryError, Throttled
from cockpit.telemetry.http_protocol import HttpAnswer

_SENTENCE = 160
_LOOKED_AT_BYTES = 65_536


def refuse_no_data(who: str, answer: HttpAnswer) -> None:
    """Raises TelemetryError for everything but a 200 that may be data. `who` names the server."""
    status, body = answer.status, answer.body
    if 300 <= status < 400:
        raise TelemetryError(
            f"{who} redirects (HTTP {status}), most likely to a login page; "
            "set a URL that takes this cluster's credentials.",
            Phase.NOT_LOGGED_IN,
        )
    if status == 401:
        raise TelemetryError(
            f"{who} rejects the credentials (HTTP 401); give --prometheus-token-file, or "
            "--prometheus-username with --prometheus-password-file.",
            Phase.NOT_LOGGED_IN,
        )
    if status == 403:
        why = said(body) or "these credentials may not read it"
        raise TelemetryError(
            f"{who} is denied (HTTP 403): {why.rstrip('.')}; ask for read access to its API, or for `get` on "
            "services/proxy where it is reached through the API server.",
            Phase.DENIED,
        )
    if status in (429, 503) and answer.retry_after_seconds is not None:
        what = "throttles us" if status == 429 else "is overloaded or starting"
        raise Throttled(f"{who} {what} (HTTP {status})", answer.retry_after_seconds)
    if status == 404:
        raise TelemetryError(f"{who} was not found (HTTP 404): {said(body) or 'check the URL'}")
    if status >= 400:
        raise TelemetryError(f"{who} refuses (HTTP {status}): {said(body) or 'no reason given'}")
    if status != 200:
        raise TelemetryError(f"{who} answers HTTP {status} instead of data; check the URL.")
    if "html" in answer.content_type.lower() or body[:64].lstrip()[:1] == b"<":
        raise TelemetryError(
            f"{who} answers with a web page instead of data, most likely a login page; check the URL.",
            Phase.NOT_LOGGED_IN,
        )


def said(body: bytes | bytearray) -> str:
    """The server's own words: Prometheus' `error`, the API server's `message`, else nothing."""
    try:
        tree: Any = msgspec.json.decode(body[:_LOOKED_AT_BYTES])
    except (ValueError, RecursionError):
        return ""
    if not isinstance(tree, dict):
        return ""
    words = tree.get("error") or tree.get("message") or ""
    return " ".join(clean(words, _SENTENCE).split()) if isinstance(words, str) else ""
