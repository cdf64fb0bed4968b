"""For which Pythons and platforms wheels alone meet the requirements, asked of the index."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.release.environments import Failed, resolved

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {
    "manylinux_2_28 x86_64": "x86_64-manylinux_2_28",
    "manylinux_2_28 aarch64": "aarch64-manylinux_2_28",
    "musllinux_1_2 x86_64": "x86_64-unknown-linux-musl",
    "musllinux_1_2 aarch64": "aarch64-unknown-linux-musl",
}
"""How the tags are named, and how uv names them."""
REQUIREMENTS = {
    "gpu-cockpit": ("pyproject.toml",),
    "gpu-cockpit[cloud]": ("pyproject.toml", "--extra", "cloud"),
    "gpu-cockpit[demo]": ("pyproject.toml", "--extra", "demo"),
    "cockpit-exporter": ("exporter/pyproject.toml",),
}


@dataclass(frozen=True)
class Resolution:
    """Whether wheels alone meet the requirements; `problem` says why not, "" where they do."""

    what: str
    platform: str
    python: str
    problem: str


def resolve(root: Path, what: str, platform: str, python: str) -> Resolution:
    """Wheels alone, for a Python and a platform that this machine need not have."""
    words = ["--only-binary", ":all:", "--python-version", python, "--python-platform", PLATFORMS[platform]]
    try:
        resolved(root, *REQUIREMENTS[what], *words)
    except Failed as failed:
        return Resolution(what, platform, python, str(failed))
    return Resolution(what, platform, python, "")


def resolve_all(root: Path) -> list[Resolution]:
    """Every requirement for every platform and Python."""
    cases = [
        (what, platform, python) for what in REQUIREMENTS for platform in PLATFORMS for python in PYTHONS
    ]
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda case: resolve(root, *case), cases))


def resolution_table(results: Sequence[Resolution]) -> list[str]:
    """A line for each requirement and platform, with the Pythons that it resolves for."""
    lines = []
    for what in REQUIREMENTS:
        for platform in PLATFORMS:
            row = [one for one in results if (one.what, one.platform) == (what, platform)]
            good = [one.python for one in row if not one.problem]
            bad = next((one.problem for one in row if one.problem), "")
            lines.append(f"{what:20} {platform:24} {' '.join(good) or 'none':22} {bad}".rstrip())
    return lines
