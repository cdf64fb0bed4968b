"""Compile the bed's programs from pinned Go modules into the per-user cache.

`ensure(name)` answers with the program's path, building it first when the cache lacks it. Each program has
its own lock, so a test run that needs only the API server does not wait for the rest.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.bed.binaries import BINARIES, REQUIRED, Binary, Manifests
from tests.bed.cache import BedError, cache_root, locked
from tests.bed.toolchain import ensure_go

Report = Callable[[str], None]


@dataclass(frozen=True)
class Built:
    """Where one program lies and how it came there; `seconds` is what this call spent."""

    name: str
    path: Path
    how: str  # "cached", "built" or "KUBEBUILDER_ASSETS"
    seconds: float


def quiet(line: str) -> None:
    """Reports nothing."""


def folder(binary: Binary, root: Path | None = None) -> Path:
    """The cache folder of one program and its manifests."""
    return (root or cache_root()) / binary.key


def from_assets(binary: Binary) -> Path | None:
    """The program in `$KUBEBUILDER_ASSETS` (envtest's folder), when that is set and holds it."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if not assets or not binary.in_kubebuilder_assets:
        return None
    found = Path(assets) / binary.program
    return found if os.access(found, os.X_OK) else None


def cached(name: str, root: Path | None = None) -> Path | None:
    """The program when it is there already, else None; never builds."""
    binary = BINARIES[name]
    if found := from_assets(binary):
        return found
    path = folder(binary, root) / binary.program
    return path if path.exists() else None


def manifests_dir(name: str, root: Path | None = None) -> Path:
    """The folder with the YAML files that came with a program (made by `ensure`)."""
    return folder(BINARIES[name], root) / "manifests"


def ensure(name: str, report: Report = quiet, root: Path | None = None) -> Built:
    """The program `name`, built when it must be. Raises BedError with the compiler's last lines."""
    binary = BINARIES[name]
    started = time.monotonic()
    if found := from_assets(binary):
        return Built(name, found, "KUBEBUILDER_ASSETS", 0.0)
    base = root or cache_root()
    path = folder(binary, base) / binary.program
    if path.exists():
        return Built(name, path, "cached", 0.0)
    lock = base / "locks" / f"{name}.lock"
    with locked(lock, lambda: report(f"{name}: another process is building it, waiting")):
        if path.exists():
            return Built(name, path, "built elsewhere", time.monotonic() - started)
        report(f"{name}: compiling")
        _build(binary, base, report)
    seconds = time.monotonic() - started
    report(f"{name}: built in {seconds:.0f} s")
    return Built(name, path, "built", seconds)


def ensure_all(
    names: Iterable[str] = REQUIRED, report: Report = quiet, root: Path | None = None
) -> list[Built]:
    """Every named program, in the order of `BINARIES` (the API server early, the slowest last)."""
    wanted = set(names)
    return [ensure(name, report, root) for name in BINARIES if name in wanted]


def _build(binary: Binary, base: Path, report: Report) -> None:
    go = ensure_go(base, report)
    target = folder(binary, base)
    target.mkdir(parents=True, exist_ok=True)
    for group in binary.manifests:
        _copy_manifests(go, binary, group, target / "manifests")
    # The name appears only when the program is whole.
    unfinished = target / f".{binary.program}.{os.getpid()}"
    command = [go, "build", "-trimpath", f"-ldflags={binary.ldflags}", "-o", str(unfinished), binary.package]
    done = _go(command, binary)
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        last = " / ".join((done.stderr.strip().splitlines() or ["no output"])[-3:])
        raise BedError(f"{binary.name} does not compile ({last}): check the network and {binary.module_dir}")
    unfinished.rename(target / binary.program)


def _go(command: list[str], binary: Binary) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
    environment.pop("GOOS", None)
    environment.pop("GOARCH", None)
    return subprocess.run(
        ["nice", "-n", "5", *command],
        cwd=binary.module_dir,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _copy_manifests(go: str, binary: Binary, group: Manifests, target: Path) -> None:
    download = _go([go, "mod", "download", group.module], binary)
    found = _go([go, "list", "-m", "-f", "{{.Dir}}", group.module], binary)
    source = Path(found.stdout.strip())
    if download.returncode != 0 or found.returncode != 0 or not source.is_dir():
        why = (download.stderr + found.stderr).strip().splitlines() or ["no output"]
        raise BedError(f"Go module {group.module} cannot be had ({why[-1]}): check the network and GOPROXY")
    for pattern in group.patterns:
        files = sorted(source.glob(pattern))
        if not files:
            raise BedError(
                f"Go module {group.module} holds no {pattern}: check the version in {binary.folder}"
            )
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
