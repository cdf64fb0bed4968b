"""What is installed is what was locked, and what is built is the same wherever it is built."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hatch_build import PURE, STABLE_ABI
from tests.release.__main__ import main as release
from tests.release.bill_of_materials import (
    COCKPIT,
    DISTRIBUTIONS,
    EXPORTER,
    ROOT,
    Distribution,
    bill_of_materials,
    text,
)
from tests.release.building import add_urls, digests, hatchling, unpacked
from tests.release.contents import archive_problems, metadata, names_in
from tests.release.resolving import Resolution, resolution_problems, resolution_table
from tests.reliability.figures import Tell, whole

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
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


EPOCH_SECONDS = 1_700_000_000
MINE = Path(sys.executable)
"""The hatchling of these tests; `make release` has one of its own."""


def sdist_of(distribution: Distribution, to: Path) -> Path:
    """The source distribution of the working tree."""
    return hatchling("sdist", ROOT / distribution.folder, to, EPOCH_SECONDS, python=MINE)


def wheel_of(sdist: Path, work: Path, *, is_pure: bool) -> Path:
    """The wheel that is made of a source distribution below `work`."""
    more = {PURE: "1"} if is_pure else {}
    folder = unpacked(sdist, work / "unpacked")
    return hatchling("wheel", folder, work / "wheel", EPOCH_SECONDS, more, MINE)


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Distribution -> its sdist, its pure wheel and, of the cockpit, the wheel with the part in C."""
    made = {}
    for distribution in DISTRIBUTIONS:
        work = tmp_path_factory.mktemp(distribution.name)
        sdist = sdist_of(distribution, work / "sdist")
        made[distribution.name] = [sdist, wheel_of(sdist, work / "pure", is_pure=True)]
    native = tmp_path_factory.mktemp("native")
    made[COCKPIT.name].append(wheel_of(made[COCKPIT.name][0], native, is_pure=False))
    return made


@pytest.mark.waits
def test_archives_hold_what_they_install_and_nothing_else(archives: dict[str, list[Path]]) -> None:
    made = [path for paths in archives.values() for path in paths]
    assert [problem for path in made for problem in archive_problems(path)] == []
    assert {path.name.partition("-")[0] for path in made} == {one.stem for one in DISTRIBUTIONS}
    for distribution in DISTRIBUTIONS:
        sdist, pure, *_ = archives[distribution.name]
        assert sdist.name == f"{distribution.stem}-{distribution.version()}.tar.gz"
        assert pure.name == f"{distribution.stem}-{distribution.version()}-py3-none-any.whl"
        told = metadata(pure)
        assert not told.get_all("Project-URL"), "this repository has no published address"


def test_who_publishes_it_gives_its_address(tmp_path: Path) -> None:
    folder = tmp_path / "exporter"
    shutil.copytree(ROOT / EXPORTER.folder, folder)
    add_urls(folder / "pyproject.toml", "https://git.example/team/gpu-cockpit/")
    sdist = hatchling("sdist", folder, tmp_path / "sdist", EPOCH_SECONDS, python=MINE)
    assert metadata(wheel_of(sdist, tmp_path, is_pure=True)).get_all("Project-URL") == [
        "Homepage, https://git.example/team/gpu-cockpit",
        "Changelog, https://git.example/team/gpu-cockpit/blob/HEAD/CHANGELOG.md",
        "Documentation, https://git.example/team/gpu-cockpit/tree/HEAD/docs",
    ]


@pytest.mark.parametrize(
    "url", ["git.example/team", "http://git.example/team", 'https://git.example/a"b', "https://x"]
)
def test_what_is_no_address_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        release(["--url", url])
    assert ended.value.code == 2
    assert f"--url {url!r} is no address: give https://HOST/PATH" in capsys.readouterr().err


def test_the_part_in_c_is_for_every_cpython_from_3_11_on(archives: dict[str, list[Path]]) -> None:
    native = archives[COCKPIT.name][2]
    assert f"-{STABLE_ABI}-" in native.name
    assert [name for name in names_in(native) if name.endswith(".so")] == [
        "cockpit/kube/decode/_gist.abi3.so"
    ]


def test_what_does_not_belong_in_an_archive_is_named(tmp_path: Path, archives: dict[str, list[Path]]) -> None:
    pure = archives[EXPORTER.name][1]
    spoilt = tmp_path / pure.name
    with zipfile.ZipFile(pure) as good, zipfile.ZipFile(spoilt, "w") as bad:
        for name in good.namelist():
            told = good.read(name)
            if name.endswith("METADATA"):
                told = told.replace(b"Classifier: Programming Language :: Python :: 3.14\n", b"")
            bad.writestr(name, told)
        bad.writestr("tests/test_x.py", "")
        bad.writestr("cockpit_exporter/picture.svg", "")
        bad.writestr("cockpit_exporter/_fast.cpython-311-x86_64-linux-gnu.so", "")
    problems = "\n".join(archive_problems(spoilt))
    for part in ("tests/test_x.py has no place", "picture.svg has no place", "Python 3.14", "its tag"):
        assert part in problems


@pytest.mark.waits
@pytest.mark.row(66, "wheels that differ when built twice, offline, in two folders", most=0)
@pytest.mark.row(66, "wheels built twice", least=2, unit="cases")
def test_a_wheel_is_the_same_wherever_it_is_built(
    tmp_path: Path, archives: dict[str, list[Path]], figure: Tell
) -> None:
    """In two folders and at two times; the cockpit's own only where the page is made."""
    again = [EXPORTER, COCKPIT][: whole(2, 1)]
    differ = 0
    for distribution in again:
        work = tmp_path / "second-folder" / distribution.name
        sdist = sdist_of(distribution, work / "sdist")
        wheels = [wheel_of(sdist, work / "pure", is_pure=True)]
        if distribution is COCKPIT:
            wheels.append(wheel_of(sdist, work / "native", is_pure=False))
        differ += digests([sdist, *wheels]) != digests(archives[distribution.name])
    figure("wheels that differ when built twice, offline, in two folders", differ)
    figure("wheels built twice", len(again))


@pytest.mark.row(66, "locked packages that the bill of materials lacks", most=0)
def test_the_bill_of_materials_holds_every_locked_package_with_its_hashes(figure: Tell) -> None:
    missing = []
    for distribution in DISTRIBUTIONS:
        lock = ROOT / distribution.lock
        bill = bill_of_materials(distribution.name, "1", lock.read_text())
        told = {one["name"]: one for one in bill["components"]}
        assert told
        missing += [
            name
            for name, part in locked(lock).items()
            if name not in told
            or {one["content"] for one in told[name]["hashes"]}
            != set(re.findall(r"sha256:([0-9a-f]{64})", part))
            or told[name]["version"] != part.partition("==")[2].split()[0]
        ]
    figure("locked packages that the bill of materials lacks", len(missing))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.name)
def test_the_committed_bill_is_of_the_lock_and_the_version(distribution: Distribution) -> None:
    committed = (ROOT / distribution.bill).read_text()
    assert committed == text(distribution), "make lock"
    assert json.loads(committed)["metadata"]["component"]["version"] == distribution.version()


def test_a_platform_that_gets_no_wheel_or_not_the_part_in_c_is_a_problem_of_the_release() -> None:
    pure, native = "gpu_cockpit-1-py3-none-any.whl", "gpu_cockpit-1-cp311-abi3-musllinux_1_2_x86_64.whl"
    musl, glibc = "musllinux_1_2 x86_64", "manylinux_2_28 x86_64"
    good = [
        Resolution("gpu-cockpit", musl, "3.11", native, ""),
        Resolution("cockpit-exporter", musl, "3.11", "cockpit_exporter-1-py3-none-any.whl", ""),
    ]
    bad = [
        Resolution("gpu-cockpit", musl, "3.14", pure, ""),
        Resolution("gpu-cockpit[demo]", glibc, "3.14", "", "no wheel"),
        Resolution("gpu-cockpit[demo]", musl, "3.11", "", "no wheel"),
    ]
    assert resolution_problems([*good, *bad]) == [
        f"gpu-cockpit on {musl} for Python 3.14: pip takes {pure}, which has no part in C",
        f"gpu-cockpit[demo] on {glibc} for Python 3.14: no wheel",
        f"gpu-cockpit[demo] on {musl} for Python 3.11: no wheel",
    ]
    assert resolution_table(good)[2].endswith("cp311-abi3-musllinux_1_2_x86_64")
