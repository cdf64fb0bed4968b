"""The API server's refusals in its own words (apimachinery: api/errors, util/validation/field)."""

from collections.abc import Mapping, Sequence

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError

_MOST_QUOTED_LETTERS = 20_000
Cause = dict[str, str]
"""`reason`, `message` and `field` of a StatusCause."""

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def bad_request(message: str) -> PortError:
    """400: what was sent cannot be understood."""
    return PortError(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Cause] = ()) -> PortError:
    """403 by admission: `pods "p" is forbidden: WHY`."""
    what = f'{resource.label} "{name}" is forbidden' if name else f"{resource.label} is forbidden"
    return PortError(403, "Forbidden", f"{what}: {why}", causes)


def not_found(resource: Resource, name: str) -> PortError:
    """404: no object of that name."""
    return PortError(404, "NotFound", f'{resource.label} "{name}" not found')


def unknown_path() -> PortError:
    """404: no resource or subresource there."""
    return PortError(404, "NotFound", "the server could not find the requested resource")


def exists(resource: Resource, name: str, held: Mapping[str, object] | None = None) -> PortError:
    """409: the name is taken, by an object with metadata `held`."""
    is_ending = "deletionTimestamp" in (held or {})
    message = f'{"object is being deleted: " if is_ending else ""}{resource.label} "{name}" already exists'
    return PortError(409, "AlreadyExists", message)


def conflict(resource: Resource, name: str, why: str = MODIFIED) -> PortError:
    """409: the object is another than the caller thought."""
    message = f'Operation cannot be fulfilled on {resource.label} "{name}": {why}'
    return PortError(409, "Conflict", message)


def expired(message: str) -> PortError:
    """410: history does not reach back that far."""
    return PortError(410, "Expired", message)


def unsupported_media(message: str) -> PortError:
    """415: no such kind of patch here."""
    return PortError(415, "UnsupportedMediaType", message)


def invalid(resource: Resource, name: str, causes: Sequence[Cause]) -> PortError:
    """422 with a cause for every field: `Job.batch "x" is invalid: spec.a: Required value`."""
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    told = list(dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes))
    text = told[0] if len(told) == 1 else f"[{', '.join(told)}]"
    return PortError(422, "Invalid", f'{kind} "{name}" is invalid: {text}', causes)


def too_many(message: str, causes: Sequence[Cause] = ()) -> PortError:
    """429: not now."""
    return PortError(429, "TooManyRequests", message, causes)


def wrong(field: str, value: object, why: str) -> Cause:
    """`Invalid value: "x": WHY`; texts are quoted as Go does, numbers are not."""
    return {
        "reason": "FieldValueInvalid",
        "message": f"Invalid value: {_shown(value)}: {why}",
        "field": field,
    }


def required(field: str, why: str = "") -> Cause:
    """A field that must be there is not."""
    message = f"Required value: {why}" if why else "Required value"
    return {"reason": "FieldValueRequired", "message": message, "field": field}


def unsupported(field: str, value: object, allowed: Sequence[str]) -> Cause:
    """A value that is none of those that are known."""
    known = ", ".join(f'"{one}"' for one in allowed)
    return {
        "reason": "FieldValueNotSupported",
        "message": f"Unsupported value: {_shown(value)}: supported values: {known}",
        "field": field,
    }


def banned(field: str, why: str) -> Cause:
    """A field that may not be set (so)."""
    return {"reason": "FieldValueForbidden", "message": f"Forbidden: {why}", "field": field}


def duplicate(field: str, value: object) -> Cause:
    """A key that stands twice in its list."""
    return {"reason": "FieldValueDuplicate", "message": f"Duplicate value: {_shown(value)}", "field": field}


def too_long(field: str, most: int, unit: str = "bytes") -> Cause:
    """A text beyond its limit."""
    return {
        "reason": "FieldValueTooLong",
        "message": f"Too long: may not be more than {most} {unit}",
        "field": field,
    }


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return "null"
    if isinstance(value, str):
        escaped = (
            _beginning(value)
            .replace("\\", "\\\\")
            .replace('"', '\\"')
            .replace("\n", "\\n")
            .replace("\t", "\\t")
        )
        return f'"{escaped}"'
    import msgspec

    return _beginning(msgspec.json.encode(value).decode())


def _beginning(text: str) -> str:
    """A hundred faults may quote the same value: all of a pod's template, but not all of a megabyte."""
    return text if len(text) <= _MOST_QUOTED_LETTERS else f"{text[:_MOST_QUOTED_LETTERS]}..."
