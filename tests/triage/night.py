"""A night shift: many incidents of different kinds among about a thousand healthy objects, looked at fresh.

Most incidents are scripts of the corpus, each on nodes and in a namespace of its own; those that concern
several objects are staged here. What *Now* has to say is what the script says.
"""

from collections.abc import Callable
from typing import NamedTuple

from cockpit.triage.attention import needs_human
from cockpit.triage.finding import Attention
from cockpit.triage.verdict import Subject
from tests.triage.builders import pod_spec
from tests.triage.case import Case, CaseFile, Recorded, Tree
from tests.triage.draw import Draw
from tests.triage.fixture_stage import FixtureStage
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS, Expected
from tests.triage.world import store_of

PLAYED = (
    *("A16-group-counts-the-launcher", "A19-namespace-going", "B11-admission-gated", "B13-evicted-in-a-loop"),
    *("B16-members-missing", "B20-no-such-group", "B23-two-schedulers", "D1-image-absent"),
    *("D1-image-unauthorized", "D10-unhealthy-gpus", "D11-devices-unavailable", "D12-numa"),
    *("D13-init-container", "D15-evicted", "D17-not-ready", "D19-pressure", "D3-config-missing"),
    *("D4-driver-not-loaded", "D4-no-such-command", "D5-sandbox", "D6-configmap-not-there", "D6-mount"),
    *("D7-prepare-devices", "D8-not-ready", "D9-plugin-down", "E1-launcher-too-early"),
)
"""Scripts that need nothing but what the cockpit watches."""

LATER_SECONDS = 300.0
"""What scripts stage is ten minutes old: the cockpit is opened a quarter of an hour after it began."""
NODES, JOBS, WORKERS = 96, 96, 8
_NOW = 1_763_900_000.0


class Incident(NamedTuple):
    """What was injected; `subject` and `names` are in the one row about it. A name "a|b" is either."""

    kind: str
    subject: str
    names: tuple[str, ...]

    def is_told_by(self, row: Attention) -> bool:
        """Whether the row is about it, in words that name cause and object."""
        text = f"{row.subject} {row.sentence}"
        wanted = (self.subject, *self.names)
        return all(any(one in text for one in name.split("|")) for name in wanted)


class Night(NamedTuple):
    """A cluster, what is wrong in it, and when it is looked at."""

    incidents: tuple[Incident, ...]
    case: Case

    def rows(self) -> tuple[Attention, ...]:
        """What *Now* says to somebody who just opened it."""
        store, jobs = store_of(self.case)
        return needs_human(store, jobs, self.case.file.now)

    def complaints(self) -> list[str]:
        """What is missing, told twice, or told of nothing."""
        rows, told, found = self.rows(), set[str](), list[str]()
        for one in self.incidents:
            about = [row for row in rows if one.is_told_by(row)]
            told |= {row.key for row in about}
            if len(about) != 1:
                near = [row.sentence for row in rows if one.subject in row.subject]
                found.append(f"{one.kind}: {len(about)} rows name {one.subject}, {one.names}; near: {near}")
        return found + [f"nothing is wrong: {row}" for row in rows if row.key not in told]


def night(seed: int) -> Night:
    """The cluster of a seed."""
    assert ALL, "to import the scripts is to register them"
    draw = Draw("night", seed)
    stages: list[FixtureStage] = []

    def stage() -> FixtureStage:
        made = FixtureStage(draw)
        made.now_seconds = _NOW
        stages.append(made)
        return made

    incidents = [_played(name, SCRIPTS[name].play(stage())) for name in PLAYED]
    incidents += [_staged(stage(), play) for play in STAGED]
    _healthy(stage())
    return Night(tuple(incidents), _case(seed, stages))


def _played(name: str, expected: Expected) -> Incident:
    return Incident(name, expected.subject.key, expected.names)


def _staged(stage: FixtureStage, play: Callable[[FixtureStage], tuple[str, tuple[str, ...]]]) -> Incident:
    subject, names = play(stage)
    return Incident(play.__name__, subject, names)


def _case(seed: int, stages: list[FixtureStage]) -> Case:
    objects: dict[str, list[Tree]] = {}
    for one in stages:
        for label, trees in one.objects().items():
            objects.setdefault(label, []).extend(trees)
    file = CaseFile(
        causes=(),
        top="",
        also=(),
        subject=Subject("fleet", "", ""),
        names=(),
        now=_NOW + LATER_SECONDS,
        recorded=Recorded(source="fixture", script="night", seed=seed),
    )
    return Case(name=f"night-{seed}", file=file, objects=objects)


def _healthy(stage: FixtureStage) -> None:
    """Nodes and jobs that do what they should."""
    pool = stage.pool(NODES)
    for number in range(JOBS):
        _running(stage, WORKERS, pool.nodes, number)


def _running(stage: FixtureStage, workers: int, nodes: tuple[str, ...], first: int = 0) -> Tree:
    spec = pod_spec(gpus=1)
    made = stage.job(stage.draw.job(), spec, pods=workers, status={"ready": workers})
    for index in range(workers):
        on = nodes[(first + index) % len(nodes)]
        stage.job_pod(made, spec, on=on, phase="Running", status=stage.running(), index=index)
    return made


# ---- incidents that concern several objects


def a_lost_node(stage: FixtureStage) -> tuple[str, tuple[str, ...]]:
    """Three jobs have a member on it, which the node controller calls not ready."""
    pool = stage.pool(2)
    for _ in range(3):
        _running(stage, 2, pool.nodes)
    for pod in stage.get("pods"):
        if pod["spec"].get("nodeName") == pool.nodes[0]:
            for one in pod["status"]["conditions"]:
                one["status"] = "False" if one["type"] == "Ready" else one["status"]
    silent = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    stage.one("nodes", pool.nodes[0])["status"]["conditions"] = stage.node_conditions(Ready=silent)
    return f"node {pool.nodes[0]}", ("silent", "3 jobs")


def a_spot_node_that_goes(stage: FixtureStage) -> tuple[str, tuple[str, ...]]:
    """The handler of the cloud marks it."""
    node = stage.pool(1).nodes[0]
    key = stage.draw.one_of(
        "aws-node-termination-handler/spot-itn", "cloud.google.com/impending-node-termination"
    )
    stage.one("nodes", node)["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"}]
    return f"node {node}", ("takes the node back", key)


def a_drain_that_a_budget_blocks(stage: FixtureStage) -> tuple[str, tuple[str, ...]]:
    """Karpenter says so on the node, again and again."""
    tree = stage.one("nodes", stage.pool(1).nodes[0])
    tree["spec"]["unschedulable"] = True
    budget = f"{stage.space}/{stage.draw.job()}"
    words = f"Pdb prevents pod evictions (PodDisruptionBudget=[{budget}])"
    stage.event(tree, "DisruptionBlocked", words, by="karpenter", is_warning=False, count=5)
    return f"node {tree['metadata']['name']}", ("drain is blocked", budget.rpartition("/")[2])


def a_stopped_queue(stage: FixtureStage) -> tuple[str, tuple[str, ...]]:
    """Twenty jobs wait in it."""
    queue = stage.draw.word("research")
    active = [{"type": "Active", "status": "True", "reason": "Ready", "message": ""}]
    stopped = [{"type": "Active", "status": "False", "reason": "Stopped", "message": "Can't admit: stopped"}]
    wide = {"stopPolicy": "Hold", "resourceGroups": []}
    stage.make(
        _kueue("ClusterQueue", queue, wide, {"conditions": stopped}),
        _kueue("LocalQueue", queue, {"clusterQueue": queue}, {"conditions": active}),
    )
    for _ in range(20):
        spec = pod_spec(gpus=8)
        name = stage.draw.job()
        marks = {"kueue.x-k8s.io/queue-name": queue}
        made = stage.job(name, spec, status={"active": 0}, labels=marks, suspend=True)
        tree = _kueue("Workload", f"job-{name}", {"queueName": queue, "active": True}, {"conditions": []})
        tree["metadata"]["ownerReferences"] = stage.owner(made)
        tree["spec"]["podSets"] = [{"name": "main", "count": 1, "template": {"spec": spec}}]
        stage.make(tree)
    return "", (queue, "stopped", "19 more")


def _kueue(kind: str, name: str, spec: Tree, status: Tree) -> Tree:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
        "status": status,
    }


STAGED = (a_lost_node, a_spot_node_that_goes, a_drain_that_a_budget_blocks, a_stopped_queue)
