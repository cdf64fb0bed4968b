"""Who may only look, at a real terminal and on a real server: keys crossed out, a sentence, and no dialog."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.embedded import embedded
from tests.tui.pseudo_terminal import PseudoTerminal

pytestmark = pytest.mark.waits

SIZES = ((80, 24), (200, 60))
WARM_SECONDS = 30


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("rights"), "old-and-new", WARM_SECONDS) as path:
        yield path


def cockpit(kubeconfig: Path, home: Path, context: str, size: tuple[int, int]) -> PseudoTerminal:
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }
    return PseudoTerminal(["-m", "cockpit", "--context", context, "--write"], size, environment)


def _unfolded(seen: str) -> str:
    return " ".join(seen.translate({ord(one): " " for one in "▌▐▊▎│"}).split())


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_viewer_sees_which_right_is_missing(
    kubeconfig: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    with cockpit(kubeconfig, tmp_path, "viewer", size) as terminal:
        terminal.shows("▎1 Now", "? help")
        terminal.press("2")
        lines = terminal.shows("K×kill", "students/homework")
        assert len(lines) == size[1]
        terminal.press("K")
        # eighty columns fold the sentence
        said = ("You cannot delete jobs.batch", "ask for that right")
        lines = terminal.until(lambda seen: all(one in _unfolded(seen) for one in said), f"{said}")
        seen = "\n".join(lines)
        assert "y kill" not in seen and "asking the server for a dry run" not in seen
        terminal.press("?")
        terminal.shows("× a right is missing")
        terminal.press("ctrl+c")
        assert terminal.ends() == 0
    assert not (tmp_path / "state" / "gpu-cockpit" / "audit.jsonl").exists()


def test_the_administrator_of_the_same_cluster_is_asked(kubeconfig: Path, tmp_path: Path) -> None:
    with cockpit(kubeconfig, tmp_path, "admin", (80, 24)) as terminal:
        terminal.shows("▎1 Now", "? help")
        terminal.press("2")
        terminal.shows("K kill", "students/homework")
        terminal.press("K")
        terminal.shows("Kill ", "y kill", "n or esc no")
        terminal.press("n")
        terminal.until(lambda seen: "y kill" not in seen, "no question any more")
        terminal.press("q")
        assert terminal.ends() == 0
