"""`make release`: build both distributions twice, compare, try them in empty environments; into dist/.

What is built is the commit that is checked out. `--quick` leaves out what other platforms resolve to.
"""

import argparse
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from hatch_build import BUILT
from tests.release.bill_of_materials import COCKPIT, EXPORTER, ROOT
from tests.release.building import Commit, build_all, digests, git, head, tools
from tests.release.contents import archive_problems
from tests.release.environments import Failed, environment, run
from tests.release.judging import Installed, judge_cockpit, judge_exporter
from tests.release.resolving import resolution_problems, resolution_table, resolve_all

DIST = ROOT / "dist"
HTTPS = re.compile(r"https://[^\s/\"\\]+/[^\s\"\\]+")
PROCESSORS = {62: "x86_64", 183: "aarch64"}
"""Processor in the head of an ELF file -> its name in the tag of a wheel."""


def built_twice(commit: Commit, work: Path, url: str = "") -> tuple[list[Path], list[str]]:
    """The archives of the first build, and a sentence for each that is not the same in the second."""
    first = build_all(commit.digest, work / "first", commit.epoch_seconds, url)
    again = digests(build_all(commit.digest, work / "second" / "deeper", commit.epoch_seconds, url))
    differing = [name for name, digest in digests(first).items() if again.get(name) != digest]
    return first, [f"{name}: differs when it is built again" for name in differing]


def judged_by_tools(archives: Sequence[Path], work: Path) -> list[str]:
    """What twine and abi3audit find, and libraries whose tag is not of their processor and their libc."""
    programs, problems = tools(), []
    native = [path for path in archives if "-abi3-" in path.name]
    commands = [[str(programs / "twine"), "check", "--strict", *map(str, archives)]]
    commands += [[str(programs / "abi3audit"), "--strict", *map(str, native)]] if native else []
    for command in commands:
        try:
            run(command, work, environment(work))
        except Failed as failed:
            problems.append(str(failed))
    for path in native:
        library = zipfile.ZipFile(path).extract(str(BUILT), work / path.stem)
        if PROCESSORS.get(Path(library).read_bytes()[18], "unknown") not in path.name:
            problems.append(f"{path.name}: its library is for another processor")
        needed = run([str(programs / "patchelf"), "--print-needed", library], work, environment(work)).split()
        if needed != (["libc.so"] if "musl" in path.name else ["libc.so.6"]):
            problems.append(f"{path.name}: its library needs {', '.join(needed)}")
    return problems


def installed(archives: Sequence[Path], work: Path) -> list[Installed]:
    """Each wheel that this machine can run, in an environment of its own."""
    found, mine = [], set(sys_tags())
    for number, path in enumerate(path for path in archives if path.suffix == ".whl"):
        folder = work / f"installed-{number}"
        if mine.isdisjoint(parse_wheel_filename(path.name)[3]):
            continue
        if path.name.startswith(EXPORTER.stem):
            found.append(judge_exporter(path, EXPORTER.version(), folder))
        else:
            found.append(judge_cockpit(path, COCKPIT.version(), folder))
    return found


def table(archives: Sequence[Path], judged: Sequence[Installed]) -> list[str]:
    """A line for each archive: size, digest, and the size of an environment with it."""
    sizes = {one.wheel: f"{one.megabytes:.0f} MB" for one in judged}
    lines = [f"{'archive':88} {'bytes':>9} {'installed':>9}  sha256"]
    for path in archives:
        digest = digests([path])[path.name]
        lines.append(f"{path.name:88} {path.stat().st_size:9} {sizes.get(path.name, '-'):>9}  {digest[:16]}")
    return lines


def keep(archives: Sequence[Path], into: Path) -> None:
    """Into that folder, which is emptied, with their digests as sha256sum reads them."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    for path in archives:
        shutil.copy(path, into)
    lines = [f"{digest}  {name}\n" for name, digest in sorted(digests(archives).items())]
    (into / "SHA256SUMS").write_text("".join(lines))


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where everything is as it should be; 1 with a sentence for each thing that is not."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="do not ask what other platforms resolve to")
    parser.add_argument("--into", type=Path, default=DIST, help="folder for the archives (default: dist)")
    parser.add_argument("--url", default="", help="address of the repository, for the metadata of both")
    given = parser.parse_args(arguments)
    if given.url and not HTTPS.fullmatch(given.url):
        parser.error(f"--url {given.url!r} is no address: give https://HOST/PATH")
    commit = head()
    if git("status", "--porcelain"):
        print("note: uncommitted changes are not in what is built")
    with tempfile.TemporaryDirectory(prefix="gpu-cockpit-release-") as folder:
        work = Path(folder)
        try:
            tools()
            archives, problems = built_twice(commit, work, given.url)
            print(f"built {len(archives)} archives of {commit.digest[:12]}, twice", flush=True)
            problems += [problem for path in archives for problem in archive_problems(path)]
            problems += judged_by_tools(archives, work)
            judged = installed(archives, work)
        except Failed as failed:
            print(f"release: {failed}")
            return 1
        problems += [problem for one in judged for problem in one.problems]
        print("\n".join(table(archives, judged)), flush=True)
        keep(archives, work / "dist")
        if not given.quick:
            results = resolve_all(work / "dist")
            print("\n".join(resolution_table(results)))
            problems += resolution_problems(results)
        for problem in problems:
            print(f"release: {problem}")
        if problems:
            return 1
        keep(archives, given.into)
    print(f"kept in {given.into.name}/ with SHA256SUMS; nothing was uploaded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
