"""Lines of training logs as programs write them (`formats.toml`): what is told, by the names of `Progress`.

A line that a format matches from its beginning on is read by it alone; an object in JSON by its keys; the
patterns of templates read the others. Our own form is `progress key=value ...` (jobspecs/training/README.md).
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

Told = dict[str, int | float | str | bool | None]
"""Fields of `Progress` that a line tells."""

_NUMBER: Final = r"[-+]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?"
_LOSS: Final = rf"(?P<loss>{_NUMBER}|[-+]?(?i:nan|inf)\b)"
_BAR: Final = (
    r"\s*[0-9]{1,3}%\|[^|]{0,300}\|\s*(?P<step>[0-9]+)/(?P<steps>[0-9]+)\s*\[[0-9:?]+<[0-9:?]+,\s*"
    rf"(?P<speed>{_NUMBER}|\?)\s*(?P<speed_unit>it/s|s/it)"
    rf"(?:[^\]]{{0,300}}?\b(?i:(?:reduced_|av[rg]_)?(?:train(?:ing)?[_/])?(?:step_|total_)?loss(?:_step)?)={_LOSS})?"
)
_SHORT: Final = (("@..", r".{0,300}?"), ("@bar", _BAR), ("@loss", _LOSS), ("@int", "[0-9]+"), ("@n", _NUMBER))
"""What the patterns of the file abbreviate, the longest name first."""
_PAIR: Final = re.compile(r'([a-z_]{1,40})=(?:"((?:[^"\\]|\\.)*)"|(\S*))')
MOST_PAIRS: Final = 40
MOST_EPOCHS: Final = 1e9
EVENTS: Final = frozenset(
    (
        *("progress", "started", "data", "resumed", "checkpoint", "refused", "validated", "resized"),
        *("stopping", "ended"),
    )
)
_OWN: Final = {
    "step": "step",
    "steps": "steps",
    "epoch": "epoch",
    "loss": "loss",
    "samples_per_s": "rate",
    "seconds_per_step": "seconds_per_step",
    "compute_s": "compute_seconds",
    "rank": "rank",
    "size": "size",
}
_FIELDS: Final = frozenset(_OWN.values()) | {"epochs"}
WHOLE: Final = frozenset(("step", "steps", "epoch", "epochs", "rank", "size"))
"""Fields that are whole numbers, 0 or more."""
_SECONDS: Final = {"s/it": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
"""Of one step, by the unit of a speed; any other unit counts steps a second."""


class RunEvent(NamedTuple):
    """One line of our own form: its first word, and its pairs as they stand there."""

    name: str
    pairs: dict[str, str]


def event_of(line: str) -> RunEvent | None:
    """The event that a line tells, None for a line of another kind."""
    name, _, rest = line.partition(" ")
    if name not in EVENTS:
        return None
    pairs: dict[str, str] = {}
    for found in _PAIR.finditer(rest):
        key, quoted, plain = found.groups()
        pairs[key] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        if len(pairs) >= MOST_PAIRS:
            break
    return RunEvent(name, pairs) if pairs else None


def _own(event: RunEvent) -> Told:
    if event.name != "progress":
        return {}
    told: Told = {"is_step_of_run": True}
    for key, field in _OWN.items():
        number = number_of(field, event.pairs.get(key))
        if number is not None:
            told[field] = number
    if "rate" in told:
        told |= {"rate_unit": "samples/s", "is_rate_of_rank": False}
    _mark_loss(told, event.pairs.get("loss"))
    return told if len(told) > 1 else {}


def _mark_loss(told: Told, text: str | None) -> None:
    """A loss that is no number is a fact of its own: the one before must not pass for it."""
    if text is not None:
        is_lost = text.lstrip("+-").lower() in ("nan", "inf", "infinity")
        if is_lost or "loss" in told:
            told["is_loss_lost"] = is_lost


def number_of(field: str, text: str | None) -> int | float | None:
    """The number that a text is for a field; None for one that is none, not finite, or out of its range."""
    if text is None or not text.isascii() or len(text) > 40:
        return None
    text = text.replace(",", "").replace("_", "")
    try:
        if field in WHOLE:
            return int(text) if text.isdigit() and len(text) <= 18 else None
        number = float(text)
    except ValueError:
        return None
    if not -1e300 < number < 1e300:
        return None
    return number if field == "loss" or number >= 0 else None


class RateOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a rate counts, and whose it is: "rank" or "all"."""

    unit: str
    of: str
    mean_of_run: bool = False


class Format(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How one program writes one line; the columns are explained in the file."""

    program: str
    source: str
    needs: str
    pattern: str
    rate: RateOf | None = None
    steps_of_run: bool = False
    epochs_from_zero: bool = False
    any_loop: bool = False
    skip: bool = False

    @property
    def constant(self) -> Told:
        """What each of its lines tells."""
        names = {
            "is_step_of_run": self.steps_of_run,
            "is_epoch_from_zero": self.epochs_from_zero,
            "is_any_loop": self.any_loop,
        }
        return {name: True for name, is_so in names.items() if is_so}


class JsonKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """By which keys objects in JSON tell what; the columns are explained in the file."""

    heads: tuple[str, ...]
    step: tuple[str, ...]
    steps: tuple[str, ...]
    epoch: tuple[str, ...]
    epochs: tuple[str, ...]
    loss: tuple[str, ...]
    seconds_per_step: tuple[str, ...]
    other: tuple[str, ...]
    rates: dict[str, tuple[str, ...]]


class Formats(NamedTuple):
    """The file, with its patterns compiled."""

    lines: tuple[tuple[Format, re.Pattern[str]], ...]
    json: JsonKeys


@cache  # read with the first log: not while the cockpit starts
def formats() -> Formats:
    """All of them, in their order.

    Raises:
        msgspec.ValidationError: the file has another shape; a test of the house reads it.
    """
    tree = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    rows = msgspec.convert(tree["format"], list[Format])
    return Formats(
        tuple((row, re.compile(_expanded(row.pattern))) for row in rows),
        msgspec.convert(tree["json"], JsonKeys),
    )


def _expanded(pattern: str) -> str:
    for short, long in _SHORT:
        pattern = pattern.replace(short, long)
    return pattern


_NOT_TRAINING: Final = re.compile(
    r"\s*[\[(|]?\s*(?i:test(?:ing)?|val(?:id(?:ation|ating)?)?|eval(?:uation|uating)?)\b"
    r"|(?!.{0,300}\b(?i:train))(?i:.{0,300}?\b(?:val(?:id(?:ation)?)?|eval(?:uation)?|test|dev)\b.{0,80}?\bloss\b)"
)
"""Steps and losses of a validation are none of the training's."""


def told_by(line: str) -> Told | None:
    """What a line of a known format tells, {} for one that tells nothing of the training; None for others."""
    event = event_of(line)
    if event is not None:
        return _own(event)
    by_keys = _json(line)
    if by_keys is not None:
        return by_keys
    for item, pattern in formats().lines:
        found = pattern.match(line) if item.needs in line else None
        if found is None:
            continue
        if item.skip or _NOT_TRAINING.match(line):
            return {}
        return _read(item, {name: text for name, text in found.groupdict().items() if text is not None})
    return {} if _NOT_TRAINING.match(line) else None


def _read(item: Format, read: Mapping[str, str]) -> Told:
    told = item.constant
    for field, text in read.items():
        number = number_of(field, text) if field in _FIELDS else None
        if number is not None:
            told[field] = number
    for field, last in (("epochs", "last_epoch"), ("steps", "last_step")):
        number = number_of(field, read.get(last))
        if number is not None:
            told[field] = int(number) + 1
    _mark_loss(told, read.get("loss"))
    if "loss" in told:
        told.pop("is_any_loop", None)  # a loop that tells its loss is the training
    _part_of_epoch(read, told)
    _seconds_of_step(read, told)
    if item.rate is not None and "rate" in told:
        told |= {"rate_unit": item.rate.unit, "is_rate_of_rank": item.rate.of == "rank"}
        if item.rate.mean_of_run:
            told["is_mean_of_run"] = True
    return told


def _part_of_epoch(read: Mapping[str, str], told: Told) -> None:
    """`[640/60000` counts samples, no steps. Of epochs that are done 0.48 is within the first, 3.0 the end of
    the third."""
    done, whole = number_of("step", read.get("done")), number_of("step", read.get("whole"))
    if done is not None and whole:
        told["epoch_ratio"] = min(1.0, done / whole)
    ended = number_of("rate", read.get("ended_epochs"))
    if ended is not None and ended < MOST_EPOCHS:
        epoch = max(1, ceil(ended))
        told |= {"epoch": epoch, "epoch_ratio": ended - (epoch - 1)}


def _seconds_of_step(read: Mapping[str, str], told: Told) -> None:
    speed, unit = number_of("rate", read.get("speed")), read.get("speed_unit")
    if speed and unit is not None:
        told["seconds_per_step"] = speed * _SECONDS[unit] if unit in _SECONDS else 1 / speed
    for name, ratio in (("elapsed_s", 1.0), ("elapsed_ms", 1e-3)):
        elapsed = number_of("rate", read.get(name))
        if elapsed:
            seconds = elapsed * ratio
            told["seconds_per_step"] = seconds
            batch = number_of("step", read.get("batch"))
            if batch:
                told |= {"rate": batch / seconds, "rate_unit": "samples/s", "is_rate_of_rank": False}


# ---- objects in JSON


def _json(line: str) -> Told | None:
    keys = formats().json
    text = line.strip()
    for head in keys.heads:
        text = text.removeprefix(head)
    if not (text.startswith("{") and text.endswith("}") and '"' in text):
        return None
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict):
        return None
    values = _values(tree)
    if any(isinstance(value, str) and value.lower() in keys.other for _, value in values):
        return {}
    told: Told = {}
    for field in ("step", "steps", "epoch", "epochs", "loss", "seconds_per_step"):
        _put(told, field, values, getattr(keys, field))
    for unit, names in keys.rates.items():
        if "rate" not in told:
            _put(told, "rate", values, names)
            if "rate" in told:
                told["rate_unit"] = unit
    if "step" in told:
        told["is_step_of_run"] = "epoch" not in told or "steps" not in told
    return told


def _values(tree: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Keys with their values, one level of objects within opened; MLPerf's `key` and `value` are one pair."""
    inner = [pair for value in tree.values() if isinstance(value, dict) for pair in value.items()]
    values = [*tree.items(), *inner]
    if isinstance(tree.get("key"), str) and "value" in tree:
        values.append((tree["key"], tree["value"]))
    return [(name.rsplit(".", 1)[-1], value) for name, value in values if isinstance(name, str)]


def _put(told: Told, field: str, values: list[tuple[str, Any]], names: tuple[str, ...]) -> None:
    """The number that stands under these names; none where two of them disagree. `10/1000` tells both."""
    texts = [text for name, value in values if name in names for text in _text(value)]
    numbers = {number_of(field, text.partition("/")[0]) for text in texts} - {None}
    if field == "loss" and texts:
        _mark_loss(told, texts[0])
    if len(numbers) != 1:
        return
    told[field] = numbers.pop()
    whole = number_of(field, texts[0].partition("/")[2])
    if whole is not None and field in ("step", "epoch"):
        told[f"{field}s"] = whole
    if field == "loss":
        told["is_loss_lost"] = False


def _text(value: Any) -> Iterator[str]:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        yield str(value)
