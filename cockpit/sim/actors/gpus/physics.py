"""One card in time: power follows duty, temperature follows power with inertia, clocks give way to heat.

Time moves on a grid of `GRID_SECONDS`, so that what a card says at a moment does not depend on how often it
was asked.
"""

import math
from collections.abc import Callable
from enum import IntFlag

import msgspec

from cockpit.sim.actors.common.gpu_load import GRID_SECONDS
from cockpit.sim.actors.gpus.models import Model

_INERTIA_SECONDS = 45.0
_WARMTH = 1.0 - math.exp(-GRID_SECONDS / _INERTIA_SECONDS)
_THROTTLED_RATIO = 0.6
_STILL_CELSIUS = 1e-6


class Throttle(IntFlag):
    """Bits of nvmlDeviceGetCurrentClocksEventReasons."""

    NONE = 0
    GPU_IDLE = 0x1
    POWER_CAP = 0x4
    HW_SLOWDOWN = 0x8
    SW_THERMAL = 0x20
    HW_THERMAL = 0x40


_IDLE, _CAPPED, _HOT = int(Throttle.GPU_IDLE), int(Throttle.POWER_CAP), int(Throttle.HW_THERMAL)
_HOT_SLOW = int(Throttle.HW_SLOWDOWN | Throttle.HW_THERMAL)
_BITS = {bits: Throttle(bits) for bits in range(2 * _HOT)}
"""Sums of flags are looked up: a fleet takes a million steps a minute, and adding flags costs more."""


class Faults(msgspec.Struct, frozen=True):
    """What is wrong with a card. `heat_celsius` is added to its surroundings (a dead fan, a hot rack)."""

    heat_celsius: float = 0.0
    xid: int = 0
    is_lost: bool = False  # fell off the bus: it reports nothing any more
    ecc_double: int = 0
    remapped_rows: int = 0
    has_remap_failed: bool = False


NO_FAULTS = Faults()


class State(msgspec.Struct, frozen=True):
    """One card at one moment, in base units. `duty_ratio` is what the card achieves after throttling."""

    at_seconds: float
    duty_ratio: float
    power_watts: float
    temperature_celsius: float
    memory_temperature_celsius: float
    sm_clock_hertz: float
    throttle: Throttle
    energy_joules: float


def rest(model: Model, at_seconds: float) -> State:
    """A card that nobody has used for long."""
    return State(
        at_seconds=grid(at_seconds),
        duty_ratio=0.0,
        power_watts=model.idle_watts,
        temperature_celsius=model.idle_celsius,
        memory_temperature_celsius=model.idle_celsius + 4.0,
        sm_clock_hertz=model.idle_clock_hertz,
        throttle=Throttle.GPU_IDLE,
        energy_joules=0.0,
    )


def is_at_rest(model: Model, state: State, faults: Faults) -> bool:
    """Whether nothing moves while nothing is asked of the card."""
    settled = model.idle_celsius + faults.heat_celsius
    is_cool = abs(state.temperature_celsius - settled) < _STILL_CELSIUS and settled < model.slowdown_celsius
    return is_cool and state.duty_ratio == 0.0


def rested(state: State, at_seconds: float) -> State:
    """The same card later: it has gone on as it was, and drawn its power meanwhile."""
    drawn = max(0.0, at_seconds - state.at_seconds) * state.power_watts
    return msgspec.structs.replace(state, at_seconds=at_seconds, energy_joules=state.energy_joules + drawn)


def grid(at_seconds: float) -> float:
    """The last point of the grid at or before a time."""
    return math.floor(at_seconds / GRID_SECONDS) * GRID_SECONDS


def advance(
    model: Model, state: State, duty: Callable[[float], float], faults: Faults, at_seconds: float
) -> State:
    """The card at `grid(at_seconds)`; `duty` gives what is asked of it (0..1) at a time."""
    for _ in range(round((grid(at_seconds) - state.at_seconds) / GRID_SECONDS)):
        state = _step(model, state, duty(state.at_seconds + GRID_SECONDS), faults)
    return state


def _step(model: Model, state: State, asked: float, faults: Faults) -> State:
    at = state.at_seconds + GRID_SECONDS
    # Hysteresis: once throttled, a card stays so until it is 3 degrees below its limit.
    limit = model.slowdown_celsius - (3.0 if int(state.throttle) & _HOT else 0.0)
    is_hot = state.temperature_celsius >= limit
    ratio = _THROTTLED_RATIO if is_hot else 1.0
    power = model.idle_watts + (model.cap_watts - model.idle_watts) * asked**0.8 * ratio
    settled = model.idle_celsius + faults.heat_celsius + (power - model.idle_watts) * model.celsius_per_watt
    celsius = state.temperature_celsius + (settled - state.temperature_celsius) * _WARMTH
    reasons = 0
    if asked == 0.0:
        reasons |= _IDLE
    if is_hot:
        reasons |= _HOT_SLOW
    if power >= 0.97 * model.cap_watts:
        reasons |= _CAPPED
    return State(
        at_seconds=at,
        duty_ratio=asked,
        power_watts=round(power, 3),
        temperature_celsius=celsius,
        memory_temperature_celsius=celsius + 4.0 + 9.0 * asked,
        sm_clock_hertz=model.sm_clock_hertz * ratio if asked > 0.0 else model.idle_clock_hertz,
        throttle=_BITS[reasons],
        energy_joules=state.energy_joules + power * GRID_SECONDS,
    )
