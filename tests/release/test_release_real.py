"""The release as a whole: built twice, judged by twine and abi3audit, tried in empty environments; and the
Containerfiles that install it.

Real, because the environments are filled from the package index; what needs no index is in
`tests/unit/house/test_builds.py`.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.release.__main__ import main
from tests.release.bill_of_materials import DISTRIBUTIONS, ROOT
from tests.release.building import tools
from tests.release.environments import answer

pytestmark = pytest.mark.real

CONTAINERS = sorted((ROOT / "deploy/containers").glob("*.Containerfile"))
INSTALL_SECONDS = 600.0


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make release` keeps."""
    folder = tmp_path_factory.mktemp("release") / "dist"
    assert main(["--quick", "--into", str(folder)]) == 0
    return folder


def test_what_is_released_is_reproducible_and_works_in_an_empty_home(dist: Path) -> None:
    names = {path.name.partition("-")[0] for path in dist.iterdir()}
    assert names == {"SHA256SUMS", *(one.stem for one in DISTRIBUTIONS)}


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.stem)
def test_hadolint_finds_no_fault_in_a_containerfile(path: Path) -> None:
    done = subprocess.run([tools() / "hadolint", path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def install_lines(containerfile: str) -> str:
    """The shell command that fills the environment, in one line."""
    (line,) = re.findall(r"^RUN (python -m venv .*)$", containerfile.replace("\\\n", " "), re.MULTILINE)
    return str(line)


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.stem)
def test_the_install_lines_of_a_containerfile_make_a_program_that_runs(
    path: Path, dist: Path, tmp_path: Path
) -> None:
    """With the paths of the image below a temporary folder, and what COPY brings in its place."""
    text = path.read_text()
    ((sources, target),) = re.findall(r"^COPY (?!--from)(.+) (/\S+)$", text, re.MULTILINE)
    into = tmp_path / target.strip("/")
    into.mkdir()
    for pattern in sources.split():
        folder = dist if pattern.startswith("dist/") else ROOT
        found = list(folder.glob(pattern.removeprefix("dist/")))
        assert found, pattern
        for file in found:
            shutil.copy(file, into)
    (tmp_path / "opt").mkdir()
    command = install_lines(text).replace("/opt/", f"{tmp_path}/opt/").replace("/dist", str(into))
    command = command.replace("python -m venv", f"{sys.executable} -m venv", 1)
    done = subprocess.run(
        ["sh", "-ec", command], capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS
    )
    assert done.returncode == 0, done.stderr
    program = {"exporter": "cockpit-exporter", "cockpit": "cockpit"}[path.stem]
    home = tmp_path / "home"
    home.mkdir()
    told = answer(tmp_path / "opt/app/bin" / program, ["--version"], home)
    assert (told.code, told.error) == (0, "")
    assert told.out.startswith(program)
