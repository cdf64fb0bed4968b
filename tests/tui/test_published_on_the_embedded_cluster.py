"""All that is printed for programs of a lively cluster, held against its published schema."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cockpit import cli
from cockpit.commands.names_of import names_of
from tests.published import checked
from tests.tui.embedded import embedded

COMMANDS = (
    *(("get", kind) for kind in ("overview", "nodes", "gpus", "pods", "jobs", "queues", "pools", "events")),
    *(("top", kind) for kind in ("node", "gpu")),
    ("fleet",), ("triage", "--each"), ("doctor",),
)  # fmt: skip


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("embedded") / "demo", "default", 120) as found:
        yield found


@pytest.fixture
def said(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    for name in ("STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))

    def run(*words: str) -> str:
        assert cli.main([*words, "--kubeconfig", str(kubeconfig)]) in (0, 3)
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_json_is_as_published(words: tuple[str, ...], said: Any) -> None:
    checked(json.loads(said(*words, "-o", "json")))


def test_csv_has_a_row_for_each_node(said: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(said("get", "nodes", "-o", "csv"))))
    items = json.loads(said("get", "nodes", "-o", "json"))["items"]
    assert {row["name"] for row in rows} & {item["name"] for item in items}
    assert all(json.loads(row["labels"]) for row in rows)


def test_why_and_the_page_of_a_pool_are_as_published(said: Any) -> None:
    jobs = json.loads(said("get", "jobs", "-o", "json"))["items"]
    troubled = [job for job in jobs if job["why"]]
    assert troubled
    for job in troubled[:2]:
        checked(json.loads(said("why", f"job/{job['namespace']}/{job['name']}", "-o", "json")))
    for pool in json.loads(said("get", "pools", "-o", "json"))["items"]:
        checked(json.loads(said("pool", "show", pool["name"], "-o", "json")))


def test_names_for_the_shell_are_those_of_the_lists(said: Any, kubeconfig: Path) -> None:
    chosen = {"kubeconfig": str(kubeconfig)}
    nodes = {item["name"] for item in json.loads(said("get", "nodes", "-o", "json"))["items"]}
    assert set(names_of("nodes", chosen)) & nodes
    subjects = set(names_of("subjects", chosen))
    assert {name.partition("/")[0] for name in subjects} == {"job", "node", "pool", "queue"}
    assert set(names_of("namespaces", chosen)) >= {"default"}
