"""Rows of `kubectl get`: words and numbers as the real printers write them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.kube.resource import EVENTS, JOBS, NODES, PODS, Resource
from cockpit.sim.server.http.tables.cells import selector_text
from cockpit.sim.server.http.tables.columns import human_duration
from cockpit.sim.server.http.tables.custom import custom_printer, parse
from cockpit.sim.server.http.tables.table import printer_of, row, table
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


@given(st.integers(min_value=0, max_value=10**10))
def test_an_age_is_short_and_never_longer_than_the_time(seconds: int) -> None:
    text = human_duration(seconds)
    assert len(text) <= 9
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "y": 365 * 86400}
    told, number = 0, ""
    for one in text:
        if one.isdigit():
            number += one
        else:
            told += int(number) * units[one]
            number = ""
    assert told <= seconds < told * 2 + 120


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


def test_a_pod_that_goes_says_so_and_a_finished_one_does_not() -> None:
    tree = _pod(phase="Running")
    tree["metadata"]["deletionTimestamp"] = rfc3339(NOW)
    assert _shown(PODS, tree)["Status"] == "Terminating"
    tree["status"]["phase"] = "Succeeded"
    assert _shown(PODS, tree)["Status"] == "Succeeded"


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ({"running": {}}, "Init:0/2"),
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/2"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "Init:ImagePullBackOff"),
        ({"terminated": {"exitCode": 7}}, "Init:ExitCode:7"),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
    ],
)
def test_the_word_of_a_pod_in_its_init_containers(state: dict[str, Any], word: str) -> None:
    tree = _pod(phase="Pending", initContainerStatuses=[_container(state, restarts=2)])
    tree["spec"]["initContainers"] = [{"name": "a"}, {"name": "second"}]
    shown = _shown(PODS, tree)
    assert (shown["Status"], shown["Restarts"], shown["Ready"]) == (word, "2", "0/2")


def test_restarts_tell_when_the_last_one_was() -> None:
    one = _container({"running": {}}, ready=True, restarts=3)
    one["lastState"] = {"terminated": {"finishedAt": rfc3339(NOW - 300)}}
    assert _shown(PODS, _pod(containerStatuses=[one]))["Restarts"] == "3 (5m ago)"


def test_a_sidecar_counts_as_a_container() -> None:
    tree = _pod(
        initContainerStatuses=[{**_container({"running": {}}, ready=True, restarts=1), "started": True}],
        containerStatuses=[_container({"running": {}}, ready=True)],
    )
    tree["spec"]["initContainers"] = [{"name": "a", "restartPolicy": "Always"}]
    shown = _shown(PODS, tree)
    assert (shown["Ready"], shown["Status"], shown["Restarts"]) == ("2/3", "Running", "1")


def test_a_node_tells_its_roles_and_that_it_is_cordoned() -> None:
    tree = {
        "metadata": _meta("n", labels={"node-role.kubernetes.io/gpu": "", "kubernetes.io/role": "worker"}),
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0"},
        },
    }
    shown = _shown(NODES, tree)
    assert shown["Status"] == "Ready,SchedulingDisabled"
    assert shown["Roles"] == "gpu,worker"
    assert (shown["Version"], shown["Internal-IP"], shown["External-IP"]) == ("v1.36.0", "10.0.0.1", "<none>")


@pytest.mark.parametrize(
    ("spec", "status", "words"),
    [
        ({"completions": 4}, {"succeeded": 1, "startTime": rfc3339(NOW - 60)}, ("Running", "1/4", "60s")),
        ({"parallelism": 3}, {}, ("Running", "0/1 of 3", "")),
        (
            {"completions": 1},
            {
                "succeeded": 1,
                "startTime": rfc3339(NOW - 60),
                "completionTime": rfc3339(NOW - 50),
                "conditions": [{"type": "Complete", "status": "True"}],
            },
            ("Complete", "1/1", "10s"),
        ),
        (
            {"completions": 1},
            {"conditions": [{"type": "Suspended", "status": "True"}]},
            ("Suspended", "0/1", ""),
        ),
    ],
)
def test_a_job(spec: dict[str, Any], status: dict[str, Any], words: tuple[str, str, str]) -> None:
    shown = _shown(JOBS, {"metadata": _meta("j"), "spec": spec, "status": status})
    assert (shown["Status"], shown["Completions"], shown["Duration"]) == words


def test_an_event_of_either_group_reads_the_same() -> None:
    core = {
        "metadata": _meta("e"),
        "involvedObject": {"kind": "Pod", "name": "p"},
        "source": {"component": "kubelet", "host": "n1"},
        "reason": "Pulled",
        "message": "all there\n",
        "type": "Normal",
        "count": 3,
        "firstTimestamp": rfc3339(NOW - 60),
        "lastTimestamp": rfc3339(NOW - 10),
    }
    new = {
        "metadata": _meta("e"),
        "regarding": {"kind": "Pod", "name": "p"},
        "deprecatedSource": {"component": "kubelet", "host": "n1"},
        "reason": "Pulled",
        "note": "all there\n",
        "type": "Normal",
        "deprecatedCount": 3,
        "deprecatedFirstTimestamp": rfc3339(NOW - 60),
        "deprecatedLastTimestamp": rfc3339(NOW - 10),
    }
    shown = _shown(EVENTS, core)
    assert shown == _shown(EVENTS, new)
    assert (shown["Last Seen"], shown["Object"], shown["Message"]) == ("10s", "pod/p", "all there")
    assert (shown["Source"], shown["First Seen"], shown["Count"]) == ("kubelet, n1", "60s", 3)


def test_a_selector_is_written_as_l_takes_it() -> None:
    selector = {
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    }
    assert selector_text(selector) == "a=1,b=2,c in (x,y),!d"
    assert selector_text({}) == "<none>"


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


def test_a_definition_without_columns_shows_name_and_age() -> None:
    printer = custom_printer([])
    assert [column.name for column in printer.columns] == ["Name", "Age"]


def test_a_path_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"'\.spec\[x\]' is not understood"):
        parse(".spec[x]")


@pytest.mark.parametrize("path", [".spec[x]", "." * 50, '.a[?(@.b[=="c")]'])
def test_a_definition_with_a_path_that_is_none_shows_name_and_age(path: str) -> None:
    printer = custom_printer([{"name": "A", "type": "string", "jsonPath": path}])
    assert [column.name for column in printer.columns] == ["Name", "Age"]


def test_a_cell_shows_the_beginning_of_a_long_text() -> None:
    printer = custom_printer([{"name": "A", "type": "string", "jsonPath": ".spec"}])
    cells = printer.cells({"metadata": {"name": "a"}, "spec": {"a": "x" * 100_000}}, NOW)
    assert len(cells[1]) < 1100


@pytest.mark.parametrize(("include", "has"), [("Metadata", "metadata"), ("Object", "spec"), ("None", "")])
def test_a_row_carries_what_was_asked_for(include: str, has: str) -> None:
    made = row(printer_of(PODS), _pod(), NOW, include)
    if has:
        assert has in made["object"]
        assert ("spec" in made["object"]) is (has == "spec")
    else:
        assert made["object"] is None


def test_a_finished_pod_is_marked_for_clients_that_leave_it_out() -> None:
    (made,) = table(printer_of(PODS), [_pod(phase="Succeeded")], NOW, metadata={})["rows"]
    assert made["conditions"][0] == {
        "type": "Completed",
        "status": "True",
        "reason": "Succeeded",
        "message": "The pod has completed successfully.",
    }
