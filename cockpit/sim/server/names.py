"""What may be a name, a label or an annotation, and the sentences that say so.

Rules and texts: apimachinery pkg/util/validation and pkg/api/validation.
"""

import re
from collections.abc import Callable
from functools import lru_cache

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"

_is_label = re.compile(_LABEL, re.ASCII).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN, re.ASCII).fullmatch
_is_label_1035 = re.compile(_LABEL_1035, re.ASCII).fullmatch
_is_qualified = re.compile(_QUALIFIED, re.ASCII).fullmatch
_is_value = re.compile(_VALUE, re.ASCII).fullmatch

_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    f"'{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    f"'{_LABEL}')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    f"validation is '{_LABEL_1035}')"
)
_QUALIFIED_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
    f"for validation is '{_VALUE}')"
)


def _most(count: int) -> str:
    return f"must be no more than {count} bytes"


def subdomain_faults(name: str) -> list[str]:
    """What keeps it from being an RFC 1123 subdomain; empty when nothing does."""
    faults = [] if len(name) <= 253 else ["must be no more than 253 characters"]
    return faults if _is_subdomain(name) else [*faults, _SUBDOMAIN_TEXT]


def label_faults(name: str) -> list[str]:
    """What keeps it from being an RFC 1123 label (namespaces)."""
    faults = [] if len(name) <= 63 else [_most(63)]
    if _is_label(name):
        return faults
    return [*faults, "must not contain dots" if _is_subdomain(name) else _LABEL_TEXT]


def label_1035_faults(name: str) -> list[str]:
    """What keeps it from being an RFC 1035 label (services)."""
    faults = [] if len(name) <= 63 else [_most(63)]
    return faults if _is_label_1035(name) else [*faults, _LABEL_1035_TEXT]


def path_faults(name: str) -> list[str]:
    """What keeps it from being one segment of a path (roles and their bindings)."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]


RULES: dict[str, Callable[[str], list[str]]] = {
    "subdomain": subdomain_faults,
    "label": label_faults,
    "label-1035": label_1035_faults,
    "path": path_faults,
}
"""Name of a rule, as a kind gives it -> what a name does wrong."""


def generated_faults(prefix: str, rule: str) -> list[str]:
    """What keeps a `generateName` from being the beginning of names; one dash at its end is let pass."""
    masked = f"{prefix[:-1]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix
    return RULES[rule](masked)


@lru_cache(4096)
def _key_faults(key: str) -> tuple[str, ...]:
    parts = key.split("/")
    if len(parts) > 2:
        return (
            f"a valid label key {_QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')",
        )
    faults = []
    if len(parts) == 2:
        if not parts[0]:
            faults.append("prefix part must be non-empty")
        else:
            faults.extend(f"prefix part {fault}" for fault in subdomain_faults(parts[0]))
    name = parts[-1]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name) > 63:
        faults.append(f"name part {_most(63)}")
    if not _is_qualified(name):
        faults.append(f"name part {_QUALIFIED_TEXT}")
    return tuple(faults)


def label_key_faults(key: str) -> list[str]:
    """What keeps it from being a key of labels and annotations, or a finalizer (`example.com/Name`)."""
    return list(_key_faults(key))


@lru_cache(4096)
def _value_faults(value: str) -> tuple[str, ...]:
    faults = () if len(value) <= 63 else (_most(63),)
    return faults if _is_value(value) else (*faults, _VALUE_TEXT)


def label_value_faults(value: str) -> list[str]:
    """What keeps it from being a label's value."""
    return list(_value_faults(value))
