"""What is installed is what was locked, and what is built is the same wherever it is built."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hatch_build import bill_of_materials
from tests.reliability.figures import Tell, whole

ROOT = Path(__file__).resolve().parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
SOURCES = (
    *("cockpit", "widgets", "jobspecs", "requirements"),
    *("hatch_build.py", "pyproject.toml", "README.md", "LICENSE"),
)
TAMPERED = "aiohappyeyeballs"
"""A locked package of Python alone, in whose place another wheel of its name and version is put."""


def locked(path: Path) -> dict[str, str]:
    """Each requirement of a lock with the text behind it."""
    parts = re.split(r"^(?=[A-Za-z0-9])", path.read_text(), flags=re.MULTILINE)[1:]
    return {part.split("==")[0].strip(): part for part in parts}


def counterfeit(folder: Path, version: str) -> None:
    """A wheel that pip would take for the locked one but for its hash."""
    about = f"{TAMPERED}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{TAMPERED}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{TAMPERED}/__init__.py", "print('owned')\n")
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {TAMPERED}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


@pytest.mark.row(66, "requirements of the locks without a hash", most=0)
@pytest.mark.row(66, "tampered packages that were installed", most=0)
@pytest.mark.row(66, "installers that refused one for its hash", least=2)
def test_a_package_that_was_changed_is_not_installed(tmp_path: Path, figure: Tell) -> None:
    bare = [name for lock in LOCKS for name, part in locked(lock).items() if "--hash=sha256:" not in part]
    figure("requirements of the locks without a hash", len(bare))
    part = locked(ROOT / "requirements/base.lock")[TAMPERED]
    counterfeit(tmp_path, part.partition("==")[2].split()[0])
    (tmp_path / "requirements").write_text(part)
    refused = installed = 0
    for installer in ([sys.executable, "-m", "pip"], [str(Path(sys.executable).parent / "uv"), "pip"]):
        target = tmp_path / f"target-{len(installer)}"
        where = ["--no-index", "--find-links", str(tmp_path), "--target", str(target), "--no-deps"]
        done = subprocess.run(
            [*installer, "install", *where, "--require-hashes", "-r", str(tmp_path / "requirements")],
            capture_output=True,
            text=True,
            check=False,
        )
        refused += done.returncode != 0 and "hash" in (done.stdout + done.stderr).lower()
        installed += (target / TAMPERED).exists()
    figure("tampered packages that were installed", installed)
    figure("installers that refused one for its hash", refused)


def build(source: Path, to: Path) -> Path:
    """The wheel of that folder, made without any index."""
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *offline, str(source), "-w", str(to)], check=True)
    (made,) = to.glob("*.whl")
    return made


def copied(to: Path, below: Path, *names: str) -> Path:
    """What is below these names, without what was made there."""
    for name in names:
        if (below / name).is_dir():
            made = shutil.ignore_patterns("__pycache__", "*.so", "out", "build")
            shutil.copytree(below / name, to / name, ignore=made, dirs_exist_ok=True)
        else:
            shutil.copy(below / name, to / name)
    return to


@pytest.mark.waits
@pytest.mark.row(66, "wheels that differ when built twice, offline, in two folders", most=0)
@pytest.mark.row(66, "wheels built twice", least=2, unit="cases")
def test_a_wheel_is_the_same_wherever_it_is_built(tmp_path: Path, figure: Tell) -> None:
    """In two folders and at two times; the cockpit's own only where the page is made."""
    kinds = [(ROOT / "exporter", (".",)), (ROOT, SOURCES)][: whole(2, 1)]
    differ = 0
    for number, (below, names) in enumerate(kinds):
        digests = set()
        for again in ("first", "second-folder"):
            source = tmp_path / again / str(number)
            source.mkdir(parents=True)
            wheel = build(copied(source, below, *names), source / "out")
            digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
            has_bill = any("/sboms/" in name for name in zipfile.ZipFile(wheel).namelist())
            assert has_bill == (below == ROOT)
        differ += len(digests) - 1
    figure("wheels that differ when built twice, offline, in two folders", differ)
    figure("wheels built twice", len(kinds))


@pytest.mark.row(66, "locked packages that the bill of materials lacks", most=0)
def test_the_bill_of_materials_holds_every_locked_package_with_its_hashes(figure: Tell) -> None:
    lock = ROOT / "requirements/base.lock"
    bill = bill_of_materials("gpu-cockpit", "1", lock.read_text())
    assert bill == json.loads(json.dumps(bill))
    told = {one["name"]: one for one in bill["components"]}
    missing = [
        name
        for name, part in locked(lock).items()
        if name not in told
        or {one["content"] for one in told[name]["hashes"]} != set(re.findall(r"sha256:([0-9a-f]{64})", part))
        or told[name]["version"] != part.partition("==")[2].split()[0]
    ]
    assert len(told) > 20
    figure("locked packages that the bill of materials lacks", len(missing))
