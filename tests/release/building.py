"""Builds both distributions from a commit: sdists from its tree, wheels from the sdists."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hatch_build import PURE
from tests.release.bill_of_materials import COCKPIT, DISTRIBUTIONS, ROOT, Distribution
from tests.release.environments import Failed, environment, make_environment, run

TOOLS = ROOT / ".venv-release"
TOOLS_LOCK = ROOT / "requirements/release.lock"


@dataclass(frozen=True)
class Commit:
    """What is released: its hash, and its time in seconds since 1970, which becomes that of all files."""

    digest: str
    epoch_seconds: int


def head() -> Commit:
    """The commit that is checked out."""
    digest, seconds = git("log", "-1", "--format=%H %ct").split()
    return Commit(digest, int(seconds))


def git(*words: str) -> str:
    """What git prints about the checkout."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def tools() -> Path:
    """The `bin` of an environment with exactly what requirements/release.lock names."""
    stamp = TOOLS / ".lock"
    lock = TOOLS_LOCK.read_text()
    if not stamp.exists() or stamp.read_text() != lock:
        make_environment(TOOLS, "--require-hashes", "-r", str(TOOLS_LOCK))
        stamp.write_text(lock)
    return TOOLS / "bin"


def export(tree: str, to: Path) -> None:
    """The files of a commit, and nothing that lies beside them in the checkout."""
    to.mkdir(parents=True)
    archive = to.with_suffix(".tar")
    git("archive", "-o", str(archive), tree)
    shutil.unpack_archive(archive, to)


def hatchling(
    target: str,
    folder: Path,
    to: Path,
    epoch: int,
    more: Mapping[str, str] | None = None,
    python: Path = TOOLS / "bin/python",
) -> Path:
    """Build one archive into the empty folder `to`, by the hatchling of that Python; its path."""
    settings = environment(folder) | {"SOURCE_DATE_EPOCH": str(epoch), **(more or {})}
    run([str(python), "-m", "hatchling", "build", "-t", target, "-d", str(to)], folder, settings)
    (made,) = to.iterdir()
    return made


def unpacked(sdist: Path, to: Path) -> Path:
    """The one folder that is in a source distribution."""
    shutil.unpack_archive(sdist, to)
    (folder,) = to.iterdir()
    return folder


def with_platform_tag(wheel: Path, to: Path, epoch: int) -> Path:
    """The wheel under the manylinux or musllinux tag that its library allows. Raises Failed where none."""
    path = f"{TOOLS / 'bin'}{os.pathsep}{os.environ['PATH']}"
    settings = environment(to.parent) | {"SOURCE_DATE_EPOCH": str(epoch), "PATH": path}
    run([str(TOOLS / "bin/auditwheel"), "repair", "-w", str(to), str(wheel)], to.parent, settings)
    (made,) = to.iterdir()
    return made


def build(distribution: Distribution, source: Path, work: Path, epoch: int) -> list[Path]:
    """The archives of a distribution whose checkout is `source`, made below `work`: the sdist first."""
    sdist = hatchling("sdist", source / distribution.folder, work / "sdist", epoch)
    folder = unpacked(sdist, work / "unpacked")
    wheels = [hatchling("wheel", folder, work / "pure", epoch, {PURE: "1"})]
    if distribution is COCKPIT and sys.platform == "linux":
        native = hatchling("wheel", folder, work / "native", epoch)
        if "-none-any" in native.name:
            raise Failed("the part in C was not compiled: install a C compiler and Python's headers")
        wheels.append(with_platform_tag(native, work / "tagged", epoch))
    return [sdist, *wheels]


def build_all(tree: str, work: Path, epoch: int) -> list[Path]:
    """Every archive of a release, made in a folder that is empty or absent."""
    export(tree, work / "source")
    return [
        path
        for distribution in DISTRIBUTIONS
        for path in build(distribution, work / "source", work / distribution.name, epoch)
    ]


def digests(archives: Sequence[Path]) -> dict[str, str]:
    """File name -> SHA-256 as hexadecimal digits."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}
