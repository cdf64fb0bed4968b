"""The environment in which `local/horovod` trains: torch, TensorBoard, Horovod with Gloo; built once a user.

`python -m cockpit.sim.training_env` makes it (`make train-env` in a checkout). It stands beside what else
outlives a checkout: `$GPU_COCKPIT_CACHE/training`, else `~/.cache/gpu-cockpit/training`.

    KEY                the environment, a link that is made when all else is done
    KEY-xxxxxxxx/      what it leads to: a virtual environment cannot be moved, its programs name its place
    wheels/KEY/        Horovod as built, by versions of Python, torch, Horovod and of our change
    build.log          what the last build printed

pip cannot build Horovod 0.28.1 unaided: it asks for C++14, and torch's headers need C++17
(horovod/horovod#3996; repaired upstream, never released).
"""

import fcntl
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from cockpit.errors import BadInput

COMMAND: Final = "python -m cockpit.sim.training_env"
"""What makes it, for who has the wheel; in a checkout `make train-env`."""
TORCH, HOROVOD = "2.13.0", "0.28.1"
CHANGE: Final = 1
"""Counts our changes to Horovod's source: a wheel that was built with another is not taken."""
SDIST_SHA256 = "92a43f5a94c43907a56805bad15f19700c62ffc83b7ca483f9e104e229f67ef0"
_TOOLS = ("setuptools==79.0.1", "wheel==0.45.1", "cmake==3.31.6", "ninja==1.11.1.4")
"""To build Horovod: its setup.py needs the setuptools of before 80, its CMake files a cmake of before 4."""
_PACKAGES = (f"torch=={TORCH}", "numpy>=2,<3", "tensorboard>=2.19,<3")
_NEEDS_BYTES = 9 * 2**30
_PROGRAMS = ("c++", "make")
_SURROUNDINGS = {
    "HOROVOD_WITH_PYTORCH": "1",
    "HOROVOD_WITHOUT_TENSORFLOW": "1",
    "HOROVOD_WITHOUT_MXNET": "1",
    "HOROVOD_WITHOUT_MPI": "1",
    "HOROVOD_WITH_GLOO": "1",
    "CMAKE_POLICY_VERSION_MINIMUM": "3.5",
}

Run = Callable[[Sequence[str], Mapping[str, str]], None]
"""Run a command with more variables; raises BadInput where it fails."""


def folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where environments of this user are kept. Not made here."""
    env = os.environ if environment is None else environment
    if chosen := env.get("GPU_COCKPIT_CACHE"):
        return Path(chosen) / "training"
    home = env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or Path.home()) / ".cache"
    return Path(home) / "gpu-cockpit" / "training"


def key() -> str:
    """16 hex digits for all that the environment depends on: Python, machine, versions, our change."""
    parts = (*_interpreter(), TORCH, HOROVOD, str(CHANGE), *_TOOLS, *_PACKAGES)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _interpreter() -> tuple[str, ...]:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return sys.implementation.name, version, platform.machine()


def ready(environment: Mapping[str, str] | None = None) -> Path | None:
    """The folder of the environment's programs (horovodrun, torchrun ...); None where there is none."""
    programs = (folder(environment) / key()).resolve() / "bin"
    return programs if (programs / "horovodrun").is_file() else None


def missing(environment: Mapping[str, str] | None = None) -> str | None:
    """The line for who wants to train and cannot yet; None where the environment is ready."""
    if ready(environment) is not None:
        return None
    return f"no training environment: real Horovod is built by `{COMMAND}` (about 5 GB, 5 to 15 minutes)"


def make(
    tell: Callable[[str], None], environment: Mapping[str, str] | None = None, run: Run | None = None
) -> Path:
    """Make the environment where it is missing: the folder of its programs. Raises BadInput, leaving nothing.

    `tell` is called with a line as each part begins. Of two at once the second waits, and takes what the
    first has made.
    """
    base = folder(environment)
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise BadInput(
            f"{base} cannot be made: {error.strerror}; set GPU_COCKPIT_CACHE to another folder"
        ) from None
    with _locked(base / "lock", lambda: tell("somebody else is making it: waiting")):
        if (programs := ready(environment)) is not None:
            return programs
        _check(base)
        for left in base.glob(f"{key()}-*"):
            shutil.rmtree(left, ignore_errors=True)
        place = Path(tempfile.mkdtemp(prefix=f"{key()}-", dir=base))
        try:
            with (base / "build.log").open("wb") as log:
                _fill(place, base / "wheels" / key(), tell, run or _runner(log))
            link = base / "link"
            link.unlink(missing_ok=True)
            link.symlink_to(place.name)
            link.replace(base / key())
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return place / "bin"


@contextmanager
def _locked(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _check(base: Path) -> None:
    """What would fail after minutes is told at once."""
    if sys.platform != "linux":
        raise BadInput(f"the training environment is built on Linux only, this is {sys.platform}")
    if absent := [program for program in _PROGRAMS if shutil.which(program) is None]:
        raise BadInput(f"Horovod is compiled, and {absent[0]} is missing: install a C++ compiler and make")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        raise BadInput("Horovod is compiled, and Python.h is missing: install Python's headers (python3-dev)")
    free = shutil.disk_usage(base).free
    if free < _NEEDS_BYTES:
        raise BadInput(
            f"{base} has {free / 2**30:.1f} GiB free, {_NEEDS_BYTES >> 30} are needed: "
            "set GPU_COCKPIT_CACHE to a folder with more"
        )


def _fill(place: Path, wheels: Path, tell: Callable[[str], None], run: Run) -> None:
    python = str(place / "bin" / "python")
    pip = (python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off")
    tell("1/4 virtual environment")
    run((sys.executable, "-m", "venv", str(place)), {})
    run((*pip, *_TOOLS), {})
    tell(f"2/4 torch {TORCH} and TensorBoard: 3 GB to fetch")
    run((*pip, *_PACKAGES), {})
    is_built = _wheel(wheels) is not None
    tell(f"3/4 Horovod {HOROVOD} with Gloo: {'built before' if is_built else 'compiled, the longest part'}")
    if not is_built:
        _build(place, wheels, run)
    run((*pip, str(_wheel(wheels))), {})
    tell("4/4 does it work")
    run((str(place / "bin" / "horovodrun"), "--check-build"), {})
    run((python, "-c", "import horovod.torch, torch.utils.tensorboard"), {"OMP_NUM_THREADS": "1"})


def _wheel(wheels: Path) -> Path | None:
    return next(iter(sorted(wheels.glob("*.whl"))), None)


def _build(place: Path, wheels: Path, run: Run) -> None:
    """Fetch Horovod's source, change it, compile it; the wheel gets its place in one step."""
    python = str(place / "bin" / "python")
    wheels.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".horovod-", dir=wheels.parent) as scratch:
        source, built = Path(scratch) / "source", Path(scratch) / "wheel"
        fetch = ("download", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "-d", scratch)
        run((python, "-m", "pip", *fetch, f"horovod=={HOROVOD}"), _SURROUNDINGS)
        unpack(Path(scratch) / f"horovod-{HOROVOD}.tar.gz", source)
        surroundings = {
            **_SURROUNDINGS,
            "PATH": f"{place / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "MAKEFLAGS": f"-j{os.cpu_count() or 1}",
        }
        wheel = ("wheel", "--no-deps", "--no-build-isolation", "-w", str(built))
        run((python, "-m", "pip", *wheel, str(source / f"horovod-{HOROVOD}")), surroundings)
        built.replace(wheels)


def unpack(archive: Path, into: Path, sha256: str = SDIST_SHA256) -> None:
    """Unpack Horovod's source and have it compiled as C++17. Raises BadInput where it is another source."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != sha256:
        raise BadInput(
            f"{archive.name} has the SHA-256 {found}, not {sha256}: the package index hands out another file"
        )
    with tarfile.open(archive) as source:
        source.extractall(into)  # known to the byte, so it needs no filter, which 3.11.2 has not
    for name in ("CMakeLists.txt", "horovod/torch/CMakeLists.txt"):
        file = into / f"horovod-{HOROVOD}" / name
        text = file.read_text()
        before, after = "set(CMAKE_CXX_STANDARD 14)", "set(CMAKE_CXX_STANDARD 17)"
        if before not in text:
            raise BadInput(
                f"{name} of Horovod {HOROVOD} does not ask for C++14, where it is to ask for C++17"
            )
        file.write_text(text.replace(before, after))


def _runner(log: IO[bytes]) -> Run:
    """Commands whose output goes to `log`."""

    def run(command: Sequence[str], surroundings: Mapping[str, str]) -> None:
        log.write(f"$ {' '.join(command)}\n".encode())
        log.flush()
        # Stopped while it begins, the command would have no number here: a signal waits until it has.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **surroundings},
                process_group=0,
            )
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                code = process.wait()
            except BaseException:  # whoever stops this stops the compilers, too
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if code:
            program = " ".join([Path(command[0]).name, *command[1:4]])
            raise BadInput(
                f"the training environment was not made: `{program} ...` failed; its words are in {log.name}"
            )

    return run


def main() -> int:
    """Make it and tell of it; the exit code."""
    begun = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - begun:5.0f} s  {line}\n")
        sys.stdout.flush()

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        programs = make(tell)
    except BadInput as error:
        sys.stderr.write(f"{error.sentence}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; nothing was left but what is kept for the next try\n")
        return 130
    tell(f"ready: {programs}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
