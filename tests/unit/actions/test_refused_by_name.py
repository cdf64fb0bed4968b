"""What a person asks for and the cluster, or the job itself, does not have: refused by name."""

import json
from typing import Any

import pytest

from cockpit.actions.job_size import plan_resize
from cockpit.actions.named_objects import refuse_absent, refuse_absent_priority
from cockpit.actions.pool_reads import refuse_paused
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.resource import Resource
from cockpit.pools.index import pools_of
from tests.unit.actions.builders import job
from tests.unit.pools.builders import deployment, node, store_of

GROUP = "kueue.x-k8s.io"
RESOURCES = {
    "PriorityClass": Resource(
        "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
    ),
    "WorkloadPriorityClass": Resource(
        GROUP, "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
    ),
    "LocalQueue": Resource(GROUP, "v1beta2", "localqueues", "LocalQueue", namespaced=True),
    "ClusterQueue": Resource(GROUP, "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False),
}


def lookup(_version: str, kind: str) -> Resource | None:
    return RESOURCES.get(kind)


class Reader:
    """Answers paths from a table; what is not in it is not there."""

    def __init__(self, **more: Any) -> None:
        self.objects: dict[str, Any] = {
            "/priorityclasses": {"items": [{"metadata": {"name": "high"}}, {"metadata": {"name": "low"}}]},
            "/priorityclasses/high": {"metadata": {"name": "high"}},
            "/workloadpriorityclasses": {"items": [{"metadata": {"name": "prod"}}]},
            "/workloadpriorityclasses/prod": {"metadata": {"name": "prod"}},
            "/localqueues/main": {"metadata": {"name": "main"}, "spec": {"clusterQueue": "research"}},
            "/clusterqueues/research": {"metadata": {"name": "research"}, "spec": {"stopPolicy": "None"}},
            **more,
        }

    async def request(self, _method: str, path: str, **_more: Any) -> ApiAnswer:
        found = next((tree for end, tree in self.objects.items() if path.endswith(end)), None)
        if found is None:
            return ApiAnswer(404)
        return (
            found
            if isinstance(found, ApiAnswer)
            else ApiAnswer(200, "application/json", json.dumps(found).encode())
        )


def manifest(**values: str) -> dict[str, Any]:
    given = {"name": "x", "image": "registry.example/train:1", "namespace": "team-a", **values}
    return render(load_library(()).named("job"), given)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"pod-priority": "hihg"},
            "priority: this cluster has no PriorityClass hihg: choose one of high, low",
        ),
        ({"queue": "main", "priority": "hihg"}, "has no WorkloadPriorityClass hihg: choose one of prod"),
        ({"queue": "mian"}, "queue: namespace team-a has no LocalQueue mian: choose another one"),
    ],
)
async def test_a_name_that_is_not_there_is_refused(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        await refuse_absent(Reader(), lookup, manifest(**values), "default")
    assert sentence in refused.value.sentence


async def test_what_is_there_or_may_not_be_read_is_not_refused() -> None:
    there = manifest(queue="main", priority="prod", **{"pod-priority": "high"})
    await refuse_absent(Reader(), lookup, there, "default")
    denied = Reader(**{"/priorityclasses/secret": ApiAnswer(403)})
    await refuse_absent_priority(denied, lookup, registry.NONE, "secret")


@pytest.mark.parametrize(
    ("stopped", "name"),
    [("/localqueues/main", "localqueue/team-a/main"), ("/clusterqueues/research", "clusterqueue/research")],
)
async def test_a_queue_that_is_stopped_is_refused_with_how_to_resume_it(stopped: str, name: str) -> None:
    reader = Reader()
    spec = {"clusterQueue": "research", "stopPolicy": "HoldAndDrain"}
    reader.objects[stopped] = {"metadata": {"name": "x"}, "spec": spec}
    with pytest.raises(BadInput, match="is stopped") as refused:
        await refuse_absent(reader, lookup, manifest(queue="main"), "default")
    assert f"{name} is stopped (HoldAndDrain)" in refused.value.sentence
    assert f"cockpit queue resume {name}" in refused.value.sentence


HOROVOD = "horovodrun --min-np 2 --max-np 4 python t.py"


def elastic(command: str = "", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "a:1", "command": ["sh", "-c", command]}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x", "namespace": "team-a", "uid": "u"},
        "spec": {"parallelism": 2, "template": template, **spec},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "workers", "sentence"),
    [
        (elastic(HOROVOD), 5, "above its own maximum of 4 (its command: --max-np 4); give 4 or fewer"),
        (elastic(HOROVOD), 1, "below its own minimum of 2"),
        (elastic("horovodrun --max-np 8 python t.py", slotsPerWorker=4), 3, "above its own maximum of 2"),
        (elastic("torchrun --nnodes=1:3 t.py"), 4, "above its own maximum of 3 (its command: --nnodes=1:3)"),
        (elastic(elasticPolicy={"minReplicas": 2, "maxReplicas": 3}), 4, "(elasticPolicy.maxReplicas)"),
    ],
)  # fmt: skip
def test_an_elastic_job_is_kept_within_its_own_bounds(
    tree: dict[str, Any], workers: int, sentence: str
) -> None:
    with pytest.raises(BadInput) as refused:
        plan_resize(job("x"), tree, workers)
    assert sentence in refused.value.sentence


def test_within_its_bounds_it_is_resized() -> None:
    assert plan_resize(job("x"), elastic("torchrun --nnodes 1:3 t.py"), 3).calls


async def test_a_pool_of_a_paused_cluster_is_refused_by_the_name_of_the_cluster() -> None:
    owned = deployment(labels=(("cluster.x-k8s.io/cluster-name", "fleet"),))
    store = store_of([node("a", pool="h100")], pools=[owned])
    (pool,) = pools_of(store)
    paused = Reader(**{"/clusters/fleet": {"kind": "Cluster", "spec": {"paused": True}}})
    with pytest.raises(BadInput, match=r"Cluster fleet is paused \(spec.paused\): .*; unpause it first"):
        await refuse_paused(paused, pool, store)
    await refuse_paused(Reader(**{"/clusters/fleet": {"kind": "Cluster", "spec": {}}}), pool, store)
    await refuse_paused(Reader(), pool, store)
