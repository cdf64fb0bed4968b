"""What may be in an archive and what must be: each problem is a sentence."""

import email
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from email.message import Message
from fnmatch import fnmatch
from pathlib import Path

STRAY = (
    "*.pyc",
    "*__pycache__*",
    "*.orig",
    "*.rej",
    "*~",
    "*.swp",
    "*.egg-info*",
    "*/.venv*",
    "*.svg",
    "*.cast",
)
"""In no archive: what editors and builds leave behind, and pictures."""
NOT_IN_SDIST = ("tests/*", "screenshots/*", "docs/*", "deploy/*", "exporter/*", ".ci/*", "*.so", "*.lock")
NOT_IN_WHEEL = ("*.c", "*.h", "*/generate.py", "tests/*", "hatch_build.py")
MOST_SDIST_BYTES = 3_000_000
EXTRAS = {
    "gpu-cockpit": {"demo": {"cryptography"}, "cloud": {"boto3"}},
    "cockpit-exporter": {},
}
"""Distribution -> extra that people install -> packages that no environment without it needs."""


def names_in(archive: Path) -> list[str]:
    """Paths of files; of an sdist relative to its folder."""
    if archive.suffix == ".whl":
        return [name for name in zipfile.ZipFile(archive).namelist() if not name.endswith("/")]
    with tarfile.open(archive) as files:
        return [member.name.partition("/")[2] for member in files if member.isfile()]


def text_of(archive: Path, name: str) -> str:
    """A file of the wheel's `.dist-info`."""
    with zipfile.ZipFile(archive) as files:
        (path,) = (path for path in files.namelist() if path.partition(".dist-info/")[2] == name)
        return files.read(path).decode()


def metadata(wheel: Path) -> Message:
    """The headers of METADATA."""
    return email.message_from_string(text_of(wheel, "METADATA"))


def _matching(names: Sequence[str], patterns: Sequence[str]) -> Iterator[str]:
    yield from (name for name in names if any(fnmatch(name, pattern) for pattern in patterns))


def archive_problems(archive: Path) -> list[str]:
    """What is wrong with the files in an archive of this project."""
    names = names_in(archive)
    is_wheel = archive.suffix == ".whl"
    strays = list(_matching(names, (*STRAY, *(NOT_IN_WHEEL if is_wheel else NOT_IN_SDIST))))
    problems = [f"{archive.name}: {name} has no place in it" for name in strays]
    if not is_wheel:
        size = archive.stat().st_size
        if size > MOST_SDIST_BYTES:
            problems.append(f"{archive.name}: {size} bytes, at most {MOST_SDIST_BYTES}")
        return problems
    roots = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    wanted = {"cockpit", "cockpit_widgets"} if archive.name.startswith("gpu_") else {"cockpit_exporter"}
    if roots != wanted:
        problems.append(
            f"{archive.name}: installs {', '.join(sorted(roots))}, not {', '.join(sorted(wanted))}"
        )
    libraries = [name for name in names if ".so" in Path(name).suffixes]
    if bool(libraries) != ("-abi3-" in archive.name):
        problems.append(
            f"{archive.name}: its tag and its libraries ({', '.join(libraries) or 'none'}) disagree"
        )
    return problems + metadata_problems(archive)


def metadata_problems(wheel: Path) -> list[str]:
    """What is wrong with what a wheel says of itself."""
    about = metadata(wheel)
    needs = about.get_all("Requires-Dist", [])
    problems = []
    plain = {re.split(r"[<>=!~;\[ ]", need, maxsplit=1)[0] for need in needs if "extra ==" not in need}
    for extra, packages in EXTRAS[about["Name"]].items():
        problems += [f"{wheel.name}: all need {name} of [{extra}]" for name in sorted(packages & plain)]
        if extra not in about.get_all("Provides-Extra", []):
            problems.append(f"{wheel.name}: has no extra {extra}")
    classifiers = about.get_all("Classifier", [])
    for version in ("3.11", "3.12", "3.13", "3.14"):
        if f"Programming Language :: Python :: {version}" not in classifiers:
            problems.append(f"{wheel.name}: does not say Python {version}")
    if not any(line.startswith("Development Status ::") for line in classifiers):
        problems.append(f"{wheel.name}: does not say its development status")
    for header in ("Author", "Summary", "License-Expression", "License-File", "Requires-Python", "Keywords"):
        if not about[header]:
            problems.append(f"{wheel.name}: has no {header}")
    bill = json.loads(text_of(wheel, f"sboms/{about['Name']}.cdx.json"))
    subject = bill["metadata"]["component"]
    if (subject["name"], subject["version"]) != (about["Name"], about["Version"]):
        problems.append(f"{wheel.name}: its bill of materials is of {subject['name']} {subject['version']}")
    return problems
