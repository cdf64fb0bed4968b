"""Commands on several clusters at a time, two embedded ones, and what becomes of one that ends."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.tui.embedded import embedded
from tests.tui.several import merged
from tests.unit.cli.builders import read_json, run

Capture = pytest.CaptureFixture[str]
BOTH = ("--contexts", "east,west")


class Two:
    """Two embedded clusters; `end_west` ends the second."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._east, self._west = ExitStack(), ExitStack()

    def begin(self) -> Path:
        """The kubeconfig with a context of both."""
        east = self._east.enter_context(embedded(self._folder / "east", "two-nodes", 20))
        west = self._west.enter_context(embedded(self._folder / "west", "old-and-new", 20))
        return merged(self._folder / "kubeconfig", {"east": (east, "admin"), "west": (west, "admin")})

    def end_west(self) -> None:
        self._west.close()

    def end(self) -> None:
        self._west.close()
        self._east.close()


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    for kind in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    found = Two(tmp_path)
    try:
        monkeypatch.setenv("KUBECONFIG", str(found.begin()))
        yield found
    finally:
        found.end()


def test_lists_names_and_verbs_over_two_clusters_of_which_one_ends(two: Two, capsys: Capture) -> None:
    code, out, _ = run(capsys, "get", "jobs", *BOTH, "-o", "json")
    jobs = {item["name"]: item["cluster"] for item in read_json(out)["items"]}
    assert code == 0 and jobs["cifar-1"] == "east" and {*jobs.values()} == {"east", "west"}

    for kind in ("nodes", "queues", "pools", "overview"):
        code, out, _ = run(capsys, "get", kind, *BOTH)
        assert code == 0 and "CLUSTER" in out, kind
        assert "west" in out, kind

    code, out, _ = run(capsys, "triage", *BOTH, "-o", "json")
    tree = read_json(out)
    assert tree["contexts"] == ["east", "west"] and code == (3 if tree["items"] else 0)

    code, out, err = run(capsys, "why", "job/cifar-3", *BOTH, "-o", "json")
    assert read_json(out)["context"] == "east" and "found in east" in err

    words = ("job", "kill", "cifar-3", *BOTH, "--write", "--yes")
    code, out, err = run(capsys, *words)
    assert code == 0 and "found in east" in err and "cifar-3" in out
    code, out, _ = run(capsys, "audit", "list", "-o", "json")
    assert {line["context"] for line in read_json(out)["items"]} == {"east"}

    two.end_west()
    code, out, err = run(capsys, "get", "nodes", *BOTH, "--timeout", "5")
    assert code == 1 and "east" in out and "cockpit: west: " in err
    code, _, err = run(capsys, "job", "kill", "cifar-2", *BOTH, "--write", "--yes", "--timeout", "5")
    assert code == 1 and "not every cluster answered" in err
