"""Files that say what is run or sent: harmful ones, and those that others can change, are refused."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cockpit.errors import CockpitError
from cockpit.jobs.yaml_document import parse
from cockpit.kube.kubeconfig import check
from cockpit.local_state.config import load_settings
from tests.reliability.figures import Tell

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9)}]" for at in range(1, 10)]
)
"""Ten lines that would unfold to 9^10 values."""


def text(content: str, mode: int = 0o600) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_text(content)
        path.chmod(mode)

    return make


def link(path: Path) -> None:
    path.with_name("elsewhere").write_text("bell = true\n")
    path.symlink_to("elsewhere")


def of_another(path: Path) -> None:
    path.write_text("bell = true\n")
    os.chown(path, 12_345, -1)


def in_template(path: Path) -> None:
    parse(path.read_text(), path.name)


REFUSED: dict[str, tuple[Callable[[Path], object], Callable[[Path], None], str]] = {
    "an unknown key": (
        load_settings,
        text("theme = 'nord'\nbel = true\n"),
        ":2: bel: unknown key; did you",
    ),
    "writable by all": (load_settings, text("bell = true\n", 0o606), "others may write it; chmod o-w"),
    "writable by all, and a group": (load_settings, text("bell = true\n", 0o666), "others may write it"),
    "a link": (load_settings, link, "a symbolic link is not followed"),
    "a link to nothing": (load_settings, lambda path: path.symlink_to("nowhere"), "a symbolic link"),
    "a pipe": (load_settings, os.mkfifo, "not a file; replace it by one"),
    "a folder": (load_settings, Path.mkdir, "cannot be read: Is a directory"),
    "too large": (load_settings, text("#" * 300_000), "larger than 262144 bytes"),
    "nested without end": (load_settings, text("a = " + "[" * 100_000), "nested too deeply"),
    "YAML": (load_settings, text(BOMB), "not TOML"),
    "a bomb as a kubeconfig": (check, text(BOMB), "its aliases unfold to more than 1,000,000 values"),
    "a kubeconfig that holds itself": (check, text("users: &u [*u]"), "its aliases unfold to more than"),
    "a bomb as a template": (in_template, text(BOMB), "anchors and aliases are not allowed"),
}


@pytest.mark.row(67, "fixtures refused with their reason", least=1)
@pytest.mark.row(67, "fixtures", least=len(REFUSED))
@pytest.mark.row(67, "slowest refusal", most=50, unit="ms")
def test_what_is_harmful_is_refused_with_its_reason(tmp_path: Path, figure: Tell) -> None:
    right: list[str] = []
    slowest = 0.0
    for number, (name, (read, make, words)) in enumerate(REFUSED.items()):
        path = tmp_path / f"c{number}.toml"
        make(path)
        began = time.perf_counter()
        with pytest.raises(CockpitError) as caught:
            read(path)
        slowest = max(slowest, time.perf_counter() - began)
        assert words in caught.value.sentence, name
        right.append(name)
    figure("fixtures refused with their reason", len(right) / len(REFUSED))
    figure("fixtures", len(right))
    figure("slowest refusal", slowest * 1_000)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a file of another user")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    of_another(tmp_path / "c.toml")
    with pytest.raises(CockpitError, match="belongs to another user"):
        load_settings(tmp_path / "c.toml")
