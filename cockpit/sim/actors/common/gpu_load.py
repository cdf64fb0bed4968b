"""What a container does to the cards it holds: duty and memory over time, as a pure function of time.

The pattern comes from the pod's annotation `cockpit.dev/gpu-load`: a pattern's name, and after a colon the
mean duty, for instance `training:0.92`. Without one a pod trains.
"""

import hashlib
import math
from collections.abc import Mapping
from enum import StrEnum

import msgspec

ANNOTATION = "cockpit.dev/gpu-load"
MEMORY_ANNOTATION = "cockpit.dev/gpu-memory"  # share of the card, 0..1
GRID_SECONDS = 5.0
"""Values stand still within one step of this grid, as an exporter's own sampling makes them."""

_WARM_UP_SECONDS = 25.0
_DAY_SECONDS = 86_400.0
_TOOTH_SECONDS = 35.0
"""No multiple of what exporters are scraped by: a sample meets another part of the tooth each time."""


class LoadPattern(StrEnum):
    """How duty moves."""

    TRAINING = "training"  # high, with a short dip after each epoch (validation, checkpoint)
    DATA_STARVED = "data-starved"  # saw teeth: the loader is slower than the card
    NETWORK_BOUND = "network-bound"  # every step waits for the all-reduce
    INFERENCE = "inference"  # bursts that follow the hours of a day
    NOTEBOOK = "notebook"  # memory held, now and then a cell runs
    IDLE = "idle"  # memory held, nothing runs
    STEADY = "steady"  # a burn-in


_ALIASES = {"saw-teeth": LoadPattern.DATA_STARVED}
"""What it looks like, for whoever must not be told why."""
_MEAN = {
    LoadPattern.TRAINING: 0.93,
    LoadPattern.DATA_STARVED: 0.34,
    LoadPattern.NETWORK_BOUND: 0.55,
    LoadPattern.INFERENCE: 0.45,
    LoadPattern.NOTEBOOK: 0.08,
    LoadPattern.IDLE: 0.0,
    LoadPattern.STEADY: 1.0,
}
_MEMORY = {
    LoadPattern.TRAINING: 0.86,
    LoadPattern.DATA_STARVED: 0.71,
    LoadPattern.NETWORK_BOUND: 0.80,
    LoadPattern.INFERENCE: 0.62,
    LoadPattern.NOTEBOOK: 0.24,
    LoadPattern.IDLE: 0.55,
    LoadPattern.STEADY: 0.95,
}


class Load(msgspec.Struct, frozen=True):
    """One container on one device. `seed` tells it from others; `since_seconds` is when it started."""

    seed: str
    since_seconds: float
    pattern: LoadPattern = LoadPattern.TRAINING
    mean_ratio: float = 0.93
    memory_ratio: float = 0.86


def load_of(annotations: Mapping[str, str], seed: str, since_seconds: float) -> Load:
    """The load that annotations ask for; what cannot be read counts as not said."""
    name, _, number = annotations.get(ANNOTATION, "").partition(":")
    name = _ALIASES.get(name, name)
    pattern = LoadPattern(name) if name in set(LoadPattern) else LoadPattern.TRAINING
    return Load(
        seed=seed,
        since_seconds=since_seconds,
        pattern=pattern,
        mean_ratio=_ratio(number, _MEAN[pattern]),
        memory_ratio=_ratio(annotations.get(MEMORY_ANNOTATION, ""), _MEMORY[pattern]),
    )


def _ratio(text: str, default: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return default
    return value if 0.0 <= value <= 1.0 else default


def _noise(*what: object) -> float:
    """Between -1 and 1; the same for the same words."""
    digest = hashlib.blake2b("/".join(map(str, what)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**63 - 1.0


def duty_at(load: Load, at_seconds: float) -> float:
    """Duty cycle 0..1 at a time; 0 before the container started."""
    running = at_seconds - load.since_seconds
    if running < 0 or load.mean_ratio == 0.0:
        return 0.0
    step = math.floor(at_seconds / GRID_SECONDS)
    jitter = _noise(load.seed, step)
    warm = min(1.0, running / _WARM_UP_SECONDS)
    return min(1.0, max(0.0, _SHAPES[load.pattern](load, running, at_seconds, jitter) * warm))


def _training(load: Load, running: float, at: float, jitter: float) -> float:
    epoch_seconds = 180.0 + 60.0 * _noise(load.seed, "epoch")
    if running % epoch_seconds > epoch_seconds - 12.0:
        return 0.15 + 0.1 * jitter
    return load.mean_ratio + 0.04 * jitter


def _data_starved(load: Load, running: float, at: float, jitter: float) -> float:
    tooth = (running % _TOOTH_SECONDS) / _TOOTH_SECONDS
    return 2.0 * load.mean_ratio * (1.0 - tooth) + 0.05 * jitter


def _network_bound(load: Load, running: float, at: float, jitter: float) -> float:
    return load.mean_ratio * (1.0 + 0.25 * math.sin(running / 9.0)) + 0.06 * jitter


def _inference(load: Load, running: float, at: float, jitter: float) -> float:
    hour = math.sin(2.0 * math.pi * (at % _DAY_SECONDS) / _DAY_SECONDS - 1.8)
    burst = 0.35 if _noise(load.seed, "burst", math.floor(at / 40.0)) > 0.5 else 0.0
    return load.mean_ratio * (1.0 + 0.4 * hour) + burst + 0.08 * jitter


def _notebook(load: Load, running: float, at: float, jitter: float) -> float:
    busy = _noise(load.seed, "cell", math.floor(at / 60.0)) > 1.0 - 4.0 * load.mean_ratio
    return 0.7 + 0.2 * jitter if busy else 0.0


def _steady(load: Load, running: float, at: float, jitter: float) -> float:
    return load.mean_ratio


_SHAPES = {
    LoadPattern.TRAINING: _training,
    LoadPattern.DATA_STARVED: _data_starved,
    LoadPattern.NETWORK_BOUND: _network_bound,
    LoadPattern.INFERENCE: _inference,
    LoadPattern.NOTEBOOK: _notebook,
    LoadPattern.IDLE: _steady,
    LoadPattern.STEADY: _steady,
}


def memory_at(load: Load, at_seconds: float, capacity_bytes: int) -> int:
    """Bytes of the card that the container holds: frameworks grab most of it within the first minute."""
    running = at_seconds - load.since_seconds
    if running < 0:
        return 0
    grown = min(1.0, 0.3 + 0.7 * running / 60.0)
    return int(capacity_bytes * load.memory_ratio * grown)
