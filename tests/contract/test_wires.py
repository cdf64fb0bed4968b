"""Both encodings of one object are one record, on lists and on watches."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.decode.wire import JSON, PROTOBUF, wire_of
from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.kube.session import Query
from cockpit.model.record import Record
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect, needs
from tests.contract.faults import as_json
from tests.contract.following import following
from tests.contract.server import Capability
from tests.contract.shapes import event, job, node, pod

MADE_AT = "2026-03-04T05:06:07Z"


def _node(admin: Api, space: str) -> None:
    tree = node(f"wire-{space}", labels={"nvidia.com/gpu.count": "8", "topology.kubernetes.io/zone": "eu-1a"})
    tree["spec"] = {
        "unschedulable": True,
        "providerID": "test://1",
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
    }
    tree["status"] |= {
        "addresses": [{"type": "InternalIP", "address": "10.64.0.3"}],
        "conditions": [
            {
                "type": "Ready",
                "status": "False",
                "reason": "KubeletNotReady",
                "message": "container runtime is down",
                "lastHeartbeatTime": MADE_AT,
                "lastTransitionTime": MADE_AT,
            }
        ],
    }
    admin.create("/api/v1/nodes", tree)


def _pod(admin: Api, space: str) -> None:
    tree = pod("wire", gpus=4, labels={"training.kubeflow.org/job-name": "llm"})
    tree["spec"] |= {
        "initContainers": [
            {
                "name": "fetch",
                "image": "registry.test/fetch:1",
                "resources": {"requests": {"cpu": "250m", "memory": "1Gi"}},
            }
        ],
        "schedulingGates": [{"name": "contract.test/gate"}],
    }
    tree["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1500m", "memory": "12345678Ki"}
    admin.create(in_space(space, "pods"), tree)
    status = {
        "phase": "Running",
        "podIP": "10.64.0.7",
        "startTime": MADE_AT,
        "containerStatuses": [
            {
                "name": "main",
                "image": "registry.test/train:1",
                "imageID": "",
                "ready": False,
                "restartCount": 3,
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
                "lastState": {
                    "terminated": {
                        "exitCode": 137,
                        "reason": "OOMKilled",
                        "startedAt": MADE_AT,
                        "finishedAt": MADE_AT,
                    }
                },
            }
        ],
    }
    admin.merge(f"{in_space(space, 'pods', 'wire')}/status", {"status": status})


def _event(admin: Api, space: str) -> None:
    about = admin.create(in_space(space, "pods"), pod("about"))
    admin.create(
        in_space(space, "events"),
        event(
            "wire", space, about, reason="FailedScheduling", message="0/40 nodes: 40 Insufficient", count=12
        ),
    )
    newer = event("series", space, about, reason="Unhealthy", message="probe failed")
    newer |= {
        "eventTime": "2026-03-04T05:06:07.123456Z",
        "series": {"count": 5, "lastObservedTime": "2026-03-04T05:16:07.654321Z"},
        "reportingComponent": "contract.test/kubelet",
        "reportingInstance": "n1",
        "action": "Probing",
    }
    for gone in ("count", "firstTimestamp", "lastTimestamp", "source"):
        del newer[gone]
    admin.create(in_space(space, "events"), newer)


def _job(admin: Api, space: str) -> None:
    base = in_space(space, "jobs", base="/apis/batch/v1")
    tree = job("wire", parallelism=4)
    tree["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "main"}
    admin.create(base, tree)


def _namespace(admin: Api, space: str) -> None:
    admin.merge(f"/api/v1/namespaces/{space}", {"metadata": {"labels": {"team": "a"}}})


KINDS: dict[str, tuple[Resource, Decoder, Callable[[Api, str], None]]] = {
    "nodes": (NODES, decoders.NODE, _node),
    "pods": (PODS, decoders.POD, _pod),
    "events": (EVENTS, decoders.EVENT, _event),
    "jobs": (JOBS, decoders.JOB, _job),
    "namespaces": (NAMESPACES, decoders.NAMESPACE, _namespace),
}


def _is_ours(record: Record, space: str) -> bool:
    return space in record.key


@pytest.fixture
def cleaned_node(admin: Api, space: str) -> Any:
    yield
    admin.delete(f"/api/v1/nodes/wire-{space}")


@needs(Capability.PROTOBUF)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_list_in_both_encodings_gives_the_same_records(
    space: str, admin: Api, connect: Connect, kind: str, cleaned_node: None
) -> None:
    resource, decoder, make = KINDS[kind]
    make(admin, space)
    session = await connect("viewer")
    records = {}
    query: Query = ()
    for accept in (PROTOBUF, JSON):
        answer = await session.request("GET", resource.path(space), query=query, accept=accept)
        assert answer.content_type.startswith(accept)
        decode = decoder.for_type(answer.content_type)
        page = wire_of(answer.content_type).page(answer.body)
        # Controllers write meanwhile: the second read is of what was there at the first.
        query = (("resourceVersion", page.version), ("resourceVersionMatch", "Exact"))
        made = [decode(item) for item in page.items]
        # Other cases' namespaces come and go meanwhile.
        records[accept] = {one.uid: one for one in made if one is not None and _is_ours(one, space)}
    assert records[JSON], "the list holds something"
    assert records[PROTOBUF] == records[JSON]


@needs(Capability.PROTOBUF)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_watch_in_both_encodings_gives_the_same_rows(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, kind: str, cleaned_node: None
) -> None:
    resource, decoder, make = KINDS[kind]
    proxy.plan(as_json(), times=None, watch=True)
    plain, through = await connect("viewer"), await connect("viewer", through=proxy)
    async with (
        following(plain, resource, namespace=space, decoder=decoder) as binary,
        following(through, resource, namespace=space, decoder=decoder) as text,
    ):
        await binary.mirror.until_live()
        await text.mirror.until_live()
        make(admin, space)
        wanted = {"nodes": f"wire-{space}", "namespaces": space}.get(kind, "wire")
        last = {"events": "series"}.get(kind, wanted)
        await binary.mirror.until(lambda: last in binary.mirror.names)
        await text.mirror.until(lambda: last in text.mirror.names)
        await text.mirror.until(lambda: text.mirror.versions == binary.mirror.versions, "equal versions")
        await binary.mirror.until(lambda: text.mirror.versions == binary.mirror.versions, "equal versions")
        assert text.mirror.named(wanted) == binary.mirror.named(wanted)


@needs(Capability.PROTOBUF)
async def test_a_pods_numbers_are_the_same_in_both(space: str, admin: Api, connect: Connect) -> None:
    _pod(admin, space)
    session = await connect("viewer")
    for accept in (PROTOBUF, JSON):
        answer = await session.request("GET", in_space(space, "pods"), accept=accept)
        (item,) = wire_of(answer.content_type).page(answer.body).items
        row: Any = decoders.POD.for_type(answer.content_type)(item)
        assert (row.cpu_millicores, row.memory_bytes, row.gpus) == (1500, 12345678 * 1024, 4)
        assert (row.restarts, row.waiting_reason, row.exit_code) == (3, "CrashLoopBackOff", 137)
        assert row.is_gated
        assert row.job_label == "llm"
        assert row.started_seconds == 1772600767.0


@needs(Capability.PROTOBUF)
async def test_the_reflector_asks_for_protobuf_and_gets_it(
    space: str, connect: Connect, proxy: FaultProxy
) -> None:
    async with following(await connect("viewer", through=proxy), PODS, namespace=space) as one:
        await one.mirror.until_live()
        accept = proxy.requests("/pods")[0].headers["Accept"]
        assert accept.startswith("application/vnd.kubernetes.protobuf;stream=watch")
        assert "application/json" in accept, "a server without protobuf may answer JSON"


@needs(Capability.PROTOBUF)
async def test_an_error_is_read_in_both_encodings(space: str, connect: Connect) -> None:
    session = await connect("viewer")
    said = []
    for accept in (PROTOBUF, JSON):
        answer = await session.request("GET", in_space(space, "pods", "gone"), accept=accept)
        assert answer.status == 404
        said.append((answer.message(), answer.server_status().reason))
    assert said[0] == said[1] == ('pods "gone" not found', "NotFound")
