"""Patterns of schemas in the syntax of Go's regexp, by RE2: no pattern takes more than linear time.

Where RE2 for C++ takes what Go's parser refuses, it is refused here; the sentences are RE2's.
"""

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

try:
    import re2
except ImportError:  # of the extra `demo-rules`
    re2 = None

_MOST_BYTES = 2 * 1024 * 1024
"""Memory of one pattern, its automaton included. RE2's own cache holds 128 of them."""
_KEPT = 64

HAS_RULES = re2 is not None and find_spec("cel") is not None
"""Whether the extra `demo-rules` is installed, without which rules and patterns of definitions are not held
against their objects."""
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$"
"""What controller-gen writes for a quantity, the one pattern of the demo's own definitions: Python's engine
takes linear time for it, so that it is held without RE2 as well."""

_ONLY_IN_CPP = re.compile(
    r"\\Q(?:(?!\\E).)*(?:\\E)?|(?P<byte>\\C)|\\.|\(\?P?<(?P<name>[^>a-zA-Z0-9_]*[^\x00-\x7f][^>]*)>",
    re.DOTALL,
)


class BadPattern(ValueError):
    """What is wrong with a pattern that is none."""


class CompiledPattern:
    """A pattern that compiles."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def is_in(self, text: str) -> bool:
        """Whether it matches anywhere in a text."""
        return self._search(text) is not None

    def first_in(self, text: str) -> str:
        """The first part of a text that it matches, "" where there is none."""
        found = self._search(text)
        return "" if found is None else str(found.group(0), "utf-8", "replace")

    def _search(self, text: str) -> Any:
        return self._compiled.search(text.encode("utf-8", "replace"))


@lru_cache(_KEPT)
def pattern(text: str) -> CompiledPattern:
    """A pattern. Raises BadPattern. Without RE2 any but QUANTITY matches everything."""
    _refuse_what_go_refuses(text)
    if re2 is None:
        return CompiledPattern(re.compile(QUANTITY[:-1].encode() + rb"\Z" if text == QUANTITY else b""))
    options = re2.Options()
    options.max_mem = _MOST_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        return CompiledPattern(re2.compile(text.encode("utf-8", "strict"), options))
    except UnicodeEncodeError:
        raise BadPattern(f"error parsing regexp: invalid UTF-8: `{_clean(text)}`") from None
    except re2.error as problem:
        raise BadPattern(f"error parsing regexp: {_text(problem.args[0])}") from None


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _refuse_what_go_refuses(text: str) -> None:
    for found in _ONLY_IN_CPP.finditer(text):
        if found["byte"]:
            raise BadPattern(r"error parsing regexp: invalid escape sequence: `\C`")
        if found["name"]:
            raise BadPattern(f"error parsing regexp: invalid named capture: `{_clean(found[0])}`")


def _text(told: bytes | str) -> str:
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else told
