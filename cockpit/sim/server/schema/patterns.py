"""Patterns of schemas in the syntax of Go's regexp, by RE2: no pattern takes more than linear time.

Where RE2 for C++ takes what Go's parser refuses, it is refused here; the sentences are RE2's.
"""

import re
from functools import lru_cache
from typing import Any

import re2

from cockpit.sim.server.limits import METER

_MOST_BYTES = 2 * 1024 * 1024
"""Memory of one pattern, its automaton included. RE2's own cache holds 128 of them."""
_MOST_NESTED = 1000
_KEPT = 64

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
        self._size = int(compiled.programsize)

    def is_in(self, text: str) -> bool:
        """Whether it matches anywhere in a text. Raises PortError 413 where that takes too many steps."""
        return self._search(text) is not None

    def first_in(self, text: str) -> str:
        """The first part of a text that it matches, "" where there is none. Raises as `is_in`."""
        found = self._search(text)
        return "" if found is None else str(found.group(0), "utf-8", "replace")

    def _search(self, text: str) -> Any:
        METER.step(len(text) * self._size)
        return self._compiled.search(text.encode("utf-8", "replace"))


@lru_cache(_KEPT)
def pattern(text: str) -> CompiledPattern:
    """A pattern. Raises BadPattern."""
    _refuse_what_go_refuses(text)
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
    if text.count("(") > _MOST_NESTED and _nested(text) > _MOST_NESTED:
        raise BadPattern(f"error parsing regexp: expression nests too deeply: `{_clean(text)}`")


def _nested(text: str) -> int:
    """How deep its parentheses go, those in classes and behind backslashes counted, too: an upper bound."""
    depth = most = 0
    for one in text:
        depth += (one == "(") - (one == ")")
        most = max(most, depth)
    return most


def _text(told: bytes | str) -> str:
    return told.decode("utf-8", "replace") if isinstance(told, bytes) else told
