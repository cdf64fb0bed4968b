"""Programs of the distribution that tests need (Prometheus, its Alertmanager, tmux).

One that is on PATH is used. Else Debian's packages are fetched and unpacked into the cache (`dpkg -x`): no
service is started and nothing is installed, root or not.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.bed.cache import BedError, cache_root, locked

# Program -> (package, path inside it).
_PACKAGES = {
    "prometheus": ("prometheus", "usr/bin/prometheus"),
    "prometheus-alertmanager": ("prometheus-alertmanager", "usr/bin/prometheus-alertmanager"),
    "tmux": ("tmux", "usr/bin/tmux"),
}


def ensure_program(name: str, report: Callable[[str], None], root: Path | None = None) -> Path:
    """The program's path. Raises BedError with what to install by hand."""
    if found := shutil.which(name):
        return Path(found)
    package, inside = _PACKAGES[name]
    folder = (root or cache_root()) / "debian" / name
    wrapper = folder / "bin" / name
    if wrapper.exists():
        return wrapper
    with locked(folder.parent / f"{name}.lock", lambda: report(f"{name}: another process is fetching it")):
        if not wrapper.exists():
            _unpack(package, folder, report)
            _write_wrapper(folder, inside, wrapper)
    return wrapper


def _unpack(package: str, folder: Path, report: Callable[[str], None]) -> None:
    for program in ("apt-get", "dpkg"):
        if shutil.which(program) is None:
            raise BedError(f"{package} is not on PATH and this is no Debian: install {package} by hand")
    report(f"{package} is not on PATH: unpacking Debian's package into {folder}")
    archives = folder / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    names = _with_missing_dependencies(package)
    done = _apt(["download", *names], archives)
    if done.returncode != 0 and os.geteuid() == 0:
        # Lists may be absent (fresh images) or older than what the mirror still holds.
        _apt(["update"], archives)
        names = _with_missing_dependencies(package)
        done = _apt(["download", *names], archives)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise BedError(f"{package} cannot be fetched ({why}): run `apt-get install {package}`")
    for archive in archives.glob("*.deb"):
        unpacked = subprocess.run(
            ["dpkg", "-x", str(archive), str(folder / "root")], capture_output=True, text=True, check=False
        )
        archive.unlink()
        if unpacked.returncode != 0:
            why = (unpacked.stderr.strip().splitlines() or ["no output"])[-1]
            raise BedError(f"{archive.name} cannot be unpacked ({why}): run `apt-get install {package}`")


def _apt(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["apt-get", "-qq", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
    )


def _with_missing_dependencies(package: str) -> list[str]:
    """The package and those of its libraries that this machine lacks, by apt's own simulation."""
    done = _apt(["install", "--simulate", "--no-install-recommends", package], Path("/"))
    wanted = parse_simulation(done.stdout)
    return [name for name in wanted if name == package or name.startswith("lib")] or [package]


def parse_simulation(text: str) -> list[str]:
    """Package names of the `Inst` lines of `apt-get install --simulate`."""
    return re.findall(r"^Inst (\S+) ", text, re.MULTILINE)


def _write_wrapper(folder: Path, inside: str, wrapper: Path) -> None:
    program = folder / "root" / inside
    if not program.exists():
        raise BedError(f"Debian's package holds no {inside}: install {wrapper.name} by hand")
    root = folder / "root"
    libraries = sorted({file.parent.relative_to(folder) for file in root.rglob("lib*.so*")})
    # Relative to itself, so that a cache that is moved or restored elsewhere still works.
    lines = ["#!/bin/sh", 'here=$(dirname "$(dirname "$(readlink -f "$0")")")']
    if libraries:
        path = ":".join(f"$here/{library}" for library in libraries)
        lines.append(f'export LD_LIBRARY_PATH="{path}"')
    lines.append(f'exec "$here/root/{inside}" "$@"')
    wrapper.parent.mkdir(exist_ok=True)
    unfinished = wrapper.with_suffix(".new")
    unfinished.write_text("\n".join(lines) + "\n")
    unfinished.chmod(0o755)
    unfinished.rename(wrapper)
