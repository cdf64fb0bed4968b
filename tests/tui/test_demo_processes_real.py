"""A real command in the demo, by keys alone: it runs, its log streams, a shell opens, a kill ends it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.demo_leftovers import Leftovers
from tests.tui.form_keys import fill
from tests.tui.on_the_bed import quits, until
from tests.tui.terminal import Terminal

pytestmark = pytest.mark.real

COMMAND = 'bash -c "sleep 86397 & while true; do echo line $((++i)) on $HOSTNAME; sleep 0.5; done"'
SIZES = ((80, 24), (200, 60))


@pytest.fixture(params=SIZES, ids=[f"{width}x{height}" for width, height in SIZES])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """The demo, warm, in a terminal of that size, with folders of its own."""
    (tmp_path / "tmp").mkdir()
    environment = {"TMPDIR": str(tmp_path / "tmp"), "SHELL": "/bin/sh"}
    with Terminal(tmp_path, ["demo", "--warm", "5"], environment, size=request.param) as opened:
        opened.until("live")
        yield opened


def submit(terminal: Terminal, name: str) -> None:
    """`N`, the template for a batch Job, its fields, and yes."""
    terminal.keys("2")
    terminal.until("State")
    terminal.keys("N")
    terminal.until("Name *")
    terminal.keys("F2")
    terminal.until("type to search")
    terminal.type("job")
    terminal.until(without=("type to search",))
    terminal.keys("Enter")
    terminal.until("new job", "Name *", without=("esc leave",))
    fill(terminal, {"Name": name, "Namespace": "default", "Image": "local/shell", "Command": COMMAND})
    terminal.keys("C-s")
    terminal.until(f"Submit job default/{name}")
    terminal.keys("y")
    terminal.until(f"default/{name}", "Members by rank")


def test_a_real_command_from_the_form_to_its_end(terminal: Terminal, tmp_path: Path) -> None:
    left = Leftovers(tmp_path)
    submit(terminal, "probe")
    terminal.until("● running", "1/1 ready")
    # a fork of the shell that is about to become its next command is a fourth for a moment
    until("launcher, command, child", lambda: True if len(left.processes("86397")) == 3 else None, 10.0)

    # its log, as it is written
    terminal.keys("l")
    terminal.until("logs of", "line 3 on probe-0")
    terminal.until("line 9 on probe-0")
    terminal.keys("Escape")
    terminal.until("Members by rank")

    # a shell in it, of the terminal's size; the screens come back as they were and go on
    terminal.keys("E")
    terminal.until("shell in pod default/probe-0-", "container main", without=("Members by rank",))
    terminal.type('echo "here: $HOSTNAME"; stty size')
    terminal.keys("Enter")
    width, height = terminal.size
    terminal.until("here: probe-0", f"\n{height} {width}\n")
    terminal.type("exit")
    terminal.keys("Enter")
    terminal.until("Members by rank", "● running", without=("shell in pod",))
    assert terminal.is_drawing()
    terminal.keys("?")
    terminal.until("Keys")
    terminal.keys("Escape")
    terminal.until("Members by rank", without=("Places",))

    # a shell that ends in anger is told
    terminal.keys("E")
    until("a second shell", lambda: terminal.screen().count("shell in pod") == 2 or None, 10.0)
    terminal.type("exit 3")
    terminal.keys("Enter")
    terminal.until("ended with exit code 3", "Members by rank")

    terminal.keys("K")
    terminal.until("Kill job default/probe", "1 GPU")
    terminal.keys("y")
    terminal.until("Killed job default/probe")
    until("the command and its child are gone", lambda: None if left.processes("86397") else True, 40.0)

    quits(terminal)
    until("nothing is left", lambda: None if left.found() else True, 1.0)
    assert os.listdir(tmp_path / "tmp") == []
    assert (tmp_path / "state/gpu-cockpit/demo.log").exists()
    verbs = [line.split('"verb":"')[1].split('"')[0] for line in left.audit().splitlines()]
    assert verbs == ["submit", "submit", *["enter"] * 4, "kill", "kill"]
