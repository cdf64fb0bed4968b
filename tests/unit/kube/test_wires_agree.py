"""The same object in protobuf and in JSON gives the same record."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.proto import batch_pb2, core_pb2
from tests.unit.kube.builders import CREATED, fill, gpu_container, meta, owner

TIMES = st.sampled_from([CREATED, "2026-11-01T10:00:00.123456Z", "2026-11-02T12:30:01+02:00"])
TEXT = st.text(max_size=12).filter(lambda text: not any("\ud800" <= one <= "\udfff" for one in text))
NAMES = st.sampled_from(["a", "worker-0", "nvidia.com/gpu", "x\x1b[31m", "ä"])
QUANTITIES = st.sampled_from(["1", "500m", "2", "64Gi", "1e3", "8", "nonsense", "0"])
RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "amd.com/gpu", "rdma/ib"]),
    QUANTITIES,
)
LABEL_KEYS = st.sampled_from(
    [
        "training.kubeflow.org/job-name",
        "training.kubeflow.org/job-role",
        "training.kubeflow.org/replica-index",
        "batch.kubernetes.io/job-completion-index",
        "kueue.x-k8s.io/queue-name",
        "scheduling.x-k8s.io/pod-group",
        "nvidia.com/gpu.count",
        "pool",
        "app",
    ]
)
LABELS = st.dictionaries(LABEL_KEYS, st.sampled_from(["0", "17", "llm", "Worker", "", "x\ny"]))


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A tree with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


METADATA = st.builds(
    lambda tree: meta("one") | tree,
    some(
        labels=LABELS,
        annotations=st.dictionaries(st.sampled_from(["scheduling.k8s.io/group-name", "note"]), TEXT),
        deletionTimestamp=TIMES,
        ownerReferences=st.lists(
            st.sampled_from([owner("PyTorchJob", "j"), owner("Job", "k") | {"controller": False}])
        ),
    ),
)
CONTAINERS = st.lists(
    some(
        name=NAMES,
        image=TEXT,
        command=st.lists(TEXT, max_size=2),
        args=st.lists(TEXT, max_size=2),
        restartPolicy=st.just("Always"),
        resources=some(requests=RESOURCES, limits=RESOURCES),
    ),
    max_size=3,
)
STATES = some(
    waiting=some(reason=NAMES, message=TEXT),
    terminated=some(exitCode=st.integers(-1, 255), reason=NAMES, finishedAt=TIMES),
)
STATUSES = st.lists(
    some(name=NAMES, state=STATES, lastState=STATES, ready=st.booleans(), restartCount=st.integers(0, 9)),
    max_size=3,
)
CONDITIONS = st.lists(
    some(
        type=st.sampled_from(["Ready", "PodScheduled", "Failed", "Complete"]),
        status=st.sampled_from(["True", "False", "Unknown"]),
        reason=NAMES,
        message=TEXT,
        lastTransitionTime=TIMES,
    ),
    max_size=3,
)
POD_SPECS = some(
    nodeName=NAMES,
    hostNetwork=st.booleans(),
    priority=st.integers(-5, 5),
    priorityClassName=NAMES,
    schedulerName=NAMES,
    containers=CONTAINERS,
    initContainers=CONTAINERS,
    overhead=RESOURCES,
    schedulingGates=st.lists(some(name=NAMES), max_size=1),
    resources=some(requests=RESOURCES),
    schedulingGroup=some(podGroupName=NAMES),
)
PODS = st.fixed_dictionaries(
    {"metadata": METADATA},
    optional={
        "spec": POD_SPECS,
        "status": some(
            phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
            conditions=CONDITIONS,
            reason=NAMES,
            message=TEXT,
            podIP=st.just("10.0.0.1"),
            startTime=TIMES,
            containerStatuses=STATUSES,
            initContainerStatuses=STATUSES,
        ),
    },
)
NODES = st.fixed_dictionaries(
    {"metadata": METADATA},
    optional={
        "spec": some(
            providerID=TEXT,
            unschedulable=st.booleans(),
            taints=st.lists(some(key=NAMES, value=NAMES, effect=NAMES), max_size=2),
        ),
        "status": some(
            capacity=RESOURCES,
            allocatable=RESOURCES,
            conditions=CONDITIONS,
            addresses=st.lists(
                some(type=st.sampled_from(["InternalIP", "Hostname"]), address=NAMES), max_size=2
            ),
            nodeInfo=some(kubeletVersion=NAMES),
        ),
    },
)
EVENTS = st.fixed_dictionaries(
    {"metadata": METADATA},
    optional={
        "involvedObject": some(kind=NAMES, namespace=NAMES, name=NAMES, uid=NAMES),
        "reason": NAMES,
        "message": TEXT,
        "source": some(component=NAMES),
        "firstTimestamp": TIMES,
        "lastTimestamp": TIMES,
        "eventTime": TIMES,
        "count": st.integers(0, 9),
        "type": NAMES,
        "series": some(count=st.integers(0, 99), lastObservedTime=TIMES),
        "reportingComponent": NAMES,
    },
)
JOBS = st.fixed_dictionaries(
    {"metadata": METADATA},
    optional={
        "spec": some(
            parallelism=st.integers(0, 9),
            completions=st.integers(0, 9),
            suspend=st.booleans(),
            template=some(spec=POD_SPECS),
        ),
        "status": some(
            conditions=CONDITIONS,
            startTime=TIMES,
            completionTime=TIMES,
            active=st.integers(0, 9),
            succeeded=st.integers(0, 9),
            failed=st.integers(0, 9),
        ),
    },
)


def agree(decoder: Decoder, message: Any, tree: dict[str, Any]) -> Any:
    assert decoder.from_protobuf is not None
    record = decoder.from_json(json.dumps(tree).encode())
    assert decoder.from_protobuf(fill(message, tree).SerializeToString()) == record
    return record


@settings(deadline=None, max_examples=150)
@given(PODS)
def test_pods(tree: dict[str, Any]) -> None:
    agree(decoders.POD, core_pb2.Pod(), tree)


@settings(deadline=None, max_examples=80)
@given(NODES)
def test_nodes(tree: dict[str, Any]) -> None:
    agree(decoders.NODE, core_pb2.Node(), tree)


@settings(deadline=None, max_examples=80)
@given(EVENTS)
def test_events(tree: dict[str, Any]) -> None:
    agree(decoders.EVENT, core_pb2.Event(), tree)


@settings(deadline=None, max_examples=80)
@given(JOBS)
def test_jobs(tree: dict[str, Any]) -> None:
    agree(decoders.JOB, batch_pb2.Job(), tree)


@pytest.mark.parametrize("gpus", [0, 1, 8])
def test_a_whole_pod(gpus: int) -> None:
    tree = {
        "metadata": meta("p", labels={"training.kubeflow.org/job-name": "llm"}),
        "spec": {"containers": [gpu_container(gpus)], "priority": 0},
        "status": {"phase": "Running", "podIP": "10.64.0.9", "startTime": CREATED},
    }
    record = agree(decoders.POD, core_pb2.Pod(), tree)
    assert (record.gpus, record.job_label, record.pod_ip, record.priority) == (gpus, "llm", "10.64.0.9", 0)


def test_records_hold_no_reference_to_the_garbage_collector() -> None:
    import gc

    record = decoders.POD.from_json(json.dumps({"metadata": meta("p")}).encode())
    assert not gc.is_tracked(record)
