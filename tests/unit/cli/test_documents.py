"""JSON with its schema, and CSV that no spreadsheet runs. Other tests here read JSON by `read_json`, which
checks the schema of each tree."""

import argparse
import csv
import io
import json
from typing import Any

import jsonschema
import msgspec
import pytest

from cockpit.attach import AttachOptions
from cockpit.cli import KINDS, build_parser
from cockpit.clock import ManualClock
from cockpit.commands import attached as attached_module
from cockpit.commands import get
from cockpit.commands.document import cell, columns, rows_of
from cockpit.commands.get_watch import RowChanges
from cockpit.commands.json_schema import DOCUMENTS, texts
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gang import LocalQueue
from cockpit.model.record import Kind
from tests.published import SCHEMAS, checked
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.cli.test_commands import Capture, gang
from tests.unit.pools.builders import deployment, node


@pytest.fixture
def some(cluster: Cluster) -> Cluster:
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    cluster.add(Kind.POOL, deployment(replicas=1))
    cluster.add(Kind.LOCAL_QUEUE, LocalQueue(uid="q", name="main", namespace="team-a", cluster_queue="all"))
    gang(cluster)
    return cluster


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# ---- the schema


def test_what_is_published_is_made_from_the_types_and_settings() -> None:
    for path, text in texts().items():
        assert (SCHEMAS.parent / path).read_text() == text, "run make schemas"
        if path.endswith(".json"):
            jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_no_schema_is_left_of_a_document_that_is_gone() -> None:
    assert {path.stem for path in SCHEMAS.iterdir()} == set(DOCUMENTS)


@pytest.mark.parametrize("kind", KINDS)
def test_get_prints_what_its_schema_says(kind: str, some: Cluster, capsys: Capture) -> None:
    tree = read_json(run(capsys, "get", kind, "-o", "json")[1])
    assert (next(iter(tree)), tree["schema"]) == ("schema", "gpu-cockpit/v1")


@pytest.mark.parametrize("words", [("audit", "list"), ("template", "list"), ("fleet",), ("top", "node")])
def test_other_commands_print_what_their_schema_says(
    words: tuple[str, ...], some: Cluster, capsys: Capture
) -> None:
    assert read_json(run(capsys, *words, "-o", "json")[1])["schema"] == "gpu-cockpit/v1"


def test_a_field_that_is_not_published_is_found(some: Cluster, capsys: Capture) -> None:
    tree = read_json(run(capsys, "get", "nodes", "-o", "json")[1])
    tree["items"][0]["colour"] = "red"
    with pytest.raises(jsonschema.ValidationError, match="colour"):
        checked(tree)
    del tree["items"][0]["colour"], tree["items"][0]["stage"]
    with pytest.raises(jsonschema.ValidationError, match="stage"):
        checked(tree)


# ---- CSV


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_csv_with_the_same_columns_also_without_rows(
    kind: str, cluster: Cluster, capsys: Capture
) -> None:
    empty = run(capsys, "get", kind, "-o", "csv")[1].splitlines()[0]
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    cluster.add(Kind.POOL, deployment(replicas=1))
    gang(cluster)
    code, out, err = run(capsys, "get", kind, "-o", "csv")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == empty
    rows = table(out)
    assert all(None not in row and None not in row.values() for row in rows)


def test_csv_has_numbers_as_json_has_them(some: Cluster, capsys: Capture) -> None:
    [row] = table(run(capsys, "get", "nodes", "-o", "csv")[1])
    [item] = read_json(run(capsys, "get", "nodes", "-o", "json")[1])["items"]
    assert row["name"] == "n1" and row["gpus_allocated"] == "4"
    assert row["duty.gpus"] == str(item["duty"]["gpus"]) and row["duty.mean_ratio"] == ""
    assert json.loads(row["gpus"]) == item["gpus"]


@pytest.mark.parametrize(
    "words", [("audit", "list"), ("template", "list"), ("fleet",), ("top", "gpu"), ("triage",)]
)
def test_whatever_has_json_has_csv(words: tuple[str, ...], some: Cluster, capsys: Capture) -> None:
    code, out, _err = run(capsys, *words, "-o", "csv")
    assert code in (0, 3)
    assert len(out.splitlines()[0].split(",")) > 5


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1", "\rx", "\n=1", "＝1", "－1", "=cmd|' /C calc'!A0"],
)
def test_no_text_is_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "true"), (-1, "-1"), (-0.5, "-0.5"), ("a-b", "a-b"), ("", ""),
        ("it's \"so\"", "it's \"so\""), (["=1"], '["=1"]'), ({"a": None}, '{"a": null}'),
    ],
)  # fmt: skip
def test_what_is_no_formula_stays(value: Any, text: str) -> None:
    assert cell(value) == text


def test_quotes_commas_and_new_lines_come_back(cluster: Cluster, capsys: Capture) -> None:
    names = ['a "quoted", name', "two\nlines", "=HYPERLINK(0)", "ünï"]
    cluster.add(Kind.NODE, *(node(name, pool="h100") for name in names))
    rows = table(run(capsys, "get", "nodes", "-o", "csv")[1])
    assert sorted(row["name"] for row in rows) == sorted(["'=HYPERLINK(0)", *names[:2], names[3]])


def test_no_column_stands_for_two_fields() -> None:
    for name, document in DOCUMENTS.items():
        paths = [".".join(path) for path in columns(rows_of(document) or document)]
        assert len(paths) == len(set(paths)), name


# ---- --watch


def test_changes_are_told_once() -> None:
    changes = RowChanges()
    first, second = {"name": "a", "n": 1}, {"name": "b", "n": 1}
    assert [item.event for item in changes.since_last([("a", first), ("b", second)], has_all=True)] == [
        "ADDED"
    ] * 2
    assert changes.since_last([("a", first), ("b", second)], has_all=True) == []
    more = {**first, "n": 2}
    assert changes.since_last([("a", more)], has_all=False) == [("MODIFIED", more)]
    assert changes.since_last([("a", more)], has_all=True) == [("DELETED", second)]
    assert changes.since_last([("a", more)], has_all=True) == []


class EnoughSeen(Exception):
    """Ends the watching."""


async def watched(cluster: Cluster, output: str, capsys: Capture, *steps: Batch) -> str:
    """What `get nodes --watch` prints while these batches come, one a look."""
    options: argparse.Namespace = build_parser().parse_args(["get", "nodes", "-w", "-o", output])
    attachments: list[Any] = []
    told = list(steps)

    async def sleep(_seconds: float) -> None:
        if not told:
            raise EnoughSeen
        attachments[0].sink(told.pop(0))

    class Kept(attached_module.Attachment):  # type: ignore[name-defined,misc]
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            attachments.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cockpit.commands.attached.Attachment", Kept)
        with pytest.raises(EnoughSeen):
            await get.watch(options, AttachOptions(), ManualClock(1_000.0), sleep)
    return capsys.readouterr().out


N1, N2 = node("n1", pool="h100"), node("n2", pool="h100")
STEPS = (
    Batch(kind=Kind.NODE, changed=(N2,)),
    Batch(kind=Kind.NODE, changed=(msgspec.structs.replace(N1, unschedulable=True),)),
    Batch(kind=Kind.NODE),
    Batch(kind=Kind.NODE, removed=(N2.uid,)),
)


async def test_watching_as_json_prints_a_line_a_change(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, N1)
    lines = [
        checked(json.loads(line)) for line in (await watched(cluster, "json", capsys, *STEPS)).splitlines()
    ]
    assert [(line["event"], line["item"]["name"]) for line in lines] == [
        ("ADDED", "n1"), ("ADDED", "n2"), ("MODIFIED", "n1"), ("DELETED", "n2"),
    ]  # fmt: skip
    assert {(line["kind"], line["context"]) for line in lines} == {("nodes", "prod")}


async def test_watching_as_csv_has_one_head(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, N1)
    rows = table(await watched(cluster, "csv", capsys, *STEPS))
    assert [(row["event"], row["name"]) for row in rows] == [
        ("ADDED", "n1"), ("ADDED", "n2"), ("MODIFIED", "n1"), ("DELETED", "n2"),
    ]  # fmt: skip


async def test_watching_as_table_prints_it_again_when_it_changes(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, N1)
    pages = (await watched(cluster, "table", capsys, *STEPS)).split("\n\n")
    assert [page.count("\nn") for page in pages] == [1, 2, 2, 1]


@pytest.mark.parametrize("kind", ["overview", "engines"])
def test_what_cannot_be_watched_is_said(kind: str, cluster: Cluster, capsys: Capture) -> None:
    code, out, err = run(capsys, "get", kind, "-w")
    assert (code, out) == (2, "")
    assert err.startswith(f"cockpit: --watch: get {kind} has none; watch one of jobs, nodes")


async def test_a_node_is_not_gone_while_nodes_may_no_longer_be_read(
    cluster: Cluster, capsys: Capture
) -> None:
    cluster.add(Kind.NODE, N1, N2)
    partial = StreamStatus(kind=Kind.NODE, phase=Phase.LIVE, is_partial=True)
    steps = (Batch(kind=Kind.NODE, removed=(N2.uid,), status=partial),)
    rows = table(await watched(cluster, "csv", capsys, *steps))
    assert [row["event"] for row in rows] == ["ADDED", "ADDED"]
