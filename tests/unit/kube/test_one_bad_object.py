"""One bad object among many, each field damaged in turn: it costs itself. What reading each alone costs."""

import copy
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from cockpit.kube.decode import decoders, shapes
from cockpit.kube.decode.pods import pod_record
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.wire import JSON_WIRE
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import (
    FakeServer,
    bookmark,
    event,
    gpu_container,
    listing,
    meta,
    owner,
    pod,
    stream,
)
from tests.unit.kube.variants import ODD as ODD_ERRORS
from tests.unit.kube.watching import PATH, Watcher, ended

END = bookmark("9", ends_list=True)
RICH: dict[str, Any] = pod(
    metadata=meta("bad")
    | {
        "labels": {"training.kubeflow.org/job-name": "llm"},
        "annotations": {"note": "text"},
        "ownerReferences": [owner("PyTorchJob", "llm")],
        "deletionTimestamp": "2026-11-01T10:00:00Z",
    },
    spec={
        "nodeName": "n1",
        "priority": 5,
        "priorityClassName": "high",
        "schedulerName": "default-scheduler",
        "schedulingGates": [{"name": "gate"}],
        "containers": [gpu_container(8) | {"command": ["python"], "args": ["train.py"]}],
        "initContainers": [gpu_container(1, name="init")],
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "overhead": {"cpu": "1"},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
    },
    status={
        "phase": "Running",
        "message": "text",
        "reason": "text",
        "podIP": "10.0.0.1",
        "startTime": "2026-11-01T10:00:00Z",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-01T10:00:00Z"}],
        "containerStatuses": [
            {
                "name": "main",
                "ready": True,
                "restartCount": 3,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
                "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
            }
        ],
    },
)
ODD: tuple[Any, ...] = (None, 42, -1e300, "x", "", True, [], {}, [[None]], {"a": {"b": []}}, "\x1b[31m")


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in the object."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield (*path, key)
        yield from places(value, (*path, key))


def damaged() -> Iterator[dict[str, Any]]:
    """The object with one field missing, null, or of another type, for each field and each way."""
    for path in places(RICH):
        for odd in (*ODD, places):
            tree = copy.deepcopy(RICH)
            around = tree
            for key in path[:-1]:
                around = around[key]
            if odd is places:  # any mark of its own: the field is missing
                del around[path[-1]]
            else:
                around[path[-1]] = odd
            yield tree


def is_refused(tree: dict[str, Any]) -> bool:
    try:
        decoders.POD.from_json(json.dumps(tree).encode())
    except ODD_ERRORS:
        return True
    return False


@pytest.mark.row(35, "ways in which a field was damaged", least=1_000)
@pytest.mark.row(35, "good objects lost or changed beside a bad one", most=0)
@pytest.mark.row(35, "refused objects that are not counted", most=0)
async def test_a_field_that_is_bad_costs_its_object_only(
    server: FakeServer, watcher: Watcher, figure: Tell
) -> None:
    bad = list(damaged())
    good = [pod(f"good-{at}") for at in range(len(bad))]
    lines = [event("ADDED", tree) for pair in zip(bad, good, strict=True) for tree in pair]
    server.on(PATH, stream(b"".join(lines), END, stays=True))
    await watcher.until(lambda: ended(watcher))
    wanted = [decoders.POD.from_json(json.dumps(tree).encode()) for tree in good]
    lost = [item for item in wanted if item is not None and watcher.table.get(item.uid) != item]
    figure("ways in which a field was damaged", len(bad))
    figure("good objects lost or changed beside a bad one", len(lost))
    figure("refused objects that are not counted", sum(map(is_refused, bad)) - watcher.skipped)
    assert server.count(PATH) == 1


@pytest.mark.row(35, "right among the other 49,999", least=49_999, unit="cases")
@pytest.mark.row(35, "objects counted as bad", least=1, most=1)
async def test_one_bad_object_among_fifty_thousand(
    server: FakeServer, watcher: Watcher, figure: Tell
) -> None:
    count = whole(50_000, 2_000)
    lines = [event("ADDED", pod(f"p-{at}")) for at in range(count)]
    lines[count // 2] = event("ADDED", {"metadata": meta("bad"), "spec": {"containers": "none"}})
    pieces = [b"".join(lines[at : at + 500]) for at in range(0, count, 500)]
    server.on(PATH, stream(*pieces, END, stays=True))
    await watcher.until(lambda: ended(watcher))
    wanted = msgspec.structs.asdict(watcher.table["uid-p-0"])
    right = sum(
        msgspec.structs.asdict(item) == wanted | {"uid": f"uid-{item.name}", "name": item.name}
        for item in watcher.table.values()
    )
    figure("right among the other 49,999", right)
    figure("objects counted as bad", watcher.skipped)
    assert right == count - 1


def usual_pod(name: str) -> dict[str, Any]:
    """A pod of 9 kB, as the workers of a training job are: mostly what the cockpit does not read."""
    fields: Any = {f"f:field-{at}": {"f:value": {}, ".": {}} for at in range(60)}
    environment = [{"name": f"VARIABLE_{at}", "value": f"some value of {at}"} for at in range(70)]
    tree = pod(name)
    tree["metadata"]["managedFields"] = [{"manager": "kubelet", "operation": "Update", "fieldsV1": fields}]
    tree["spec"]["containers"][0]["env"] = environment
    tree["spec"]["volumes"] = [{"name": f"v{at}", "configMap": {"name": f"map-{at}"}} for at in range(30)]
    return tree


class Whole(shapes.WireShape, frozen=True):
    """A list that is decoded in one piece: one bad item costs all."""

    items: tuple[shapes.WirePod, ...] = ()


@pytest.mark.row(35, "what reading each object alone costs", most=5, unit="us")
def test_what_reading_each_object_alone_costs(figure: Tell) -> None:
    count = 500
    body = json.dumps(listing(*(usual_pod(f"p-{at}") for at in range(count)))).encode()
    assert 8_000 < len(body) / count < 10_000
    in_one = msgspec.json.Decoder(Whole)

    def alone() -> list[Any]:
        return [decoders.POD.from_json(item) for item in JSON_WIRE.page(body).items]

    def together() -> list[Any]:
        return [pod_record(item, JSON) for item in in_one.decode(body).items]

    assert alone() == together()
    figure("what reading each object alone costs", (fastest(alone) - fastest(together)) / count * 1e6)


def fastest(work: Callable[[], object], rounds: int = 20) -> float:
    """Seconds of the quickest round: what else the machine did is left out."""
    seconds = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return min(seconds)
