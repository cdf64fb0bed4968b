"""Why a card's clocks are throttled, in NVML's bits and dcgm-exporter's words.

Source: docs.nvidia.com/deploy/nvml-api group__nvmlClocksEventReasons, NVIDIA/dcgm-exporter
internal/pkg/collector/clock_events_collector.go.
"""

from collections.abc import Iterable

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

BIT_OF = {word: bit for bit, word, _ in REASONS}


def bits_of(words: Iterable[str]) -> int:
    """The bits of dcgm-exporter's words; unknown words are left out."""
    bits = 0
    for word in words:
        bits |= BIT_OF.get(word, 0)
    return bits


def sentence(bits: int) -> str:
    """What throttles the clocks, the harmful first: `too hot: the hardware slows it, hardware slowdown`."""
    told = [(not bit & HARMFUL, -bit, words) for bit, _, words in REASONS if bits & bit]
    return ", ".join(words for _, _, words in sorted(told)) or "none"
