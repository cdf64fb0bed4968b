"""Rows of `kubectl get`: words and numbers as the real printers write them."""

from typing import Any

import pytest

from cockpit.kube.resource import PODS, Resource
from cockpit.sim.server.http.tables.columns import human_duration
from cockpit.sim.server.http.tables.custom import custom_printer, parse
from cockpit.sim.server.http.tables.table import printer_of, table
from cockpit.sim.times import rfc3339

NOW = 1_790_000_000.0


def _meta(name: str, age_seconds: float = 90, **more: Any) -> dict[str, Any]:
    return {"name": name, "creationTimestamp": rfc3339(NOW - age_seconds), **more}


def _shown(resource: Resource, tree: dict[str, Any]) -> dict[str, Any]:
    """Cells by the names of their columns."""
    printer = printer_of(resource)
    cells = printer.cells(tree, NOW)
    assert len(cells) == len(printer.columns), "a cell for each column"
    return {column.name: cell for column, cell in zip(printer.columns, cells, strict=True)}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (599, "9m59s"), (600, "10m")),
        *((3 * 3600 - 1, "179m"), (3 * 3600, "3h"), (3 * 3600 + 120, "3h2m"), (8 * 3600, "8h")),
        *((47 * 3600, "47h"), (48 * 3600, "2d"), (51 * 3600, "2d3h"), (8 * 86400, "8d")),
        *((729 * 86400, "729d"), (730 * 86400, "2y"), (735 * 86400, "2y5d"), (9 * 365 * 86400, "9y")),
        *((-1, "0s"), (-5, "<invalid>")),
    ],
)
def test_ages(seconds: int, text: str) -> None:
    assert human_duration(seconds) == text if seconds != -1 else human_duration(-0.5) == text


def _pod(**status: Any) -> dict[str, Any]:
    return {
        "metadata": _meta("p"),
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n1"},
        "status": {"phase": "Running", **status},
    }


def _container(state: dict[str, Any], *, ready: bool = False, restarts: int = 0) -> dict[str, Any]:
    return {"name": "a", "ready": ready, "restartCount": restarts, "state": state}


@pytest.mark.parametrize(
    ("status", "ready", "word"),
    [
        ({}, "0/2", "Running"),
        ({"containerStatuses": [_container({"running": {}}, ready=True)]}, "1/2", "Running"),
        ({"containerStatuses": [_container({"waiting": {"reason": "ErrImagePull"}})]}, "0/2", "ErrImagePull"),
        (
            {"phase": "Failed", "containerStatuses": [_container({"terminated": {"reason": "OOMKilled"}})]},
            "0/2",
            "OOMKilled",
        ),
        (
            {"phase": "Failed", "containerStatuses": [_container({"terminated": {"exitCode": 3}})]},
            "0/2",
            "ExitCode:3",
        ),
        (
            {"phase": "Failed", "containerStatuses": [_container({"terminated": {"signal": 9}})]},
            "0/2",
            "Signal:9",
        ),
        ({"phase": "Failed", "reason": "Evicted"}, "0/2", "Evicted"),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "0/2",
            "SchedulingGated",
        ),
        (
            {
                "containerStatuses": [
                    _container({"terminated": {"reason": "Completed", "exitCode": 0}}),
                    _container({"running": {}}, ready=True),
                ]
            },
            "1/2",
            "NotReady",
        ),
    ],
)
def test_the_word_of_a_pod(status: dict[str, Any], ready: str, word: str) -> None:
    shown = _shown(PODS, _pod(**status))
    assert (shown["Ready"], shown["Status"]) == (ready, word)


CUSTOM: list[dict[str, Any]] = [
    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
    {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    {"name": "First", "type": "string", "jsonPath": ".spec.names[0]", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


def test_columns_of_a_definition() -> None:
    printer = custom_printer(CUSTOM)
    tree = {
        "metadata": _meta("x", 300),
        "spec": {"replicas": 3, "names": ["a", "b"]},
        "status": {"conditions": [{"type": "Other", "status": "No"}, {"type": "Ready", "status": "True"}]},
    }
    assert printer.cells(tree, NOW) == ["x", 3, "True", "a", "5m"]
    assert printer.cells({"metadata": _meta("y", 300)}, NOW) == ["y", None, None, None, "5m"]
    assert [column.priority for column in printer.columns] == [0, 0, 0, 1, 0]


def test_a_path_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"'\.spec\[x\]' is not understood"):
        parse(".spec[x]")


@pytest.mark.parametrize("path", [".spec[x]", "." * 50, '.a[?(@.b[=="c")]'])
def test_a_definition_with_a_path_that_is_none_shows_name_and_age(path: str) -> None:
    printer = custom_printer([{"name": "A", "type": "string", "jsonPath": path}])
    assert [column.name for column in printer.columns] == ["Name", "Age"]


def test_a_finished_pod_is_marked_for_clients_that_leave_it_out() -> None:
    (made,) = table(printer_of(PODS), [_pod(phase="Succeeded")], NOW, metadata={})["rows"]
    assert made["conditions"][0] == {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    }
