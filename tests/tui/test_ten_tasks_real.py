"""Ten tasks of a day on the default demo, by keys alone, from an empty configuration: how many keys it takes.

What is pressed is what the screen shows at that moment. Each step waits for its text, none for a time.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.tui.terminal import Terminal

pytestmark = [
    pytest.mark.real,
    pytest.mark.waits,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux on PATH"),
]
SECONDS = 180.0
LARGE, MOST_OF_A_LARGE_JOB, MOST = "4x8 with queue, claim, env, git", 90, 300
TYPED = re.compile(r"│ +([^│]+?) and enter \w+  esc no")
DRY_RUN = "server: the cluster would accept it"
CURSOR = "▌"


def line_of(lines: Sequence[str], text: str) -> int:
    """The first of the lines that holds it, -1 for none."""
    return next((index for index, line in enumerate(lines) if text in line), -1)


def _is_answered(again: str, screen: str) -> bool:
    """Whether the question is gone, or asks again because the plan has another effect by now."""
    return " esc no" not in screen or again in screen


def _has_come(wanted: tuple[str, ...], screen: str) -> bool:
    return " esc no" in screen or all(text in screen for text in wanted)


def _row(screen: str) -> tuple[int, str]:
    """The row under the cursor: where, and what it says but for numbers and curves. Rows move."""
    lines = screen.splitlines()
    at = line_of(lines, CURSOR)
    return at, re.sub(r"[^A-Za-z/-]+", " ", lines[at])[:60]


def _is_off(row: tuple[int, str], screen: str) -> bool:
    return _row(screen) != row


class Person(Terminal):
    """A terminal whose keys are counted."""

    pressed = 0

    def keys(self, *keys: str) -> None:
        self.pressed += len(keys)
        super().keys(*keys)

    def type(self, text: str) -> None:
        self.pressed += len(text)
        super().type(text)

    def onto(self, name: str) -> None:
        """Up or down to the row that holds `name`, a key at a time."""
        for _ in range(40):
            seen = self.until(CURSOR, name)
            row, wanted = _row(seen), line_of(seen.splitlines(), name)
            if row[0] == wanted:
                return
            self.keys("Up" if wanted < row[0] else "Down")
            self.until_that(partial(_is_off, row), f"off {row}")
        raise AssertionError(f"not onto {name}\n{self.screen()}")

    def place(self, key: str, name: str) -> None:
        """The place of that key."""
        self.keys(key)
        self.until(f"▎{key} {name}")

    def agree(self, *then: str) -> None:
        """Read what the server says of the plan, and agree; where jobs are preempted, by the typed words.
        Until `then` is shown: between two questions, while the plan is made again, none is on the screen."""
        for _ in range(5):
            seen = self.until(f"✓ {DRY_RUN}", " esc no", seconds=SECONDS)
            if wanted := TYPED.search(seen):
                self.type(wanted[1])
                self.until(f"  {wanted[1]} ", without=["  type "])
            self.keys("Enter" if wanted else "y")
            again = "  type " if wanted else "nothing was done"
            seen = self.until_that(partial(_is_answered, again), "an answer", SECONDS)
            if then:
                seen = self.until_that(partial(_has_come, then), f"{then} or another question", SECONDS)
            if " esc no" not in seen:
                return
        raise AssertionError(f"the cluster moves too fast\n{self.screen()}")

    def form(self, *, presses: str = "N") -> None:
        self.keys(presses)
        self.until("^s submit")

    def submit(self) -> None:
        """`ctrl+s` and yes; the page of the job opens."""
        self.keys("C-s")
        self.agree()
        self.until("K kill", "esc back", seconds=SECONDS)


def idle_gpus_back(me: Person) -> None:
    me.onto("students/folding-0")
    me.keys("R")
    me.agree()
    me.until("to be reclaimed in")
    me.keys("P")
    me.agree()
    me.until("suspended: it starts once it is resumed")


def large_job(me: Person) -> None:
    me.place("2", "Jobs")
    me.form()
    me.type("llama")
    me.keys("Tab")
    me.type("hub/train:1.4")
    me.keys("Tab", "Tab")
    me.type("LR=0.1")
    me.keys("NPage", "r")
    me.until("research · main")
    me.keys("NPage", "4", "Tab", "8", "NPage", "c")
    me.until("corpus")
    me.keys("Right")
    me.until("corpus:/data")
    me.keys("Tab")
    me.type("https://git.corp/llm")
    me.until("4 x 8 GPUs = 32", "LR=0.1", "git.corp/llm")
    me.submit()
    me.until("research/llama", "0/32 allocated", "queued")


def beyond_the_quota(me: Person) -> None:
    me.form()
    me.type("wide")
    me.keys("Tab")
    me.type("t:1")
    me.keys("NPage", "r")
    me.until("research · main")
    me.keys("NPage", "8", "Tab", "2")
    me.until("8 x 2 GPUs = 16")
    me.submit()
    me.until("research/wide", "queued", "quota")
    me.keys("w")
    me.until("What helps", "Wait", "It follows from queue research")
    me.keys("Escape")
    me.until("K kill", "esc back")
    me.keys("I")
    me.until("priority high", "enter choose")
    me.keys("Enter")
    me.agree("running", "8/8 ready")


def clone_with_another_command(me: Person) -> None:
    me.form(presses="C")
    me.keys("C-f")
    me.until("type to search")
    me.type("com")
    me.until("what every rank runs")
    me.keys("Enter")
    me.until("Command", "python /app/train.py")
    me.type(" -v")
    me.submit()
    me.until("research/wide-r2")


def preset(me: Person) -> None:
    """The values of a small job are kept by a name, and make another."""
    me.form()
    me.keys("Tab")
    me.type("t:2")
    me.keys("F4")
    me.until("type a name to keep these values")
    me.type("mine")
    me.keys("Enter")
    me.until("mine", without=["type a name to keep"])
    me.keys("Escape")
    me.until("K kill")
    me.form()
    me.keys("F4")
    me.until("mine", "type a name to keep these values")
    me.type("mi")
    me.keys("Enter")
    me.until("t:2 ·", without=["type a name to keep"])
    me.type("kept")
    me.submit()
    me.until("default/kept")


def elastic(me: Person) -> None:
    """An elastic job gets a third worker while it runs."""
    me.form()
    me.keys("F2")
    me.until("mpijob-elastic", "type to search")
    me.type("el")
    me.keys("Enter")
    me.until("Horovod elastic")
    me.type("grows")
    me.keys("Tab")
    me.type("t:1")
    me.submit()
    me.until("2/2 ready", "running", seconds=SECONDS)
    me.keys("Z")
    me.until("Workers of grows")
    me.keys("BSpace", "3", "C-s")
    me.agree()
    me.until("3/3 ready", seconds=SECONDS)


def ten_killed(me: Person) -> None:
    me.place("2", "Jobs")
    me.keys(*["Space"] * 10)
    me.until("10 marked")
    me.keys("K")
    me.until("Kill 10 jobs")
    me.agree()
    me.until("Jobs", without=["10 marked"])


def pool_up_and_back(me: Person) -> None:
    me.place("5", "Pools")
    me.onto("t4")
    me.keys("S")
    me.until("Nodes of t4")
    me.keys("BSpace", "6", "C-s")
    me.agree()
    me.until("▎5 Pools", "4→6")
    me.keys("Enter")
    me.until("asked", "accepted")
    me.until("GPUs up +", "· 6 nodes", seconds=SECONDS)
    me.keys("S")
    me.until("Nodes of t4")
    me.keys("BSpace", "4")
    me.until("all empty", seconds=SECONDS)
    me.keys("C-s")
    me.agree()
    me.until("· 4 nodes", seconds=SECONDS)


def error_in_a_log(me: Person) -> None:
    me.place("2", "Jobs")
    me.keys("/")
    me.until("field:value")
    me.type("spee")
    me.keys("Enter")
    me.until_line([CURSOR], "students/speech")
    me.keys("l")
    me.until("2 members")
    me.keys("C-f")
    me.until("upper or lower case")
    me.type("err")
    me.keys("Enter")
    me.until("RuntimeError")
    me.keys("v")
    me.until("Save the lines")
    me.keys("Enter")
    me.until("saved")
    assert any("RuntimeError" in path.read_text() for path in me.folder.glob("*.log"))


def node_drained(me: Person) -> None:
    me.place("3", "Nodes")
    me.onto("h100-0 ")  # which has a job: an empty node is drained at once
    me.keys("D")
    me.until("drain after its jobs")
    me.keys("Enter")
    me.agree()
    me.until_one("drains after", "◂ cordoned", "◂ drained")


TASKS: dict[str, Callable[[Person], None]] = {
    "idle GPUs back": idle_gpus_back,
    LARGE: large_job,
    "beyond the quota, read, start": beyond_the_quota,
    "clone with another command": clone_with_another_command,
    "preset kept and used": preset,
    "elastic": elastic,
    "ten killed": ten_killed,
    "pool up, followed, back": pool_up_and_back,
    "logs of all ranks, error found, saved": error_in_a_log,
    "node drained after its job": node_drained,
}


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_ten_tasks_by_keys(size: tuple[int, int], tmp_path: Path) -> None:
    counts: dict[str, int] = {}
    with Person(tmp_path, ["demo"], {"TMPDIR": str(tmp_path)}, size, is_fresh=True) as me:
        me.until("live", "students/folding-0", seconds=SECONDS)
        for name, task in TASKS.items():
            before = me.pressed
            task(me)
            counts[name] = me.pressed - before
            print(f"{counts[name]:>4}  {name}", flush=True)
    print(f"{sum(counts.values()):>4}  in all at {size[0]}x{size[1]}")
    assert counts[LARGE] <= MOST_OF_A_LARGE_JOB
    assert sum(counts.values()) <= MOST
