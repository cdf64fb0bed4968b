"""Calls into libnvidia-ml through pynvml, with every failure as a word.

What can go wrong with a call: an NVMLError with a code; NVMLLibraryMismatchError, which is none; a symbol
that an older driver lacks; bytes that are no UTF-8; a call that never returns (see lanes.py).
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

ERROR_WORDS: Mapping[int, str] = {
    1: "uninitialized",
    2: "invalid-argument",
    3: "not-supported",
    4: "no-permission",
    6: "not-found",
    7: "insufficient-size",
    8: "insufficient-power",
    9: "driver-not-loaded",
    10: "timeout",
    11: "irq-issue",
    12: "library-not-found",
    13: "function-not-found",
    14: "corrupted-inforom",
    15: "gpu-is-lost",
    16: "reset-required",
    17: "operating-system",
    18: "version-mismatch",
    19: "in-use",
    20: "memory",
    21: "no-data",
    23: "insufficient-resources",
    25: "argument-version-mismatch",
    26: "deprecated",
    27: "not-ready",
    28: "gpu-not-found",
    29: "invalid-state",
    999: "unknown",
}
"""NVML return codes (nvml.h) as words of labels; others read `error-<code>`."""

OFF_FOR_GOOD = frozenset(
    {"not-supported", "function-not-found", "no-permission", "library-mismatch", "deprecated"}
)
"""Errors that the same card gives again and again: the call is not made a second time."""

CARD_IS_GONE = frozenset({"gpu-is-lost", "gpu-not-found"})

DRIVER_IS_GONE = frozenset({"version-mismatch", "driver-not-loaded", "uninitialized"})
"""After a good start these say that the driver was unloaded or replaced: a new process loads its library."""


_NO_FAILURES = frozenset(
    {
        ("nvmlEventSetWait_v2", "timeout"),  # nothing happened
        ("nvmlDeviceGetMigDeviceHandleByIndex", "not-found"),  # an empty slot
        ("nvmlDeviceGetProcessUtilization", "not-found"),  # no sample since then
    }
)
"""Answers that come as errors and are none; they are not counted."""


class CallFailed(Exception):
    """A driver call that gave no value. `error` is one of ERROR_WORDS' values or `library-mismatch`."""

    def __init__(self, function: str, error: str) -> None:
        super().__init__(f"{function}: {error}")
        self.function = function
        self.error = error


Failing = Callable[[str, CallFailed], None]
"""Is told the group that failed and why; raises where the card or the driver as a whole is gone."""


def text(raw: object) -> str:
    """A driver's string; bytes that are no UTF-8 become U+FFFD, control characters are dropped."""
    found = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    return "".join(item for item in found.split("\0", 1)[0] if item.isprintable())


class Nvml:
    """The functions of pynvml by their names. Thread-safe; counts failures by (function, error)."""

    def __init__(self) -> None:
        import pynvml

        self._pynvml = pynvml
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], int] = {}
        self._functions: dict[str, Callable[..., Any] | None] = {}

    def __getattr__(self, name: str) -> Any:
        """Constants and structures of pynvml, for those that fill them."""
        return getattr(self._pynvml, name)

    def failure_counts(self) -> dict[tuple[str, str], int]:
        with self._lock:
            return dict(self._counts)

    def call(self, function: str, *arguments: object) -> Any:
        """The function's value; strings come as bytes (see `text`). Raises CallFailed."""
        found = self._function(function)
        if found is None:
            raise self._failed(function, "function-not-found")
        try:
            return found(*arguments)
        except self._pynvml.NVMLError as problem:
            code = int(getattr(problem, "value", 999))
            raise self._failed(function, ERROR_WORDS.get(code, f"error-{code}")) from None
        except self._pynvml.NVMLLibraryMismatchError:
            raise self._failed(function, "library-mismatch") from None
        except UnicodeDecodeError:
            raise self._failed(function, "bad-bytes") from None
        except (ArithmeticError, AttributeError, LookupError, MemoryError, OSError, TypeError, ValueError):
            # a library that answers what pynvml does not expect fails one call, not the exporter
            raise self._failed(function, "bad-answer") from None

    def first(self, functions: tuple[str, ...], *arguments: object) -> Any:
        """The value of the first of these functions that this driver has."""
        for function in functions[:-1]:
            try:
                return self.call(function, *arguments)
            except CallFailed as problem:
                if problem.error not in (
                    "function-not-found",
                    "library-mismatch",
                    "argument-version-mismatch",
                ):
                    raise
        return self.call(functions[-1], *arguments)

    def _function(self, name: str) -> Callable[..., Any] | None:
        if name not in self._functions:
            found = getattr(self._pynvml, name, None)
            # pynvml's wrappers decode strictly; the functions inside give the bytes
            self._functions[name] = getattr(found, "__wrapped__", found)
        return self._functions[name]

    def _failed(self, function: str, error: str) -> CallFailed:
        if (function, error) in _NO_FAILURES:
            return CallFailed(function, error)
        with self._lock:
            self._counts[function, error] = self._counts.get((function, error), 0) + 1
        return CallFailed(function, error)
