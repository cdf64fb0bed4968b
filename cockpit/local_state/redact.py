"""Takes what looks like a secret out of a command line before it is kept."""

import re
from typing import Final

HIDDEN: Final = "[hidden]"

_WORDS = (
    "token|secret|password|passwd|passphrase|credential|bearer"
    "|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?key"
)
# NAME=value and NAME: value, or --name value, where the name says that it is secret; quoted or not.
_ASSIGNED = re.compile(
    rf"""(?ix)
    (?P<name>
        [\w.-]* (?:{_WORDS}) [\w.-]* \s* [=:] \s*
      | (?<!\S) --? [\w.-]* (?:{_WORDS}) [\w.-]* \s+ (?=[^\s-])
    )
    (?P<value> "[^"]*" | '[^']*' | [^\s'"]+ )
    """
)
_USER_IN_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)[^/\s:@'\"]+:[^/\s@'\"]+@", re.IGNORECASE)
_KNOWN_SHAPES = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
)


_ANY_USER_IN_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*://)\S*@", re.IGNORECASE)


def redact_urls(text: str) -> str:
    """The text without whatever stands before an @ of a URL: odd passwords hold / and @. Where a part of a
    path goes with them, a line that is only shown takes no harm."""
    return _ANY_USER_IN_URL.sub(rf"\g<scheme>{HIDDEN}@", text)


def redact(text: str) -> str:
    """The text with values that look secret replaced by a mark; the same text again changes nothing."""
    text = _USER_IN_URL.sub(rf"\g<scheme>{HIDDEN}@", text)
    text = _ASSIGNED.sub(lambda found: f"{found['name']}{HIDDEN}", text)
    return _KNOWN_SHAPES.sub(HIDDEN, text)
