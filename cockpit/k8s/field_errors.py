"""What validation says of a field, with the point first: the field, what it holds, what it should hold.

Source: k8s.io/apimachinery pkg/util/validation/field/errors.go (Error.Error, ErrorType.String).
"""

import re

_VALUE = r'"(?:[^"\\]|\\.)*"|\{.*?\}(?=: )|[^:,]*'
_ERROR = re.compile(
    r"(?P<path>[A-Za-z_][\w./\[\]*()-]*): (?P<kind>Invalid value|Unsupported value|Duplicate value|Not found"
    rf"|Required value|Forbidden|Too long|Too many)(?:: (?P<value>{_VALUE})(?:: (?P<detail>.*))?)?",
    re.DOTALL,
)
_VALUE_CHARACTERS = 30


def field_error_words(message: str) -> str:
    """ "spec.replicas is 2: must be 1"; "" where the text names no field."""
    found = _ERROR.search(message)
    if found is None:
        return ""
    path, kind = found["path"], found["kind"]
    value, detail = (found["value"] or "").strip(), (found["detail"] or "").strip()
    if kind in ("Required value", "Forbidden", "Too many"):  # these tell no value, only what is wrong
        said = ": ".join(part for part in (value, detail) if part)
        wrong = {"Required value": "is missing", "Forbidden": "is not allowed", "Too many": "has too many"}[
            kind
        ]
        return f"{path} {wrong}: {said}" if said else f"{path} {wrong}"
    if len(value) > _VALUE_CHARACTERS:
        value = f"{value[: _VALUE_CHARACTERS - 1]}…"
    words = {"Duplicate value": f"has {value} twice", "Not found": f"names {value}, which does not exist"}
    text = f"{path} {words.get(kind) or f'is {value}'}"
    return f"{text}: {detail}" if detail else text
