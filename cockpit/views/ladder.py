"""The ladder of a growth, drawn: each step with its stamp, the one that is waited for with what is usual."""

from collections.abc import Sequence
from datetime import UTC, datetime

from cockpit_widgets.text import cut, fit, width_of
from cockpit_widgets.types import Cell, Line, Tone

from cockpit.pools.ladder import RUNGS, Hang, Ladder, MachineLadder, Rung, Stamp
from cockpit.views import format as fmt

_JOINT = " ── "
_NEXT = {
    Rung.ACCEPTED: "asked for, not accepted yet",
    Rung.LAUNCHING: "accepted, no machine requested yet",
    Rung.LAUNCHED: "machine requested, not there yet",
    Rung.JOINED: "machine starts, no node yet",
    Rung.READY: "node joined, kubelet gets ready",
    Rung.GPUS_UP: "GPU driver is being installed",
    Rung.USED: "ready, nothing runs on it now",
}
"""What a machine is at, by the step that it waits for."""
_OVERDUE = {
    Rung.READY: "its kubelet is not Ready: read the log of its boot",
    Rung.GPUS_UP: "Ready but advertises no GPU: check the pods of driver and device plugin on it",
}
"""What is wrong, and where to look, once the step is beyond its limit."""


def ladder_lines(ladder: Ladder, width: int, now_seconds: float, unasked: str = "?") -> list[Line]:
    """`asked 14:02:10 ── accepted +1s ── ...`, broken between steps where it does not fit. `unasked` stands
    where *asked* has no date."""
    lines: list[list[Cell]] = [[]]
    used = 0
    for at, stamp in enumerate(ladder.stamps):
        cell = _step(stamp, ladder, now_seconds, unasked)
        joint = _JOINT if at else ""
        if at and used + len(joint) + width_of(cell.text) > width:
            lines.append([Cell(_JOINT.lstrip(), "dim")])
            used, joint = len(_JOINT.lstrip()), ""
        if joint:
            lines[-1].append(Cell(joint, "dim"))
        lines[-1].append(cell)
        used += len(joint) + width_of(cell.text)
    return [tuple(line) for line in lines]


def has_failed(ladder: Ladder, now_seconds: float) -> bool:
    """A machine was given up, or the step that is waited for is beyond its limit."""
    is_broken = ladder.hang is not None and ladder.hang.is_broken(now_seconds)
    return is_broken or any(machine.failure for machine in ladder.machines)


def _step(stamp: Stamp, ladder: Ladder, now_seconds: float, unasked: str) -> Cell:
    hang = ladder.hang
    if hang is not None and hang.step is stamp.step:
        failed = has_failed(ladder, now_seconds)
        tone: Tone = "bad" if failed else "warn" if hang.is_late(now_seconds) else "info"
        count = f"{ladder.done(stamp.step)}/{ladder.wanted}" if ladder.wanted > 1 else ""
        words = (str(stamp.step), count, "✗" if failed else "…", hang_words(hang, now_seconds))
        return Cell(" ".join(part for part in words if part), tone)
    if not stamp.is_reached:
        done = ladder.done(stamp.step)
        return Cell(f"{stamp.step} {done}/{ladder.wanted}" if done else str(stamp.step), "dim")
    if stamp.step is Rung.ASKED and stamp.at_seconds is None:
        return Cell(f"{stamp.step} {unasked}", "good")
    return Cell(f"{stamp.step}{_when(stamp, ladder)}", "good")


def _when(stamp: Stamp, ladder: Ladder) -> str:
    """From *asked* on; if its time is unknown, from the first step with a date."""
    if stamp.at_seconds is None:
        return ""
    first = next((item.at_seconds for item in ladder.stamps if item.at_seconds is not None), stamp.at_seconds)
    first = ladder.asked_seconds if ladder.asked_seconds is not None else first
    if stamp.at_seconds == first:
        return f" {clock(first)}"
    return f" +{fmt.span(max(0.0, stamp.at_seconds - first))}"


def clock(seconds: float) -> str:
    """`14:02:10`, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def hang_words(hang: Hang, now_seconds: float) -> str:
    """`usually 9m, now 4m`; what is not known is left out."""
    words = []
    if hang.usually_seconds is not None:
        words.append(f"usually {_about(hang.usually_seconds)}")
    lasted = hang.lasted(now_seconds)
    if lasted is not None:
        words.append(f"now {_about(lasted)}")
    return ", ".join(words)


def _about(seconds: float) -> str:
    """Whole minutes without their seconds: `9m`, `2m30s`."""
    text = fmt.age(seconds)
    return text.removesuffix("00s") if text.endswith("m00s") else text


def machine_words(machine: MachineLadder, now_seconds: float) -> str:
    """What it is at; the owner's own words where it failed."""
    if machine.failure:
        return machine.failure
    hang = machine.hang
    if hang is not None and hang.step in _OVERDUE and hang.is_broken(now_seconds):
        return _OVERDUE[hang.step]
    step = next((item.step for item in machine.stamps if not item.is_reached), None)
    return "its first pod has started" if step is None else _NEXT[step]


def machine_lines(ladder: Ladder, width: int, most: int, now_seconds: float) -> list[Line]:
    """`gpu-h100-40   ●●●●●●○○  GPU driver is being installed; usually 12m, now 4m`; nothing of those that
    have made it."""
    climbing = [
        machine for machine in ladder.machines if machine.failure or machine.reached < len(machine.stamps)
    ]
    shown = _shown(climbing, most)
    names = min(max((width_of(_name(item)) for item in shown), default=0), max(12, width // 3))
    room = max(1, width - names - len(RUNGS) - 4)
    lines: list[Line] = []
    for item in shown:
        said, is_late, is_broken = machine_words(item, now_seconds), False, bool(item.failure)
        if item.hang is not None:
            words = hang_words(item.hang, now_seconds)
            # the owner's reason is worth more than the numbers, and these more than the step
            if words and not item.failure:
                said = cut(said, max(1, room - width_of(words) - 2))
            said = f"{said}; {words}" if words else said
            is_late, is_broken = item.hang.is_late(now_seconds), is_broken or item.hang.is_broken(now_seconds)
        dots = "●" * item.reached + "○" * (len(item.stamps) - item.reached)
        tone: Tone = "bad" if is_broken else "warn" if is_late else ""
        mark: Tone = "bad" if is_broken else "good" if item.hang is None else "info"
        lines.append(
            (Cell(fit(_name(item), names) + "  "), Cell(f"{dots}  ", mark), Cell(cut(said, room), tone))
        )
    unseen = ladder.wanted - len(ladder.machines)
    if len(climbing) > len(shown):
        lines.append((Cell(f"and {len(climbing) - len(shown)} more machines", "dim"),))
    if unseen > 0:
        lines.append((Cell(f"{unseen} more asked for: no machine and no node of it is seen yet", "info"),))
    return lines


def _shown(machines: Sequence[MachineLadder], most: int) -> Sequence[MachineLadder]:
    """Where not all have room, those that are furthest behind."""
    if len(machines) <= most:
        return machines
    return sorted(machines, key=lambda one: (not one.failure, one.reached, one.name))[: max(1, most - 1)]


def _name(machine: MachineLadder) -> str:
    return machine.node or machine.name
