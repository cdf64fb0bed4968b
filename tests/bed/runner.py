"""The process that owns a bed's parts: starts them in order, sets the cluster up, answers commands, ends all.

It runs as `python -m tests.bed.runner RUN_DIR PARENT_PIDFD`, in a namespace of its own as process 1, or
plainly beside its parent. It writes one JSON object a line to standard output (what is ready, what failed)
and ends when its standard input closes, when its parent dies, or on SIGTERM.
"""

import json
import os
import select
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from tests.bed import parts, setup
from tests.bed.cache import BedError
from tests.bed.layout import Layout
from tests.bed.part import Part, Running
from tests.bed.sandbox import outer_pid, prepare_inside

_POLL_SECONDS = 0.1


class _Stop(BaseException):
    """Asked to end."""


class Runner:
    """Owns the running parts of one bed."""

    def __init__(self, layout: Layout, say: Callable[..., None]) -> None:
        self._layout = layout
        self._say = say
        self._running: dict[str, Running] = {}

    def up(self) -> None:
        """Starts all waves; the cluster is set up after one while the next starts. Raises BedError."""
        before: tuple[str, ...] = ()
        for wave in parts.waves(self._layout):
            described = [parts.describe(name, self._layout) for name in wave]
            started = self._start(described)
            self._set_up_after(before)
            self._await(described, started)
            before = wave
        self._set_up_after(before)

    def _set_up_after(self, wave: tuple[str, ...]) -> None:
        started = time.monotonic()
        for step in setup.steps_after(wave, self._layout):
            step()
        if (spent := time.monotonic() - started) > 0.01:
            self._say(event="set up", after=list(wave), seconds=round(spent, 2))

    def _start(self, wave: list[Part]) -> float:
        started = time.monotonic()
        for part in wave:
            self._running[part.name] = Running(part, self._layout.logs)
        return started

    def _await(self, wave: list[Part], started: float) -> None:
        waiting = list(wave)
        while waiting:
            for part in list(waiting):
                self._running[part.name].check_alive()
                reason = part.probe()
                spent = time.monotonic() - started
                if reason is None:
                    waiting.remove(part)
                    self._say(event="ready", part=part.name, seconds=round(spent, 2))
                elif spent > part.deadline_seconds:
                    log = self._running[part.name].log
                    raise BedError(f"{part.name} is not ready after {spent:.0f} s: {reason} (log {log})")
            if waiting:
                self._check_asked_to_end(_POLL_SECONDS)

    def _check_asked_to_end(self, seconds: float) -> None:
        readable, _, _ = select.select([0, *_PARENT], [], [], seconds)
        if readable:
            raise _Stop

    def serve(self, control: socket.socket) -> None:
        """Until asked to end: answers commands on the control socket and tells of parts that died."""
        told: set[str] = set()
        watched: list[int | socket.socket] = [0, control, *_PARENT]
        while True:
            readable, _, _ = select.select(watched, [], [], 0.5)
            for one in readable:
                if one is not control:
                    raise _Stop
                self._answer(control)
            _reap_strangers({running.process.pid for running in self._running.values()})
            for name, running in self._running.items():
                if running.process.poll() is None:
                    told.discard(name)
                elif name not in told:
                    told.add(name)
                    self._say(event="died", part=name, sentence=f"{name} died: {running.tail()}")

    def _answer(self, control: socket.socket) -> None:
        connection, _ = control.accept()
        with connection:
            connection.settimeout(5)
            try:
                asked = json.loads(connection.makefile("rb").readline())
                reply = self._obey(asked)
            except (BedError, OSError, ValueError, KeyError) as error:
                reply = {"error": str(error)}
            try:
                connection.sendall(json.dumps(reply).encode() + b"\n")
            except OSError:
                return  # whoever asked has gone

    def _obey(self, asked: dict[str, str]) -> dict[str, object]:
        match asked["do"]:
            case "signal":
                running = self._running[asked["part"]]
                running.process.send_signal(signal.Signals[f"SIG{asked['signal']}"])
                return {}
            case "restart":
                old = self._running[asked["part"]]
                old.kill()
                self._await([old.part], self._start([old.part]))
                return {}
            case "pids":
                return {name: running.process.pid for name, running in self._running.items()}
            case other:
                raise BedError(f"the bed knows no command {other!r}")

    def end(self) -> None:
        """Kills every part, the youngest first."""
        for running in reversed(self._running.values()):
            running.kill()


_PARENT: list[int] = []


def _reap_strangers(mine: set[int]) -> None:
    """As process 1, bury orphans (tmux servers, what tests left behind)."""
    if os.getpid() != 1:
        return
    while True:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid in mine:
            return
        os.waitpid(found.si_pid, 0)


def _say(**fields: object) -> None:
    try:
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        raise _Stop from error


def _on_signal(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _Stop


def main(arguments: list[str]) -> int:
    """Returns 0 after an orderly end, 1 when the bed could not be brought up."""
    run_dir, parent = Path(arguments[0]), int(arguments[1])
    _PARENT.append(parent)
    signal.signal(signal.SIGTERM, _on_signal)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    layout = Layout.load(run_dir)
    runner = Runner(layout, _say)
    try:
        if layout.namespaced:
            _say(event="init", pid=outer_pid())
            for note in prepare_inside(layout):
                _say(event="note", sentence=note)
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        control.bind(str(layout.control_socket))
        control.listen(8)
        runner.up()
        _say(event="up")
        runner.serve(control)
    except _Stop:
        return 0
    except BedError as error:
        _say(event="failed", sentence=str(error))
        return 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        runner.end()
        if select.select([parent], [], [], 0)[0]:
            # Nobody is left to tidy up. Nothing is mounted inside the folder, so this stays inside it.
            shutil.rmtree(run_dir, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
