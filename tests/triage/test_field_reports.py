"""Situations that people of the trade reported, all in one cluster: what `cockpit why` says of each, through
the API of the embedded server, and what is on *Now*."""

import io
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from cockpit.cli import main
from cockpit.clock import SystemClock
from tests.triage.field_reports import ASKED, reports
from tests.triage.night import Night
from tests.triage.night_server import case_served

ON_NOW = ("rack-zero", "rack-promised", "rack-gpuop")


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with case_served(reports(SystemClock().now()), tmp_path_factory.mktemp("reports")) as made:
        yield made


@pytest.fixture(autouse=True)
def no_folders_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))


@pytest.mark.parametrize("name", ASKED, ids=lambda name: name.replace(" ", "-"))
def test_the_first_line_names_what_is_wrong_and_nothing_leads_astray(name: str, kubeconfig: Path) -> None:
    asked = ASKED[name]
    space = ["-n", asked.space] if asked.space else []
    said, noted = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(noted):
        main(["--kubeconfig", str(kubeconfig), "why", asked.subject, *space])
    lines = said.getvalue().splitlines()
    assert len(lines) > 1, noted.getvalue()
    missing = [word for word in asked.says if not any(part in lines[1] for part in word.split("|"))]
    assert not missing, f"{missing} not in {lines[1]!r}"
    assert not [word for word in asked.never if word.lower() in said.getvalue().lower()], said.getvalue()


@pytest.mark.parametrize("node", ON_NOW)
def test_a_node_without_the_cards_that_it_should_have_is_on_now(node: str) -> None:
    rows = Night((), reports(1_800_000_000.0)).rows()
    assert [row for row in rows if row.title.endswith(node)], [row.title for row in rows]


def test_what_rests_on_one_object_is_one_row_that_offers_nothing_for_one_victim() -> None:
    """An operator that crashes and its jobs; pods of the GPU stack and the node that lacks its GPUs."""
    rows = {row.title: row for row in Night((), reports(1_800_000_000.0)).rows()}
    assert not [title for title in rows if "gpu-operator/" in title or "resnet-fit" in title], list(rows)
    operator = next(row for title, row in rows.items() if "kubeflow/training-operator" in title)
    assert operator.sentence.endswith("; 1 job waits for it") and "crashed 12 times" in operator.sentence
    assert not any(key.is_write for key in operator.remedies)
    node = next(row for title, row in rows.items() if title.endswith("rack-gpuop"))
    assert "nvidia-container-toolkit fails" in node.sentence and node.sentence.endswith("1 job on it")
