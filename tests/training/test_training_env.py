"""The builder of the training environment, with commands that only leave what the real ones would."""

import hashlib
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.sim import training_env as env

Surroundings = Mapping[str, str]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Surroundings:
    """A cache of its own, on a machine that has what is needed."""
    monkeypatch.setattr(env, "_check", lambda _: None)
    monkeypatch.setattr(env, "unpack", lambda *_: None)
    return {"GPU_COCKPIT_CACHE": str(tmp_path / "cache")}


class Commands:
    """Leaves what venv and pip would, and can fail at one of them."""

    def __init__(self, fails_at: str = "") -> None:
        self.fails_at = fails_at
        self.ran: list[str] = []

    def __call__(self, command: Sequence[str], _: Mapping[str, str]) -> None:
        said = " ".join(command)
        self.ran.append(said)
        if self.fails_at and self.fails_at in said:
            raise BadInput("it failed")
        if "-m venv" in said:
            (Path(command[-1]) / "bin").mkdir()
        elif " wheel " in said:
            built = Path(command[command.index("-w") + 1])
            built.mkdir()
            (built / "horovod.whl").touch()
        elif said.endswith(".whl"):
            (Path(command[0]).parent / "horovodrun").touch()


def test_it_is_made_once_and_found(cache: Surroundings) -> None:
    assert env.ready(cache) is None
    assert env.COMMAND in (env.missing(cache) or "")
    told: list[str] = []
    programs = env.make(told.append, cache, Commands())
    assert env.ready(cache) == programs
    assert env.missing(cache) is None
    assert [line[:3] for line in told] == ["1/4", "2/4", "3/4", "4/4"]
    again = Commands()
    assert env.make(told.append, cache, again) == programs
    assert again.ran == []


@pytest.mark.parametrize("step", ["venv", "torch==", " wheel ", ".whl", "--check-build", "import horovod"])
def test_a_failure_leaves_nothing_that_could_be_taken_for_it(cache: Surroundings, step: str) -> None:
    with pytest.raises(BadInput):
        env.make(lambda _: None, cache, Commands(step))
    assert env.ready(cache) is None
    assert not list(env.folder(cache).glob(f"{env.key()}-*"))
    assert env.make(lambda _: None, cache, Commands()) == env.ready(cache)


def test_horovod_is_compiled_once_for_its_versions(cache: Surroundings) -> None:
    with pytest.raises(BadInput):
        env.make(lambda _: None, cache, Commands("--check-build"))
    again = Commands()
    env.make(lambda _: None, cache, again)
    assert not [said for said in again.ran if " wheel " in said]


def test_an_environment_of_other_versions_is_not_taken(
    cache: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.make(lambda _: None, cache, Commands())
    monkeypatch.setattr(env, "CHANGE", env.CHANGE + 1)
    assert env.ready(cache) is None


def test_the_second_of_two_waits_and_takes_what_the_first_made(cache: Surroundings) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Commands):
        def __call__(self, command: Sequence[str], surroundings: Mapping[str, str]) -> None:
            begun.set()
            assert go_on.wait(60)
            super().__call__(command, surroundings)

    first, second, told = Slow(), Commands(), []

    def waits(line: str) -> None:
        told.append(line)
        go_on.set()

    one = threading.Thread(target=env.make, args=(lambda _: None, cache, first))
    one.start()
    assert begun.wait(60)
    programs = env.make(waits, cache, second)
    one.join()
    assert told == ["somebody else is making it: waiting"]
    assert second.ran == []
    assert programs == env.ready(cache)


def test_a_build_that_is_stopped_takes_its_commands_along(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = f"sleep 60 & echo $! > {started}.half; mv {started}.half {started}; wait"
    code = (
        "import signal, sys; from cockpit.sim import training_env as env;"
        "signal.signal(signal.SIGTERM, signal.default_int_handler);"
        f"env._runner(open({str(tmp_path / 'log')!r}, 'wb'))(['sh', '-c', {script!r}], {{}})"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        while not started.exists():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait() != 0
    stat = Path(f"/proc/{started.read_text().strip()}/stat")
    begun = time.monotonic()
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() - begun < 30, "it lives on"


def test_a_build_that_is_stopped_as_a_command_begins_takes_it_along(tmp_path: Path) -> None:
    """The signal comes while the command is being started, at the latest moment that is before its number is
    known."""
    code = (
        "import os, signal, subprocess; from cockpit.sim import training_env as env;"
        "signal.signal(signal.SIGTERM, signal.default_int_handler);"
        "made = subprocess.Popen._execute_child;"
        "late = lambda self, *a: (made(self, *a), print(self.pid, flush=True), os.kill(os.getpid(), 15));"
        "subprocess.Popen._execute_child = late;"
        f"env._runner(open({str(tmp_path / 'log')!r}, 'wb'))(['sleep', '60'], {{}})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "KeyboardInterrupt" in done.stderr
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


def test_a_command_that_fails_names_the_log(tmp_path: Path) -> None:
    with (tmp_path / "build.log").open("wb") as log, pytest.raises(BadInput, match=r"failed; .*build\.log"):
        env._runner(log)(["sh", "-c", "echo no; exit 3"], {})
    assert (tmp_path / "build.log").read_text().endswith("no\n")


def _source(tmp_path: Path, standard: str) -> Path:
    top = tmp_path / f"horovod-{env.HOROVOD}"
    (top / "horovod" / "torch").mkdir(parents=True)
    for folder in (top, top / "horovod" / "torch"):
        (folder / "CMakeLists.txt").write_text(f"    set(CMAKE_CXX_STANDARD {standard})\n")
    archive = tmp_path / f"horovod-{env.HOROVOD}.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(top, arcname=top.name)
    return archive


def test_the_source_asks_for_cpp_17_afterwards(tmp_path: Path) -> None:
    archive = _source(tmp_path, "14")
    env.unpack(archive, tmp_path / "out", hashlib.sha256(archive.read_bytes()).hexdigest())
    files = sorted((tmp_path / "out").rglob("CMakeLists.txt"))
    assert [file.read_text() for file in files] == ["    set(CMAKE_CXX_STANDARD 17)\n"] * 2


def test_another_source_is_refused(tmp_path: Path) -> None:
    archive = _source(tmp_path, "20")
    with pytest.raises(BadInput, match="the package index hands out another file"):
        env.unpack(archive, tmp_path / "out")
    with pytest.raises(BadInput, match=r"CMakeLists.txt of Horovod .* does not ask for C\+\+14"):
        env.unpack(archive, tmp_path / "out", hashlib.sha256(archive.read_bytes()).hexdigest())


def test_what_is_missing_on_the_machine_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"c\+\+ is missing"):
        env.make(lambda _: None, {"GPU_COCKPIT_CACHE": str(tmp_path)}, Commands())
