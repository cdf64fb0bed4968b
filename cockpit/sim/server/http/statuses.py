"""`Status` bodies: what the server says when it refuses, and when there is nothing else to say."""

from typing import Any

from cockpit.sim.port import PortError, Tree


class RetryLater(PortError):
    """A refusal that says after how many seconds to come back."""

    def __init__(self, status: int, reason: str, message: str, retry_after_seconds: int) -> None:
        super().__init__(status, reason, message)
        self.retry_after_seconds = retry_after_seconds


def failure(error: PortError, details: Tree | None = None) -> Tree:
    """A Status of a refusal; `details` name what it was about (name, group, kind)."""
    told: Tree = {key: value for key, value in (details or {}).items() if value}
    if error.causes:
        told["causes"] = [dict(cause) for cause in error.causes]
    seconds = getattr(error, "retry_after_seconds", 0)
    if seconds:
        told["retryAfterSeconds"] = seconds
    body: Tree = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        body["reason"] = error.reason
    if told:
        body["details"] = told
    return body | {"code": error.status}


def success(code: int = 0, **details: Any) -> Tree:
    """A Status of something that was done and answers no object."""
    body: Tree = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    told = {key: value for key, value in details.items() if value}
    if told:
        body["details"] = told
    return body | {"code": code} if code else body


def unauthorized() -> PortError:
    """401: no or no known token."""
    return PortError(401, "Unauthorized", "Unauthorized")


def not_acceptable() -> PortError:
    """406: an Accept header that only other encodings would satisfy."""
    return PortError(406, "NotAcceptable", "only the following media types are accepted: application/json")


def unknown_format() -> PortError:
    """415: a body in an encoding that is not read here."""
    return PortError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml",
    )


def wrong_method() -> PortError:
    """405: the resource has no such verb."""
    return PortError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def internal(message: str) -> PortError:
    """500: something behind the server failed."""
    return PortError(500, "InternalError", f"Internal error occurred: {message}")


def unavailable(message: str) -> PortError:
    """503: nobody there who could answer."""
    return PortError(503, "ServiceUnavailable", message)
