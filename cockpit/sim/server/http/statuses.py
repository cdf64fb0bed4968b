"""`Status` bodies: what the server says when it refuses, and when there is nothing else to say."""

import re
from typing import Any

from cockpit.sim.port import PortError, Tree


def failure(error: PortError) -> Tree:
    """A Status of a refusal."""
    told = details_of(error)
    causes = [{key: value for key, value in cause.items() if value} for cause in error.causes]
    seconds = retry_seconds(error)
    if told is not None or causes or seconds:
        told = dict(told or {})
        if causes:
            told["causes"] = causes
        if seconds:
            told["retryAfterSeconds"] = seconds
    token = getattr(error, "continue_token", "")
    body: Tree = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {"continue": token} if token else {},
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        body["reason"] = error.reason
    if told is not None:
        body["details"] = told
    return body | {"code": error.status}


_ABOUT = re.compile(
    r"^(?:Operation cannot be fulfilled on |object is being deleted: )?"
    r'(?P<what>[A-Za-z][A-Za-z0-9./-]*)(?: "(?P<name>[^"]*)")?'
    r"(?::| not found| already exists| is forbidden)"
)
_INVALID = re.compile(r'^(?P<what>[\w.-]*) "(?P<name>[^"]*)" is invalid')
_NAMED = frozenset({"NotFound", "AlreadyExists", "Conflict", "Forbidden"})
_REJECTED = "the server rejected our request due to an error"
_EMPTY = frozenset({"NotFound", "MethodNotAllowed", "NotAcceptable"})


def details_of(error: PortError) -> Tree | None:
    """What a refusal is about, as its own sentence names it; None where the real server says nothing.

    The real server makes sentence and details out of the same three words, so the sentence has them.
    """
    pattern = _INVALID if error.reason == "Invalid" else _ABOUT if error.reason in _NAMED else None
    found = pattern.match(error.message) if pattern else None
    if found is None:
        is_generic = error.reason in _EMPTY or error.message.startswith(("415: ", _REJECTED))
        return {} if is_generic else None
    kind, _, group = found["what"].partition(".")
    told = {"name": found["name"], "group": group, "kind": kind}
    return {key: value for key, value in told.items() if value}


def retry_seconds(error: PortError) -> int:
    """After how many seconds a client may come back; 0 where nothing is said."""
    return 1 if error.status == 504 else int(getattr(error, "retry_after_seconds", 0))


def success(code: int = 0, **details: Any) -> Tree:
    """A Status of something that was done and answers no object."""
    body: Tree = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    told = {key: value for key, value in details.items() if value}
    if told:
        body["details"] = told
    return body | {"code": code} if code else body


def not_acceptable() -> PortError:
    """406: an Accept header that only other encodings would satisfy."""
    known = "application/json, application/json;stream=watch"
    return PortError(406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {known}")


def unknown_format() -> PortError:
    """415: a body in an encoding that is not read here."""
    return PortError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    )


def wrong_method() -> PortError:
    """405: the resource has no such verb."""
    return PortError(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def unavailable(message: str) -> PortError:
    """503: nobody there who could answer."""
    return PortError(503, "ServiceUnavailable", message)
