"""The ladder of a growth, drawn: each step with its stamp, the one that is waited for with what is usual."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from cockpit_widgets.text import cut, fit, width_of
from cockpit_widgets.types import Cell, Tone

from cockpit.views import format as fmt

_JOINT = " ── "
DOTS = 8
"""One for each step that a machine goes through."""


class StepSeen(NamedTuple):
    """One step. `at_seconds` is when the last of the machines reached it, None where nobody dated it."""

    name: str
    is_reached: bool = False
    at_seconds: float | None = None


class Hanging(NamedTuple):
    """The step that is waited for, since when, and how long it usually takes."""

    step: str
    since_seconds: float | None = None
    usual_seconds: float | None = None


class LadderSeen(NamedTuple):
    """A growth on its way: `asked_seconds` None where nobody saw it being asked for."""

    steps: tuple[StepSeen, ...]
    asked_seconds: float | None = None
    hanging: Hanging | None = None
    has_failed: bool = False


def ladder_lines(ladder: LadderSeen, width: int, now_seconds: float) -> list[tuple[Cell, ...]]:
    """`asked 14:02:10 ── accepted +1s ── ...`, broken between steps where it does not fit."""
    lines: list[list[Cell]] = [[]]
    used = 0
    for at, step in enumerate(ladder.steps):
        cell = _step(step, ladder, now_seconds)
        joint = _JOINT if at else ""
        if at and used + len(joint) + width_of(cell.text) > width:
            lines.append([Cell(_JOINT.lstrip(), "dim")])
            used, joint = len(_JOINT.lstrip()), ""
        if joint:
            lines[-1].append(Cell(joint, "dim"))
        lines[-1].append(cell)
        used += len(joint) + width_of(cell.text)
    return [tuple(line) for line in lines]


def _step(step: StepSeen, ladder: LadderSeen, now_seconds: float) -> Cell:
    hanging = ladder.hanging
    if hanging is not None and hanging.step == step.name:
        tone: Tone = "bad" if ladder.has_failed else "warn" if is_late(hanging, now_seconds) else "info"
        mark = "✗" if ladder.has_failed else "…"
        return Cell(
            " ".join(part for part in (step.name, mark, usual_words(hanging, now_seconds)) if part), tone
        )
    if not step.is_reached:
        return Cell(step.name, "dim")
    return Cell(f"{step.name}{_stamp(step, ladder)}", "good")


def _stamp(step: StepSeen, ladder: LadderSeen) -> str:
    if step.at_seconds is None:
        return ""
    if ladder.asked_seconds is None or step.at_seconds == ladder.asked_seconds:
        return f" {clock(step.at_seconds)}"
    return f" +{fmt.span(max(0.0, step.at_seconds - ladder.asked_seconds))}"


def clock(seconds: float) -> str:
    """`14:02:10`, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def usual_words(hanging: Hanging, now_seconds: float) -> str:
    """`usually 9m, now 4m`; what is not known is left out."""
    words = []
    if hanging.usual_seconds is not None:
        words.append(f"usually {fmt.age(hanging.usual_seconds)}")
    if hanging.since_seconds is not None:
        words.append(f"now {fmt.age(now_seconds - hanging.since_seconds)}")
    return ", ".join(words)


def is_late(hanging: Hanging, now_seconds: float) -> bool:
    """Half as long again as usual."""
    if hanging.usual_seconds is None or hanging.since_seconds is None:
        return False
    return now_seconds - hanging.since_seconds > 1.5 * hanging.usual_seconds


class MachineSeen(NamedTuple):
    """One machine on its way: how many of the steps it has reached, and what it is at, in words."""

    name: str
    reached: int
    sentence: str
    hanging: Hanging | None = None
    has_failed: bool = False


def machine_lines(
    machines: Sequence[MachineSeen], width: int, most: int, now_seconds: float
) -> list[tuple[Cell, ...]]:
    """`gpu-h100-40   ●●●●●●○○  GPU driver is being installed; usually 12m, now 4m`."""
    shown = machines[: most if len(machines) <= most else max(1, most - 1)]
    names = min(max((width_of(one.name) for one in shown), default=0), max(12, width // 3))
    lines: list[tuple[Cell, ...]] = []
    for one in shown:
        tone: Tone = "bad" if one.has_failed else "info"
        said = one.sentence
        late = False
        if one.hanging is not None:
            words = usual_words(one.hanging, now_seconds)
            said = f"{said}; {words}" if words else said
            late = is_late(one.hanging, now_seconds)
        dots = "●" * min(DOTS, one.reached) + "○" * (DOTS - one.reached)
        lines.append(
            (
                Cell(fit(one.name, names) + "  "),
                Cell(f"{dots}  ", tone),
                Cell(
                    cut(said, max(1, width - names - DOTS - 4)),
                    "bad" if one.has_failed else "warn" if late else "",
                ),
            )
        )
    if len(machines) > len(shown):
        lines.append((Cell(f"and {len(machines) - len(shown)} more on their way", "dim"),))
    return lines
