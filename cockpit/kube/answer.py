"""Answers of the API server."""

import json
from typing import Any

import msgspec

from cockpit.errors import Refused
from cockpit.kube.decode.wire import ServerStatus, read_status
from cockpit.model.refusal import Refusal


class ApiAnswer(msgspec.Struct, frozen=True):
    """One complete response, of any HTTP status."""

    status: int
    content_type: str = ""
    body: bytes = b""
    retry_after_seconds: float | None = None
    audit_id: str = ""
    etag: str = ""
    date: str = ""
    demo_time: str = ""

    @property
    def ok(self) -> bool:
        """True for 2xx."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body as a tree. Raises Refused where it is not JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            sentence = "The server's answer is not JSON; is a proxy or login page in between?"
            raise Refused(sentence, Refusal(status=self.status)) from None

    def server_status(self) -> ServerStatus:
        """The Status object in the body, empty where it holds none."""
        return read_status(self.body, self.content_type)

    def message(self) -> str:
        """What the server said, cleaned, in one line; never empty for a failure."""
        said = self.server_status()
        if said.message:
            return said.message
        return "" if self.ok else f"HTTP {self.status} without an explanation"
