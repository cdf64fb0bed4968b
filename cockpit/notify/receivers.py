"""Who gets a change of a finding: Alertmanager's API v2, a Slack-compatible webhook, a command.

URLs and headers may be secrets: no sentence has them.
"""

import http.client
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from urllib.parse import urlsplit, urlunsplit

import msgspec

from cockpit import __version__
from cockpit.model.alert import OWN_ALERT
from cockpit.notify.outbox import FindingChange

SEND_SECONDS: Final = 30.0
LAPSES_SECONDS: Final = 30 * 86_400.0
"""An alert is posted once, so it has to stay in Alertmanager without being posted again."""
_MARKS: Final = {"new": "▲", "acknowledged": "●", "resolved": "✓"}


class NotDelivered(Exception):
    """Why a change was not delivered, in words without secrets."""


class Receiver(Protocol):
    """What gets changes; `send` blocks and raises NotDelivered."""

    @property
    def name(self) -> str:
        """In sentences and on disk."""

    def send(self, change: FindingChange) -> None: ...


class HttpReceiver:
    """A webhook: `alertmanager` or `slack`."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str]) -> None:
        self.name = name
        self._url, self._headers = url, dict(headers)

    def send(self, change: FindingChange) -> None:
        """One POST. Redirects are not followed: the body and the headers are for this server."""
        where = urlsplit(self._url)
        path = f"{where.path.rstrip('/')}/api/v2/alerts" if self.name == "alertmanager" else where.path
        body: Any = [alert(change)] if self.name == "alertmanager" else {"text": line(change)}
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"gpu-cockpit/{__version__}",
            "Idempotency-Key": change.key,
            **self._headers,
        }
        url = urlunsplit(where._replace(path=path))
        try:
            post = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
            with _OPENER.open(post, timeout=SEND_SECONDS) as answer:
                answer.read(_LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            error.close()
            raise NotDelivered(f"answered {error.code}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NotDelivered(f"cannot be reached: {_reason(error)}") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_request: Any, **_more: Any) -> None:
        """A redirect is an answer that did not deliver."""


_OPENER: Final = urllib.request.build_opener(_NoRedirect)
_LARGEST_ANSWER: Final = 4096


class CommandReceiver:
    """A program of the user's: the change is JSON on its standard input, exit code 0 is delivered."""

    name = "command"

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = list(argv)

    def send(self, change: FindingChange) -> None:
        tree = {"schema": "gpu-cockpit/v1", "kind": "finding-change", **msgspec.to_builtins(change)}
        try:
            done = subprocess.run(
                self._argv,
                input=json.dumps(tree).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SEND_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotDelivered(f"did not end within {SEND_SECONDS:g} s") from None
        except OSError as error:
            raise NotDelivered(f"cannot be run: {error.strerror}") from None
        if done.returncode:
            raise NotDelivered(f"ended with {done.returncode}")


def alert(change: FindingChange) -> dict[str, Any]:
    """The change as an alert of Alertmanager: the same labels from new to resolved."""
    item = change.item
    ends = change.at_seconds if change.event == "resolved" else change.at_seconds + LAPSES_SECONDS
    notes = {
        "summary": f"{item['subject']}: {item['sentence']}",
        "remedy": "; ".join(remedy["words"] for remedy in item["remedies"]),
        "dedup_key": change.key,
    }
    if change.event == "acknowledged":
        notes["acknowledged"] = "true"
    return {
        "labels": {
            "alertname": OWN_ALERT,
            "finding": item["finding"],
            "subject": item["subject"],
            "cause": item["cause"] or "unknown",
            "severity": "critical" if item["is_bad"] else "warning",
            "cluster": change.context,
        },
        "annotations": notes,
        "startsAt": _iso(change.first_seconds),
        "endsAt": _iso(ends),
    }


def line(change: FindingChange) -> str:
    """`▲ new in prod: team-a/llm: needs 8 GPUs, 3 free`."""
    item = change.item
    words = f"{item['subject']}: {item['sentence']}"
    text = f"{_MARKS[change.event]} {change.event} in {change.context}: {words}"
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _reason(error: Exception) -> str:
    """Without the address, which may hold a secret."""
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, Exception):
        error = error.reason
    if isinstance(error, TimeoutError):
        return f"no answer within {SEND_SECONDS:g} s"
    return getattr(error, "strerror", "") or type(error).__name__
