"""Numbers, quantities and names of a scenario that a type alone lets pass, though they make no sense."""

import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from cockpit.k8s.quantity import parse_quantity
from cockpit.sim.durations import seconds

Path = tuple[str | int, ...]
Found = Iterator[tuple[Path, str]]

_DURATIONS = {
    "seconds", "at", "launch", "join", "ready", "gpus_after", "every", "after", "until", "first", "scan",
    "unneeded", "after_add", "provision", "day_seconds", "keep", "gives_up", "warm_most", "age",
}  # fmt: skip
_NEVER_ZERO = {"scan", "every", "day_seconds"}
_A_CENTURY = 3_153_600_000.0
_BOUNDS: dict[str, tuple[float, float]] = {
    "nodes": (0, 20_000), "gpus": (0, 1_000_000), "pods": (1, 10_000), "replicas": (1, 1_000),
    "rack_size": (0, 20_000), "workers": (1, 10_000), "count": (0, 100_000), "most": (1, 100_000),
    "retries": (0, 1_000), "per_second": (0.1, 10_000), "weight": (0, 1e9), "min": (0, 20_000),
    "max": (0, 20_000), "to": (0, 20_000), "index": (0, 1_000), "xid": (0, 1_000),
    "remapped_rows": (0, 10_000), "heat": (-100, 200), "borrow": (0, 1e9), "lend": (0, 1e9),
    "value": (-1_000_000_000, 1_000_000_000), "exit_code": (0, 255),
}  # fmt: skip
_PROFILE = re.compile(r"\d+g\.\d+gb(\.[a-z0-9]+)*")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_QUALIFIED = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)


def amounts_of(part: Any, path: Path = ()) -> Found:
    """(path, sentence) for everything out of bounds, wherever it stands."""
    if isinstance(part, tuple):
        for index, item in enumerate(part):
            yield from amounts_of(item, (*path, index))
    if not isinstance(part, msgspec.Struct):
        return
    names = zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True)
    for attribute, name in names:
        value = getattr(part, attribute)
        if value is not None:
            here = (*path, name)
            is_stage = attribute == "gpus" and type(part).__name__ == "Stages"
            if attribute in _DURATIONS or is_stage:
                yield from ((here, text) for text in _duration(attribute, value))
            else:
                yield from ((here, text) for text in _value(attribute, value))
                yield from amounts_of(value, here)


def _duration(attribute: str, value: Any) -> Iterator[str]:
    try:
        found = seconds(value)
    except ValueError as error:
        yield f"{error}."
        return
    if not found <= _A_CENTURY:
        yield f"{value!r} is longer than a century."
    elif not found and attribute in _NEVER_ZERO:
        yield f"{value!r} is no time at all; give at least 1ms."


def _value(attribute: str, value: Any) -> Iterator[str]:
    if attribute in _BOUNDS and isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _BOUNDS[attribute]
        if not math.isfinite(value) or not low <= value <= high:
            yield f"{value} is not between {low:g} and {high:g}."
    elif attribute in ("cpu", "memory") and isinstance(value, str):
        yield from _quantity(value)
    elif attribute in ("labels", "annotations") and isinstance(value, dict):
        yield from _labels(value, has_plain_values=attribute == "labels")
    elif attribute == "mig" and isinstance(value, dict):
        yield from _profiles(value)
    elif attribute in ("resource", "key") and isinstance(value, str) and not _QUALIFIED.fullmatch(value):
        yield f"{value!r} is no qualified name; write for instance nvidia.com/gpu."
    elif attribute == "seconds_between":
        yield from _between(value)


def _quantity(value: str) -> Iterator[str]:
    try:
        amount = parse_quantity(value)
    except ValueError:
        amount = math.nan
    if not math.isfinite(amount) or amount < 0:
        yield f"{value!r} is no quantity; write for instance 4, 500m or 16Gi."


def _labels(value: dict[str, str], *, has_plain_values: bool) -> Iterator[str]:
    for key, text in value.items():
        if not _QUALIFIED.fullmatch(key):
            yield f"{key!r} is no label's key; use letters, digits, -, _ and . and at most one /."
        elif has_plain_values and not _LABEL_VALUE.fullmatch(text):
            yield f"{text!r} is no label's value; use at most 63 letters, digits, -, _ and dots."


def _profiles(value: dict[str, int]) -> Iterator[str]:
    for profile, count in value.items():
        if not _PROFILE.fullmatch(profile):
            yield f"{profile!r} is no MIG profile; write for instance 1g.5gb."
        elif not 1 <= count <= 10_000:
            yield f"{count} instances of {profile} are not between 1 and 10000."


def _between(value: Any) -> Iterator[str]:
    try:
        low, high = (seconds(one) for one in value)
    except ValueError as error:
        yield f"{error}."
        return
    if not low <= high <= _A_CENTURY:
        yield f"{value[0]} to {value[1]} runs backwards or is longer than a century."
