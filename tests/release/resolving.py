"""For which Pythons and platforms wheels alone are enough: those of a release, and what they need."""

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.release.environments import Failed, environment, run

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    f"{name} {machine}": tuple(f"{tag}_{machine}" for tag in tags)
    for name, tags in (
        ("manylinux_2_28", (*(f"manylinux_2_{minor}" for minor in range(28, 16, -1)), "manylinux2014")),
        ("musllinux_1_2", ("musllinux_1_2", "musllinux_1_1")),
    )
    for machine in ("x86_64", "aarch64")
}
"""Platform -> the tags that pip takes there, best first."""
REQUIREMENTS = ("gpu-cockpit", "gpu-cockpit[cloud]", "gpu-cockpit[demo]", "cockpit-exporter")


@dataclass(frozen=True)
class Resolution:
    """The file of a release that `pip download` took, and "" as the problem; or no file, and why not."""

    what: str
    platform: str
    python: str
    wheel: str
    problem: str


def resolve(dist: Path, what: str, platform: str, python: str) -> Resolution:
    """Wheels alone, for a Python and a platform that this machine need not have."""
    words = [f"--platform={tag}" for tag in PLATFORMS[platform]]
    asked = ["--only-binary=:all:", "--find-links", str(dist), "--python-version", python, *words, what]
    with tempfile.TemporaryDirectory(dir=dist.parent) as folder:
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"]
        try:
            run([*pip, "-d", folder, *asked], dist, environment(dist.parent))
        except Failed as failed:
            return Resolution(what, platform, python, "", str(failed))
        stem = what.partition("[")[0].replace("-", "_")
        (wheel,) = Path(folder).glob(f"{stem}-*.whl")
        return Resolution(what, platform, python, wheel.name, "")


def resolve_all(dist: Path) -> list[Resolution]:
    """Every requirement for every platform and Python, of the wheels in `dist`."""
    cases = [
        (what, platform, python) for what in REQUIREMENTS for platform in PLATFORMS for python in PYTHONS
    ]
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda case: resolve(dist, *case), cases))


def resolution_problems(results: Sequence[Resolution]) -> list[str]:
    """A sentence for each that wheels do not meet, and for each cockpit without the part in C."""
    problems = []
    for one in results:
        where = f"{one.what} on {one.platform} for Python {one.python}"
        if one.problem:
            problems.append(f"{where}: {one.problem}")
        elif "-none-any" in one.wheel and not one.what.startswith("cockpit-exporter"):
            problems.append(f"{where}: pip takes {one.wheel}, which has no part in C")
    return problems


def resolution_table(results: Sequence[Resolution]) -> list[str]:
    """A line for each requirement and platform: its Pythons, and the tags of the wheel that pip takes."""
    lines = []
    for what in REQUIREMENTS:
        for platform in PLATFORMS:
            row = [one for one in results if (one.what, one.platform) == (what, platform)]
            good = [one.python for one in row if not one.problem]
            taken = sorted({one.wheel.removesuffix(".whl").split("-", 2)[2] for one in row if one.wheel})
            note = next((one.problem for one in row if one.problem), ", ".join(taken))
            lines.append(f"{what:20} {platform:24} {' '.join(good) or 'none':22} {note}".rstrip())
    return lines
