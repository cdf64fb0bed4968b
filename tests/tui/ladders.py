"""Pools on the screen as a person reads them: a ladder held against the objects, offers that grow one."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bed.api import Api
from tests.tui.terminal import Terminal

Tree = Mapping[str, Any]
STEPS = ("asked", "accepted", "launching", "launched", "joined", "ready", "GPUs up", "used")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SENT_SECONDS = 30.0
CUT_SECONDS = 2.0
"""What a clock and a span on the screen lose together: each is cut to whole seconds."""
_STEP = re.compile(rf"({'|'.join(STEPS)})(?: (\d\d:\d\d:\d\d)| \+((?:\d+[hms])+))?(?= |$)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}


def hangs_at(screen: str) -> str:
    """The step that is waited for: `joined … now 4s`."""
    found = re.search(r"(launching|launched|joined|ready|GPUs up) …", screen)
    return "" if found is None else found[1]


def until_hangs(terminal: Terminal, *steps: str, seconds: float) -> str:
    """The screen while one of these is waited for, once it is read who asked."""
    deadline = time.monotonic() + seconds
    while hangs_at(screen := terminal.screen()) not in steps or "asked … ──" in screen:
        assert time.monotonic() < deadline, f"the ladder does not wait for one of {steps}\n{screen}"
        time.sleep(0.1)
    return screen


def pick(terminal: Terminal, words: str) -> None:
    """The cursor on the offer of *Why* with these words."""
    offers = [line for line in terminal.screen().splitlines() if "starts" in line and "  " in line]
    at = next(at for at, line in enumerate(offers) if words in line)
    for _ in range(at):
        terminal.keys("Down")


def until_asked(terminal: Terminal, key: str, words: str, *, seconds: float) -> None:
    """Press the key until its plan is on the screen: before its time it is answered by a note."""
    deadline = time.monotonic() + seconds
    while words not in (screen := terminal.screen()):
        assert time.monotonic() < deadline, f"{key} does not offer {words!r}\n{screen}"
        terminal.keys(key)
        with suppress(AssertionError):
            terminal.until(words, seconds=5.0)


def stamps(screen: str) -> dict[str, float]:
    """Epoch seconds by step, of those with a time beside them."""
    found: dict[str, float] = {}
    begun: float | None = None
    for step, clock, span in _STEP.findall(" ".join(_lines(screen))):
        if clock:
            begun = found[step] = _moment(clock)
        elif span and begun is not None:
            found[step] = begun + sum(
                float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)([hms])", span)
            )
    return found


def _lines(screen: str) -> Sequence[str]:
    lines = (line.strip() for line in screen.splitlines())
    return [one for one in lines if " ── " in one or one.startswith("── ")]


def _moment(clock: str) -> float:
    """The last moment that this clock can mean."""
    now = datetime.now(UTC)
    hours, minutes, seconds = map(int, clock.split(":"))
    then = now.replace(hour=hours, minute=minutes, second=seconds, microsecond=0).timestamp()
    return then if then <= now.timestamp() + 60 else then - 86_400.0


def agree(screen: str, truth: Mapping[str, float]) -> None:
    """Each stamp on the screen is the objects' time; a step that was reached before *asked* was noted is
    shown as at once. Each of `truth` is on the screen."""
    shown = stamps(screen)
    missing = [step for step in truth if step not in shown]
    assert not missing, f"no time beside {missing}\n{screen}"
    for step, seconds in truth.items():
        meant = max(seconds, shown["asked"]) if "asked" in shown else seconds
        said = f"{step} is shown as {shown[step] - meant:+.1f} s from its object\n{screen}"
        assert abs(shown[step] - meant) <= CUT_SECONDS, said


def seconds_of(text: str) -> float:
    """A time as the API writes it."""
    return datetime.fromisoformat(text).timestamp()


def since(tree: Tree, condition: str) -> float:
    """Since when the object says that this is true."""
    (found,) = [one for one in tree["status"]["conditions"] if one["type"] == condition]
    assert found["status"] == "True", found
    return seconds_of(found["lastTransitionTime"])


def born(tree: Tree) -> float:
    return seconds_of(tree["metadata"]["creationTimestamp"])


def asked(api: Api, folder: Path, path: str) -> float:
    """When the change was asked for, by the Lease that its first call took; the call to `path` came soon
    after, as long as a busy machine takes for it."""
    held = [one for one in api.items(LEASES) if one["metadata"]["name"].startswith("gpu-cockpit-")]
    at = max(seconds_of(one["spec"]["acquireTime"]) for one in held)
    assert -CUT_SECONDS <= sent(folder, path) - at <= SENT_SECONDS, held
    return at


def sent(folder: Path, path: str) -> float:
    """When the call to this path returned, by the last audit line of it."""
    (file,) = folder.rglob("audit.jsonl")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    told = [one for one in lines if one["step"] == "outcome" and one["path"] == path]
    assert told and told[-1]["state"] == "done", lines
    return float(told[-1]["at_seconds"])


def sets_the_maximum(terminal: Terminal, pool: str, before: int, after: int) -> None:
    """`M` on the page of the pool, to the yes."""
    terminal.keys("M")
    terminal.until(f"Maximum of {pool}")
    terminal.keys("C-u")
    terminal.type(str(after))
    terminal.keys("C-s")
    word = "Raise" if after > before else "Lower"
    terminal.until(f"{word} the maximum of pool {pool} from {before} to {after}", "would accept")
    terminal.keys("y")
