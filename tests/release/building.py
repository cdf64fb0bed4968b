"""Builds both distributions from a commit: sdists from its tree, wheels from the sdists."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hatch_build import PURE
from tests.release.bill_of_materials import COCKPIT, DISTRIBUTIONS, ROOT, Distribution
from tests.release.environments import Failed, environment, make_environment, run

TOOLS = ROOT / ".venv-release"
TOOLS_LOCK = ROOT / "requirements/release.lock"
TARGETS = {
    "linux_x86_64": "x86_64-linux-gnu.2.17",
    "linux_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
}
"""Platform of a wheel with the part in C -> how zig calls it. auditwheel does not know musl by the name that
zig links: the tag of those is from here, and `judged_by_tools` looks at what they link."""


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


def headers(to: Path) -> Path:
    """This Python's headers in one folder. Where a distribution keeps the configuration by processor, that of
    this one stands for all: of 64 bits, they differ in no line that the stable ABI reads."""
    plain = Path(sysconfig.get_path("include"))
    shutil.copytree(plain, to)
    here = plain.parent / (sysconfig.get_config_var("MULTIARCH") or "") / plain.name / "pyconfig.h"
    if here.exists():
        shutil.copy(here, to)
    return to


def native_wheel(folder: Path, platform: str, work: Path, epoch: int) -> Path:
    """The wheel with the part in C for one of TARGETS, compiled by zig whatever this machine is."""
    zig = [str(TOOLS / "bin/python"), "-m", "ziglang", "cc", "-target", TARGETS[platform], "-s"]
    settings = {
        "CC": shlex.join([*zig, f"-I{headers(work / 'headers')}"]),
        "ZIG_GLOBAL_CACHE_DIR": str(work / "zig"),
        "_PYTHON_HOST_PLATFORM": platform,
    }
    made = hatchling("wheel", folder, work / "native", epoch, settings)
    if "-none-any" in made.name:
        raise Failed(f"the part in C was not compiled for {platform}: install Python's headers")
    return made if "musl" in platform else with_platform_tag(made, work / "tagged", epoch)


def with_platform_tag(wheel: Path, to: Path, epoch: int) -> Path:
    """The wheel under the manylinux tag that its library allows. Raises Failed where none."""
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
        wheels += [native_wheel(folder, platform, work / platform, epoch) for platform in TARGETS]
    return [sdist, *wheels]


PAGES = (("Homepage", ""), ("Changelog", "blob/HEAD/CHANGELOG.md"), ("Documentation", "tree/HEAD/docs"))
"""What the metadata of both distributions links to, below the address of the repository."""


def add_urls(pyproject: Path, url: str) -> None:
    """Write where the project lives: known to who publishes it, so no file of the repository claims it."""
    text = pyproject.read_text()
    lines = [f'{name} = "{"/".join(filter(None, (url.rstrip("/"), page)))}"\n' for name, page in PAGES]
    pyproject.write_text(f"{text}\n[project.urls]\n{''.join(lines)}")


def build_all(tree: str, work: Path, epoch: int, url: str = "") -> list[Path]:
    """Every archive of a release, made in a folder that is empty or absent; with `url` as its home."""
    export(tree, work / "source")
    for distribution in DISTRIBUTIONS if url else ():
        add_urls(work / "source" / distribution.folder / "pyproject.toml", url)
    return [
        path
        for distribution in DISTRIBUTIONS
        for path in build(distribution, work / "source", work / distribution.name, epoch)
    ]


def digests(archives: Sequence[Path]) -> dict[str, str]:
    """File name -> SHA-256 as hexadecimal digits."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}
