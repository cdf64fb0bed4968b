"""What stands beside a subject in one cluster: neighbours of each kind, each a case of its own."""

import json
import random
from collections.abc import Callable, Mapping
from functools import cache

from cockpit.k8s.json_values import mapping, mappings
from cockpit.model.finding import Subject
from tests.triage.builders import GPU, pod_spec
from tests.triage.case import Case, Tree, read_cases
from tests.triage.fixture_stage import FixtureStage
from tests.triage.fresh import FIXTURE, FreshDraw, fixtures
from tests.triage.incidents import a_lost_node, a_stopped_queue, running_job
from tests.triage.recorder import case_of
from tests.triage.scripts import ALL
from tests.triage.scripts.gangs import refusal
from tests.triage.shared_cluster import Beside, Clash, specs_of
from tests.triage.stage import SCRIPTS, Expected, Script

JOINED_SECONDS = 60.0


def half_placed(stage: FixtureStage) -> None:
    """A gang of which some members run and the others find its pool full."""
    where, spec = stage.pool(2), pod_spec(gpus=8)
    members = stage.draw.number(3, 4)
    made = stage.job(stage.draw.job(), spec, pods=members, status={"ready": 1}, completionMode="Indexed")
    stage.job_pod(made, spec, on=where.nodes[0], phase="Running", status=stage.running())
    if stage.draw.chance(0.5):
        second = stage.job(stage.draw.job(), spec, pods=2, status={"ready": 1}, completionMode="Indexed")
        stage.job_pod(second, spec, on=where.nodes[1], phase="Running", status=stage.running())
        _unplaced(stage, second, 1)
    else:
        running_job(stage, 8, where.nodes[1:])
    _unplaced(stage, made, members - 1)


def _unplaced(stage: FixtureStage, job: dict[str, object], count: int) -> None:
    full = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
    said = f"{full}0/2 nodes are available: 2 No preemption victims found for incoming pod."
    for index in range(count):
        pod = stage.job_pod(job, pod_spec(gpus=8), status=refusal(stage, said), index=index + 1)
        stage.event(pod, "FailedScheduling", said, by="default-scheduler", count=5)


def joining(stage: FixtureStage) -> None:
    """A node made a minute ago: not ready, or ready and without its GPUs."""
    where = stage.pool(1, gpus=8)
    tree = stage.one("nodes", where.nodes[0])
    tree["metadata"]["creationTimestamp"] = stage.ago(JOINED_SECONDS)
    for part in ("capacity", "allocatable"):
        tree["status"][part] = {
            key: value for key, value in tree["status"][part].items() if key != "nvidia.com/gpu"
        }
    if stage.draw.chance(0.5):
        said = ("False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized")
        tree["status"]["conditions"] = stage.node_conditions(Ready=said)
        tree["spec"]["taints"] = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    for condition in tree["status"]["conditions"]:
        condition["lastTransitionTime"] = stage.ago(JOINED_SECONDS - 5)


def full_pool(stage: FixtureStage) -> None:
    """Nodes whose GPUs are all in use."""
    where = stage.pool(stage.draw.number(2, 4))
    for name in where.nodes:
        spec = pod_spec(gpus=8)
        made = stage.job(stage.draw.job(), spec, status={"ready": 1})
        stage.job_pod(made, spec, on=name, phase="Running", status=stage.running())


def stopped_queue(stage: FixtureStage) -> None:
    """A queue that an admin stopped, with jobs that wait in it."""
    a_stopped_queue(stage)


def dead_node(stage: FixtureStage) -> None:
    """A node that is silent, with members of three jobs."""
    a_lost_node(stage)


EMPTY = "0/0 nodes are available: 0 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
EMPTY += "0/0 nodes are available: 0 No preemption victims found for incoming pod."
"""What a scheduler says of a gang whose nodes are counted later."""


def half_placed_in(stage: FixtureStage, subject: Case) -> None:
    """A gang that has a GPU of each of the subject's nodes and waits for whole ones. Raises Clash where there
    is no room for it, or where the subject would lack what it takes."""
    nodes = subject.objects.get("nodes", [])
    sizes = {int(node["status"]["allocatable"].get(GPU, 0)) for node in nodes}
    if len(sizes) != 1 or not min(sizes):
        raise Clash("no nodes with GPUs")
    pods = subject.objects.get("pods", [])
    unbound = (spec for spec in specs_of(subject.objects) if not spec.get("nodeName"))
    asked = max(map(_gpus, unbound), default=0)
    for node in nodes:
        name = node["metadata"]["name"]
        used = sum(_gpus(pod["spec"]) for pod in pods if pod["spec"].get("nodeName") == name)
        if used + max(asked, 1) + 1 > min(sizes):
            raise Clash("no room beside the subject")
    count = len(nodes)
    has, wants = (pod_spec(gpus=gpus, tolerations=[{"operator": "Exists"}]) for gpus in (1, min(sizes)))
    made = stage.job(stage.draw.job(), wants, pods=count + 2, status={"ready": count})
    for node in nodes:
        on = node["metadata"]["name"]
        stage.job_pod(made, has, on=on, phase="Running", status=stage.running())
    for _ in range(2):
        pod = stage.job_pod(made, wants, status=refusal(stage, EMPTY))
        stage.event(pod, "FailedScheduling", EMPTY, by="default-scheduler", count=5)


def _gpus(spec: Tree) -> int:
    found = (mapping(one.get("resources")) for one in mappings(spec.get("containers")))
    return sum(
        int({**mapping(one.get("limits")), **mapping(one.get("requests"))}.get(GPU, 0)) for one in found
    )


def joining_sibling(stage: FixtureStage, subject: Case) -> None:
    """A node like the subject's own, made a minute ago, that has what they have once it is ready."""
    said = ("False", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized")
    _sibling(stage, subject, JOINED_SECONDS, said, "not-ready")


def dead_sibling(stage: FixtureStage, subject: Case) -> None:
    """A node like the subject's own that is silent since a quarter of an hour."""
    said = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    _sibling(stage, subject, 86_400, said, "unreachable")


def _sibling(
    stage: FixtureStage, subject: Case, age_seconds: float, ready: tuple[str, str, str], mark: str
) -> None:
    nodes = subject.objects.get("nodes", [])
    if not nodes:
        raise Clash("no node to be like")
    tree = json.loads(json.dumps(nodes[0]))
    name = stage.draw.word("node")
    labels = {**tree["metadata"].get("labels", {}), "kubernetes.io/hostname": name}
    tree["metadata"] = {"name": name, "labels": labels, "creationTimestamp": stage.ago(age_seconds)}
    tree["status"]["conditions"] = stage.node_conditions(Ready=ready)
    for condition in tree["status"]["conditions"]:
        condition["lastTransitionTime"] = stage.ago(min(age_seconds - 5, 900))
    tree["spec"].setdefault("taints", []).append(
        {"key": f"node.kubernetes.io/{mark}", "effect": "NoSchedule"}
    )
    stage.make(tree)


INSIDE: Mapping[str, Callable[[FixtureStage, Case], None]] = {
    "half-placed-inside": half_placed_in,
    "joining-sibling": joining_sibling,
    "dead-sibling": dead_sibling,
}
"""Neighbours on the subject's own nodes, or with nodes like them."""

STAGED: Mapping[str, Callable[[FixtureStage], None]] = {
    "half-placed": half_placed,
    "joining": joining,
    "full-pool": full_pool,
    "stopped-queue": stopped_queue,
    "dead-node": dead_node,
}


def staged(kind: str, seed: int, subject: Case) -> Beside:
    """A neighbour of one of these kinds. Raises Clash where the subject can have none of it."""
    stage = FixtureStage(FreshDraw(f"beside {kind}", seed))
    if kind in INSIDE:
        INSIDE[kind](stage, subject)
    else:
        STAGED[kind](stage)
    script = Script(kind, "beside", lambda _: told)
    told = Expected(Subject("fleet", "", ""), (), later_seconds=0.0)
    made = case_of(script, seed, told, stage.objects(), stage.now_seconds, FIXTURE)
    return Beside(made, kind in INSIDE)


# ---- the whole catalogue


@cache
def _recorded() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in read_cases():
        if case.file.recorded.is_real:
            found.setdefault(case.file.recorded.script, []).append(case)
    return found


@cache
def playable() -> tuple[str, ...]:
    """Scripts of which there are cases: fixtures are played, those of components were recorded."""
    assert ALL
    return tuple(sorted({*(one.name for one in fixtures()), *_recorded()}))


def drawn_case(name: str, rng: random.Random) -> Case:
    """A case of a script: played with a new seed, or one of those that were recorded."""
    if name in _recorded():
        return rng.choice(_recorded()[name])
    seed = rng.randrange(1000, 1_000_000)
    stage = FixtureStage(FreshDraw(name, seed))
    script = SCRIPTS[name]
    return case_of(script, seed, script.play(stage), stage.objects(), stage.now_seconds, FIXTURE)
