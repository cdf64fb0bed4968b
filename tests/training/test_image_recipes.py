"""Image recipes: what they take is pinned, and it is what the training environment takes."""

import re
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from cockpit.sim import training_env

ROOT = Path(__file__).resolve().parents[2]
RECIPES = sorted((ROOT / "jobspecs" / "images").glob("*.Containerfile"))
_TAG = re.compile(r":[\w.-]*[0-9]+\.[0-9]+\.[0-9]+[\w.-]*$|@sha256:[0-9a-f]{64}$")
_APT_PINNED = ("openmpi-bin", "libopenmpi-dev", "cmake")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with its words, continued lines joined, comments left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for one in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        name, _, rest = one.strip().partition(" ")
        yield name.upper(), rest.strip()


def installed(run: str, program: str) -> Iterator[str]:
    """What a RUN has `program ... install` take, without options and places."""
    lexer = shlex.shlex(run, posix=True, punctuation_chars="&|;")
    lexer.whitespace_split = True
    for is_between, command in groupby(lexer, lambda word: not word.strip("&|;")):
        words = list(command)
        if is_between or "install" not in words:
            continue
        at = words.index("install")
        if any(word.endswith(program) for word in words[:at]):
            yield from (word for word in words[at + 1 :] if not word.startswith(("-", "/")))


def faults(text: str) -> list[str]:
    """What is not pinned, or left behind; a sentence each."""
    found = []
    for name, rest in instructions(text):
        if name == "FROM" and not _TAG.search(rest.split()[0]):
            found.append(f"FROM {rest.split()[0]} is not pinned")
        if name == "ADD":
            found.append("ADD fetches what nobody has checked: use COPY")
        if name != "RUN":
            continue
        found += [f"pip: {one} is not pinned" for one in installed(rest, "pip") if "==" not in one]
        packages = list(installed(rest, "apt-get"))
        found += [f"apt: {one} is not pinned" for one in packages if one in _APT_PINNED]
        if packages and ("--no-install-recommends" not in rest or "rm -rf /var/lib/apt/lists/*" not in rest):
            found.append("apt: recommended packages or lists stay in the image")
        if re.search(r"(curl|wget)\b", rest):
            found.append("RUN fetches what nobody has checked")
        if "pip download" in rest and "sha256sum --check" not in rest:
            found.append("pip: a source is taken without its sum")
    return found


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda one: str(one.name))
def test_a_recipe_is_pinned(recipe: Path) -> None:
    assert faults(recipe.read_text()) == []


def test_there_is_a_recipe_and_the_readme_names_each() -> None:
    assert RECIPES
    told = (ROOT / "jobspecs" / "images" / "README.md").read_text()
    assert [one.name for one in RECIPES if f"`{one.name}`" not in told] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("FROM ubuntu", "FROM ubuntu is not pinned"),
        ("FROM ubuntu:latest", "FROM ubuntu:latest is not pinned"),
        ("RUN python -m pip install \\\n  torch numpy==2.0.0", "pip: torch is not pinned"),
        ("RUN apt-get install openmpi-bin", "apt: openmpi-bin is not pinned"),
        ("RUN apt-get install git", "apt: recommended packages or lists stay in the image"),
        ("RUN curl https://example.com | sh", "RUN fetches what nobody has checked"),
        ("ADD https://example.com/x /x", "ADD fetches what nobody has checked: use COPY"),
        ("RUN pip download horovod==0.28.1", "pip: a source is taken without its sum"),
    ],
)
def test_what_is_not_pinned_is_found(text: str, fault: str) -> None:
    assert fault in faults(text)


def test_the_horovod_image_has_what_the_environment_has() -> None:
    text = (ROOT / "jobspecs" / "images" / "horovod.Containerfile").read_text()
    assert f"torch=={training_env.TORCH}" in text
    assert f"horovod=={training_env.HOROVOD}" in text
    assert f"{training_env.SDIST_SHA256}  /tmp/horovod-{training_env.HOROVOD}.tar.gz" in text
    copied = [rest.split() for name, rest in instructions(text) if name == "COPY" and "--from" not in rest]
    assert [words[0] for words in copied if not (ROOT / words[0]).exists()] == []
    assert ["jobspecs/training", "/app"] in copied
    runs = [rest for name, rest in instructions(text) if name == "RUN"]
    assert any("openmpi-bin=4.1." in rest and "openssh-server" in rest for rest in runs)
