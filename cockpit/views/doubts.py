"""What was told of a card and not taken, in words: impossible numbers, contradictions, missing pods."""

from collections.abc import Callable, Sequence

from cockpit_widgets.types import Cell

from cockpit.model.gpu import Doubt, DoubtKind, Gpu
from cockpit.views import format as fmt

_WORDS: dict[str, tuple[str, Callable[[float], str]]] = {
    "duty_ratio": ("duty", lambda value: f"{value * 100:,.0f}%"),
    "memory_used_bytes": ("memory used", fmt.byte_size),
    "memory_total_bytes": ("total memory", fmt.byte_size),
    "temperature_celsius": ("temperature", fmt.celsius),
    "power_watts": ("power", fmt.watts),
    "sm_clock_hertz": ("SM clock", fmt.hertz),
    "xid": ("Xid", lambda value: f"{value:.0f}"),
}


def marked(card: Gpu, quantity: str, cell: Cell) -> Cell:
    """The cell of a number that another series contradicts, with a mark: `93%!`."""
    is_doubtful = any(
        item.quantity == quantity and item.kind is DoubtKind.CONTRADICTED for item in card.doubts
    )
    return Cell(f"{cell.text}!", "warn") if is_doubtful else cell


def short(card: Gpu) -> str:
    """`duty contradicted, memory used implausible`; "" where nothing is doubtful."""
    found = dict.fromkeys(f"{_name(item)} {item.kind.value}".strip() for item in card.doubts)
    return ", ".join(found)


def sentences(card: Gpu) -> list[str]:
    """What is doubtful about one card, a sentence each without its full stop."""
    return [_sentence(item) for item in card.doubts]


def summary(cards: Sequence[Gpu], *, with_node: bool = False) -> str:
    """`GPU 3: dcgm A says duty 4,100%, which is implausible (and 2 more)`; "" where nothing is doubtful."""
    # the label of a pod that has just ended is nothing to look after
    found = [(card, item) for card in cards for item in card.doubts if item.kind is not DoubtKind.NO_POD]
    if not found:
        return ""
    card, doubt = found[0]
    where = f"GPU {card.index}" + (f" on {card.node}" if with_node else "")
    return f"{where}: {_sentence(doubt)}" + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")


def _name(doubt: Doubt) -> str:
    if doubt.kind in (DoubtKind.NO_POD, DoubtKind.FUTURE):
        return "sample" if doubt.kind is DoubtKind.FUTURE else ""
    return _WORDS[doubt.quantity][0]


def _sentence(doubt: Doubt) -> str:
    if doubt.kind is DoubtKind.NO_POD:
        return f"its label names {doubt.told}, which is not on this node"
    if isinstance(doubt.told, str):
        return doubt.told
    if doubt.kind is DoubtKind.FUTURE:
        return f"its samples are {fmt.age(doubt.told)} in the future; check the clocks of node and Prometheus"
    name, draw = _WORDS[doubt.quantity]
    what = f"{doubt.source or 'a series'} says {name} {draw(doubt.told)}"
    if doubt.kind is DoubtKind.IMPLAUSIBLE:
        return f"{what}, which is implausible"
    return f"{what}, which contradicts what is shown"
