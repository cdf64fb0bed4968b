"""Why a card's clocks are throttled, in NVML's bits and dcgm-exporter's words.

Source: docs.nvidia.com/deploy/nvml-api group__nvmlClocksEventReasons, NVIDIA/dcgm-exporter
internal/pkg/collector/clock_events_collector.go.
"""

from collections.abc import Iterable

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent

REASONS: tuple[tuple[int, str, str], ...] = (
    (0x1, "gpu_idle", "idle"),
    (0x2, "clocks_setting", "clocks set by a user"),
    (0x4, "power_cap", "at its power cap"),
    (0x8, "hw_slowdown", "hardware slowdown"),
    (0x10, "sync_boost", "waits for its sync group"),
    (0x20, "sw_thermal", "hot: the driver slows it"),
    (0x40, "hw_thermal", "too hot: the hardware slows it"),
    (0x80, "hw_power_brake", "power brake from outside"),
    (0x100, "display_clocks", "display clocks"),
)
"""Bit, the word in metrics, and what a person reads."""

IDLE = 0x1
POWER_CAP = 0x4
THERMAL = 0x20 | 0x40
HARMFUL = 0x8 | THERMAL | 0x80
"""Bits that say that something is wrong; a card at its power cap does what it was told."""

HOT = 0x1_0000
"""Not of NVML: above the slowdown of nearly all cards."""
HOT_CELSIUS = 90.0
WARM_CELSIUS = 80.0
"""From here on a low clock is put down to heat; slowdown begins at 83 to 93 degrees on data centre cards."""

BIT_OF = {word: bit for bit, word, _ in REASONS}


def bits_of(words: Iterable[str]) -> int:
    """The bits of dcgm-exporter's words; unknown words are left out."""
    bits = 0
    for word in words:
        bits |= BIT_OF.get(word, 0)
    return bits


def harm_of(card: Gpu) -> int:
    """What harms the card now: the harmful bits, and HOT."""
    heat = card.temperature_celsius
    return (card.throttle or 0) & HARMFUL | (
        HOT if not isinstance(heat, Absent) and heat >= HOT_CELSIUS else 0
    )


def sentence(bits: int) -> str:
    """What throttles the clocks, the harmful first: `too hot: the hardware slows it, hardware slowdown`."""
    if bits == HOT:
        return "hot"
    told = [(not bit & HARMFUL, -bit, words) for bit, _, words in REASONS if bits & bit]
    return ", ".join(words for _, _, words in sorted(told)) or "none"
