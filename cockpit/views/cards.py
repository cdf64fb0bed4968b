"""What several cards say together: means, maxima and sums that keep the reason why a number is missing."""

from collections.abc import Callable, Iterable, Sequence

from cockpit_widgets.types import Cell, Tone

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.quantity import Absent, Reading
from cockpit.model.xid import xid_class
from cockpit.views import format as fmt

_WORST = (Absent.IMPLAUSIBLE, Absent.DENIED, Absent.STALE, Absent.NOT_COLLECTED)


def numbers(cards: Iterable[Gpu], of: Callable[[Gpu], Reading]) -> list[float]:
    """The readings that are numbers."""
    return [value for value in map(of, cards) if not isinstance(value, Absent)]


def fold(
    cards: Sequence[Gpu], of: Callable[[Gpu], Reading], combine: Callable[[list[float]], float]
) -> Reading:
    """One number of the cards that have one; where none has, the reason that tells most."""
    found = numbers(cards, of)
    if found:
        return combine(found)
    return worst_of([of(card) for card in cards])


def worst_of(values: Iterable[Reading]) -> Absent:
    """Of the reasons among these the one that tells most."""
    reasons = {value for value in values if isinstance(value, Absent)}
    return next((reason for reason in _WORST if reason in reasons), Absent.NOT_COLLECTED)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def duty(card: Gpu) -> Reading:
    return card.duty_ratio


def memory_used(card: Gpu) -> Reading:
    return card.memory_used_bytes


def memory_total(card: Gpu) -> Reading:
    return card.memory_total_bytes


def temperature(card: Gpu) -> Reading:
    return card.temperature_celsius


def power(card: Gpu) -> Reading:
    return card.power_watts


def memory_ratio(card: Gpu) -> Reading:
    """Share of the card's memory in use; missing when either side is."""
    used, total = card.memory_used_bytes, card.memory_total_bytes
    if isinstance(used, Absent):
        return used
    if isinstance(total, Absent):
        return total
    return used / total if total > 0 else Absent.NOT_COLLECTED


def is_allocated(card: Gpu) -> bool:
    """True where telemetry names a pod on the card."""
    return bool(card.pod_name) and card.mark is not Mark.UNALLOCATED


def mini_bars(cards: Sequence[Gpu], allocatable: int | None, expected: int | None) -> str:
    """One glyph a device: duty of an allocated card, `·` free, `?` not collected, `~` stale, `!` implausible,
    `×` lost.

    `allocatable` devices are drawn at least, those missing from `expected` as lost; cards stand by index.
    """
    glyphs = [_glyph(card) for card in cards]
    glyphs += [fmt.NOT_COLLECTED] * max(0, (allocatable or 0) - len(glyphs))
    if allocatable is not None and expected is not None:
        glyphs += [fmt.LOST] * max(0, expected - len(glyphs))
    return "".join(glyphs)


def _glyph(card: Gpu) -> str:
    if isinstance(card.duty_ratio, Absent):
        return fmt.bar(card.duty_ratio)
    if card.mark is Mark.UNALLOCATED and card.duty_ratio < fmt.DUTY_IDLE_RATIO:
        return fmt.FREE
    return fmt.bar(card.duty_ratio)


def health_cell(cards: Sequence[Gpu], lost: int = 0) -> Cell:
    """The worst last XID of the cards, else how many are `lost` (promised and not offered); `ok` only where
    every card is there and reports one, never from silence."""
    codes = [card.xid for card in cards if card.xid]
    bad = sorted({code for code in codes if xid_class(code).is_bad})
    if bad:
        return Cell(f"× Xid {bad[0]}", "bad")
    if lost:
        return Cell(f"× {lost} lost", "bad")
    if codes:
        return Cell(f"▲ Xid {min(codes)}", "warn")
    if not cards or any(card.xid is None for card in cards):
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    return Cell("ok", "good")


def xid_cell(code: int | None) -> Cell:
    """The last code a card reported; it does not clear by itself."""
    if code is None:
        return fmt.absent_cell(Absent.NOT_COLLECTED)
    if code == 0:
        return Cell("none")
    return Cell(f"Xid {code}", "bad" if xid_class(code).is_bad else "warn")


_MARKS: dict[Mark, Tone] = {
    Mark.SURE: "good",
    Mark.SHARED: "warn",
    Mark.GUESSED: "warn",
    Mark.UNALLOCATED: "dim",
    Mark.NOT_COLLECTED: "dim",
}


def mark_cell(mark: Mark) -> Cell:
    """How sure we are of the holder."""
    return Cell("n/c" if mark is Mark.NOT_COLLECTED else mark.value, _MARKS[mark])


def power_sum(cards: Sequence[Gpu]) -> Reading:
    """Watts of several cards; MIG instances repeat their card's draw, so each card counts once."""
    once: dict[tuple[str, str], Gpu] = {}
    for card in cards:
        key = (card.node, card.uuid.split("/", 1)[0] if card.mig_profile else card.uuid)
        had = once.get(key)
        if had is None or isinstance(had.power_watts, Absent):
            once[key] = card
    return fold(tuple(once.values()), power, sum)


def short_model(model: str) -> str:
    """`NVIDIA-H100-80GB-HBM3` and `NVIDIA H100 80GB HBM3` both read `H100-80GB-HBM3`."""
    dashed = "-".join(model.split())
    for maker in ("NVIDIA-", "Tesla-"):
        dashed = dashed.removeprefix(maker)
    return dashed
