"""Single samples: from a Prometheus answer or from exposition text."""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cockpit.sanitise import clean


class Sample(NamedTuple):
    """One value of one series. `sampled_seconds` is epoch seconds, None if unknown."""

    name: str
    labels: Mapping[str, str]
    value: float
    sampled_seconds: float | None


def from_prometheus(result: Iterable[Any]) -> list[Sample]:
    """Samples of an instant query's `data.result`: vector rows (`value`) or matrix rows (`values`, the newest
    one counts). Rows of another shape are left out; the API's shape is documented at
    prometheus.io/docs/prometheus/latest/querying/api/#expression-query-result-formats."""
    samples: list[Sample] = []
    for row in result:
        try:  # nearly all of 100,000 rows are as they should be
            labels, (at, value) = row["metric"], row["value"]
            samples.append(Sample(labels.get("__name__", ""), labels, float(value), float(at)))
        except (TypeError, KeyError, ValueError, AttributeError):
            samples += _odd(row)
    return samples


def _odd(row: Any) -> list[Sample]:
    """The sample of a row that is no plain one of a vector; none where it cannot be read."""
    if not isinstance(row, dict):
        return []
    labels = row.get("metric")
    pair = row.get("value")
    if pair is None:
        values = row.get("values")
        pair = values[-1] if isinstance(values, list) and values else None
    if not isinstance(labels, dict) or not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return []
    try:
        at, value = float(pair[0]), float(pair[1])
    except (TypeError, ValueError):
        return []
    return [Sample(str(labels.get("__name__", "")), labels, value, at)]


MOST_SAMPLES = 50_000
LONGEST_LINE = 16 * 1024
LONGEST_LABEL = 253
"""The API server's limit for a name; what is longer is cut."""

_LINE = re.compile(
    r"([a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+(-?[0-9]{1,16}))?[ \t]*$"
)
_LABEL = re.compile(r'[ \t]*([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|$)')
_ESCAPE = re.compile(r"\\(.)")


def parse_exposition(
    text: str, read_seconds: float, names: Container[str] | None = None, most: int = MOST_SAMPLES
) -> list[Sample]:
    """Samples of the Prometheus text format (version 0.0.4), of these names where they are given, and at most
    so many. Lines that do not follow the format are left out; labels are cleaned.

    `read_seconds` is the time of reading, used where a line has no time stamp (milliseconds).
    Source: prometheus.io/docs/instrumenting/exposition_formats/#text-based-format.
    """
    samples: list[Sample] = []
    for line in text.split("\n"):
        if not line or line[0] == "#" or len(line) > LONGEST_LINE:
            continue
        match = _LINE.match(line.strip())
        if match is None:
            continue
        name, inside, raw, stamp = match.groups()
        if names is not None and name not in names:
            continue
        labels = _labels(inside or "")
        try:
            value = float(raw)
        except ValueError:
            continue
        if labels is None:
            continue
        at = int(stamp) / 1000 if stamp else read_seconds
        samples.append(Sample(name, labels, value, at))
        if len(samples) >= most:
            break
    return samples


def _labels(inside: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    at = 0
    while at < len(inside):
        match = _LABEL.match(inside, at)
        if match is None:
            return None if inside[at:].strip(" \t,") else found
        found[match[1]] = clean(_ESCAPE.sub(_unescape, match[2]), LONGEST_LABEL)
        at = match.end()
    return found


def _unescape(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


# DCGM's "blank" readings (dcgmlib/dcgm_structs.h): not measured, not supported, no permission, not found.
_INT32_BLANKS = frozenset(float(2**31 - 16 + step) for step in range(4))
_DOUBLE_BLANKS = frozenset(float(2**47 + step) for step in range(4))
_LEAST_BLANK = float(2**31 - 16)
_INT64_BLANK_FROM = float(2**63 - 16)  # as a double 2^63 itself; no honest counter gets there


def is_reading(value: float) -> bool:
    """False for NaN, infinities and the numbers by which DCGM says that it has none."""
    if -_LEAST_BLANK < value < _LEAST_BLANK:
        return True
    if not math.isfinite(value):
        return False
    return value not in _INT32_BLANKS and value not in _DOUBLE_BLANKS and value < _INT64_BLANK_FROM


def newest_seconds(samples: Sequence[Sample]) -> float | None:
    """The latest sample time, None where no sample has one."""
    return max(
        (sample.sampled_seconds for sample in samples if sample.sampled_seconds is not None), default=None
    )
