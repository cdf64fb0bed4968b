"""Runs of the training code in its environment, as processes whose lines are read while they run."""

import contextlib
import os
import re
import select
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import checkpoints

CODE = Path(checkpoints.__file__).parent
PATIENCE_S = 300.0
"""For a machine that does much else; nothing here measures time."""
_PREFIX = re.compile(r"^\[\d+\]<std(?:out|err)>:")


def words(line: str) -> tuple[str, dict[str, str]]:
    """A line's event and its pairs."""
    event, *pairs = shlex.split(line)
    return event, dict(pair.split("=", 1) for pair in pairs)


class TrainingRun:
    """One launcher with its ranks, in a session of its own. A context: what is left at the end is killed."""

    def __init__(self, programs: Path, command: Sequence[str]) -> None:
        env = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "PYTHONPATH": str(CODE),
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": "1",
        }
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            [str(programs / command[0]), *command[1:]],
            cwd=CODE,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.lines.append(_PREFIX.sub("", line.rstrip("\n")))
                self._changed.notify_all()

    def __enter__(self) -> "TrainingRun":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()

    def left(self) -> list[int]:
        """Processes of its session that still run; horovodrun's ranks are in groups of their own."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                state, _, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(session) == self.process.pid and state != "Z":
                found.append(int(folder.name))
        return found

    def all_end(self) -> bool:
        """Wait until none of its processes runs: the launcher may end before its ranks."""
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                descriptor = os.pidfd_open(pid)
                try:
                    select.select([descriptor], [], [], PATIENCE_S)
                finally:
                    os.close(descriptor)
        return not self.left()

    def events(self, event: str) -> list[dict[str, str]]:
        """The pairs of each line of that event so far."""
        with self._changed:
            return [words(line)[1] for line in self.lines if line.split(" ", 1)[0] == event]

    def wait_for(
        self, event: str, holds: Callable[[dict[str, str]], bool] = lambda _: True
    ) -> dict[str, str]:
        """The first line of that event for which `holds`; fails with all that was said where none comes."""
        with self._changed:
            come = self._changed.wait_for(
                lambda: any(holds(one) for one in self._said(event)), timeout=PATIENCE_S
            )
        assert come, f"no {event} in:\n" + "\n".join(self.lines)
        return next(one for one in self.events(event) if holds(one))

    def _said(self, event: str) -> list[dict[str, str]]:
        return [words(line)[1] for line in self.lines if line.split(" ", 1)[0] == event]

    def end(self) -> int:
        """Wait for the end of the launcher and of its lines; the exit code."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code
