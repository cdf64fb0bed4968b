"""Parameters of a job template: what may be filled in, and the check of one value.

A value always arrives as text (from a form field or `--set name=value`) and leaves as a typed value that
`cockpit.jobs.render` sets into the parsed tree. Text is never pasted into YAML, so nothing has to be
escaped and nothing can break out.
"""

import re
from collections.abc import Callable
from typing import Final
from zoneinfo import available_timezones

import msgspec

from cockpit.errors import BadValue
from cockpit.gangs import registry
from cockpit.jobs import values
from cockpit.jobs.values import KeyValue, Mount, ToleratedTaint
from cockpit.k8s.cron import parse_schedule
from cockpit.k8s.quantity import parse_quantity
from cockpit.nearest import nearest_words

Parts = tuple[str, ...] | tuple[KeyValue, ...] | tuple[Mount, ...] | tuple[ToleratedTaint, ...]
Value = str | int | bool | Parts | None
"""A checked value; None for an optional parameter that was left empty. A tuple of words is a command."""

TYPES: Final = (
    *("dns-label", "text", "integer", "quantity", "command", "image", "choice", "switch"),
    *("environment", "labels", "resources", "table", "claims", "host-paths"),
    *("annotations", "tolerations", "config-maps", "secrets"),
    *(
        "path",
        "git",
        "revision",
        "resource-name",
        "label-value",
        "label-key",
        "object-name",
        "schedule",
        "time-zone",
    ),
)
SOURCES: Final = (
    *("namespaces", "pod-priority-classes", "gpu-models"),
    *("nodes", "pools", "claims", "secrets", "gpu-resources", "runtimes"),
)
"""Where `choices-from` may point: lists that are filled from the cluster. Secrets are typed, never listed."""


def sources() -> tuple[str, ...]:
    """Where `choices-from` may point: lists of the cluster, and those of its queueing engines."""
    return (SOURCES[0], *registry.offer_names(), *SOURCES[1:])


# RFC 1035 label, the strictest form that a job's children need (source: mpi-operator validation.go).
_LABEL_CHARACTERS = re.compile(r"[-a-z0-9]+")
_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_IMAGE = re.compile(r"[a-zA-Z0-9][\w.\-/:]*(@sha256:[0-9a-f]{64})?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_LONGEST_LABEL = 63
_LONGEST_TEXT = 4096


class Parameter(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One thing that a person fills in.

    `default` None means that a value must be given; "" means that it may stay empty. `minimum` and
    `maximum` bound an integer (in `unit`) or a quantity (in base units). `longest` bounds the length of a
    text in characters. `choices_from` names a list of the cluster, see `sources`. `group` is the section of
    the form, a key of `cockpit.jobs.parameter_groups.SECTIONS`; "" where the template has no sections.
    """

    name: str
    type: str
    title: str = ""
    help: str = ""
    unit: str = ""
    default: str | None = None
    minimum: str = ""
    maximum: str = ""
    longest: int | None = None
    choices: tuple[str, ...] = ()
    choices_from: str = ""
    group: str = ""

    @property
    def is_required(self) -> bool:
        """True when there is neither a default nor leave to stay empty."""
        return self.default is None

    @property
    def minimum_integer(self) -> int | None:
        """The least integer, None where the type is another or no bound is stated."""
        return int(self.minimum) if self.type == "integer" and self.minimum else None

    @property
    def maximum_integer(self) -> int | None:
        """The greatest integer, None where the type is another or no bound is stated."""
        return int(self.maximum) if self.type == "integer" and self.maximum else None


def read(parameter: Parameter, text: str) -> Value:
    """The typed value behind `text`; None for an optional one left empty.

    Raises BadInput with one sentence that names the parameter, the value and what is allowed.
    """
    text = text.strip()
    if not text:
        if parameter.is_required:
            raise BadValue(parameter.name, f"a value is required{_hint(parameter)}")
        return False if parameter.type == "switch" else None
    if len(text) > _LONGEST_TEXT:
        raise BadValue(parameter.name, f"{len(text)} characters are too many, at most {_LONGEST_TEXT}")
    if any(ord(item) < 0x20 and item not in "\n\t" for item in text) or "\x7f" in text:
        raise BadValue(parameter.name, f"control characters are not allowed in {text!r}")
    value = _READERS[parameter.type](parameter, text)
    if parameter.longest is not None and len(text) > parameter.longest:
        raise BadValue(
            parameter.name,
            f"{text!r} has {len(text)} characters, at most {parameter.longest} are allowed"
            " (names of the job's children need the rest)",
        )
    if parameter.choices and text not in parameter.choices:
        raise BadValue(parameter.name, f"{text!r} is not one of {', '.join(parameter.choices)}")
    return value


def _hint(parameter: Parameter) -> str:
    return f" ({parameter.help})" if parameter.help else ""


def _text(parameter: Parameter, text: str) -> Value:
    return text


def _dns_label(parameter: Parameter, text: str) -> Value:
    if _DNS_LABEL.fullmatch(text) and len(text) <= _LONGEST_LABEL:
        return text
    longest = min(parameter.longest or _LONGEST_LABEL, _LONGEST_LABEL)
    if not _LABEL_CHARACTERS.fullmatch(text):
        why = "use lower-case letters, digits and '-'"
    elif not text[0].isalpha():
        why = "begin with a letter"
    elif text.endswith("-"):
        why = "end with a letter or digit"
    else:
        why = f"it has {len(text)} characters, at most {longest} are allowed"
    raise BadValue(parameter.name, f"{text!r} is not a valid name: {why}")


def _integer(parameter: Parameter, text: str) -> Value:
    if not _INTEGER.fullmatch(text):
        raise BadValue(parameter.name, f"{text!r} is not a whole number")
    number = int(text)
    unit = f" {parameter.unit}" if parameter.unit else ""
    if parameter.minimum and number < int(parameter.minimum):
        raise BadValue(parameter.name, f"{number} is too small, at least {parameter.minimum}{unit}")
    if parameter.maximum and number > int(parameter.maximum):
        raise BadValue(parameter.name, f"{number} is too large, at most {parameter.maximum}{unit}")
    return number


def _quantity(parameter: Parameter, text: str) -> Value:
    try:
        amount = parse_quantity(text)
    except ValueError:
        raise BadValue(
            parameter.name,
            f"{text!r} is not a valid quantity: write a number with its unit, as in 16Gi or 500m",
        ) from None
    if amount < 0:
        raise BadValue(parameter.name, f"{text!r} is negative")
    if parameter.minimum and amount < parse_quantity(parameter.minimum):
        raise BadValue(parameter.name, f"{text} is too small, at least {parameter.minimum}")
    if parameter.maximum and amount > parse_quantity(parameter.maximum):
        raise BadValue(parameter.name, f"{text} is too large, at most {parameter.maximum}")
    return text


def _command(parameter: Parameter, text: str) -> Value:
    found = values.words(parameter.name, text)
    if not found:
        raise BadValue(parameter.name, f"{text!r} contains no command")
    return found


def _image(parameter: Parameter, text: str) -> Value:
    if not _IMAGE.fullmatch(text):
        raise BadValue(
            parameter.name, f"{text!r} is not a valid image reference such as registry/path/name:tag"
        )
    return text


def _schedule(parameter: Parameter, text: str) -> Value:
    try:
        parse_schedule(text)
    except ValueError as error:
        raise BadValue(parameter.name, f"{text!r} is no schedule: {error}") from None
    return text


def _time_zone(parameter: Parameter, text: str) -> Value:
    known = available_timezones()
    if known and text not in known:  # a machine without the list leaves it to the API server
        raise BadValue(
            parameter.name, f"{text!r} is no time zone; {nearest_words(text, known, 'known ones')}"
        )
    return text


def _switch(parameter: Parameter, text: str) -> Value:
    lower = text.lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    raise BadValue(parameter.name, f"{text!r} is not true or false")


def _of(reader: Callable[[str, str], Value]) -> Callable[[Parameter, str], Value]:
    return lambda parameter, text: reader(parameter.name, text)


_READERS: Final[dict[str, Callable[[Parameter, str], Value]]] = {
    "dns-label": _dns_label,
    "text": _text,
    "choice": _text,
    "integer": _integer,
    "quantity": _quantity,
    "command": _command,
    "image": _image,
    "switch": _switch,
    "schedule": _schedule,
    "time-zone": _time_zone,
    "environment": _of(values.environment),
    "labels": _of(values.labels),
    "resources": _of(values.resources),
    "table": _of(values.table),
    "annotations": _of(values.annotations),
    "tolerations": _of(values.tolerations),
    "config-maps": _of(values.config_maps),
    "secrets": _of(values.secrets),
    "claims": _of(values.claims),
    "host-paths": _of(values.host_paths),
    "path": _of(values.path),
    "git": _of(values.git),
    "revision": _of(values.revision),
    "resource-name": _of(values.resource_name),
    "label-value": _of(values.label_value),
    "label-key": _of(values.label_key),
    "object-name": _of(values.subdomain),
}
