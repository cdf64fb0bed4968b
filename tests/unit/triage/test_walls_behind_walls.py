"""Every wall that nodes are, behind every other one: the scheduler stops at a node's first filter and says
nothing of the second; *Why* names both, the second as if the first were gone."""

from collections.abc import Callable
from itertools import permutations
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from cockpit.catalogue import Cause
from cockpit.fit.scheduling_context import Claim, Surroundings, Volume
from cockpit.fit.shape import shape_of
from cockpit.model.finding import Finding, Subject
from cockpit.model.scheduling import NodeTerm, Requirement
from cockpit.triage.engine import explain
from cockpit.triage.filters import blockers
from tests.unit.triage.objects import Tree, job, node, pods_of, view_of

NODES = ("a", "b")
SUBJECT = Subject("job", "team-a", "waits")
DRIVER = "csi.example.com"
RDMA = "example.com/rdma"


class Scene:
    """A cluster of two nodes, and a job of one pod, before any wall stands."""

    def __init__(self) -> None:
        self.nodes = [node(name, labels={"zone": "x"}) for name in NODES]
        self.job = job("waits", 1, 1)
        self.others: list[Tree] = []
        self.around = Surroundings(claims={}, volumes={}, classes={}, attach_limits={})

    @property
    def spec(self) -> Tree:
        return self.job["spec"]["template"]["spec"]  # type: ignore[no-any-return]

    @property
    def container(self) -> Tree:
        return self.spec["containers"][0]  # type: ignore[no-any-return]

    def runs(self, name: str, gpus: int = 0, **spec: Any) -> None:
        """A job with a pod on every node."""
        made = job(name, len(NODES), gpus, tolerations=[{"operator": "Exists"}], **spec)
        self.others += [made, *pods_of(made, NODES)]

    def asks(self, resource: str, amount: str) -> None:
        for part in ("requests", "limits"):
            self.container["resources"][part] = {**self.container["resources"][part], resource: amount}

    def claims(self, name: str, volume: Volume, limit: int | None = None) -> None:
        """A claim that has that volume."""
        claimed = {"name": name, "persistentVolumeClaim": {"claimName": name}}
        self.spec.setdefault("volumes", []).append(claimed)
        self.has(name, volume)
        if limit is not None:
            self.around = replace(self.around, attach_limits={one: {DRIVER: limit} for one in NODES})

    def has(self, name: str, volume: Volume) -> None:
        held = replace(volume, name=f"pv-{name}", reserved_for=f"team-a/{name}")
        claims = {**(self.around.claims or {}), name: Claim(name, volume=held.name, is_bound=True)}
        volumes = {**(self.around.volumes or {}), held.name: held}
        self.around = replace(self.around, claims=claims, volumes=volumes)

    def why(self, reason: str) -> Finding:
        said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        said["message"] = f"0/{len(NODES)} nodes are available: {len(NODES)} {reason}."
        (pod,) = pods_of(self.job)
        pod["status"]["conditions"] = [said]
        view = view_of([*self.nodes, *self.others, self.job, pod])
        return explain(SUBJECT, replace(view, around=self.around))


def _taint(scene: Scene) -> None:
    for one in scene.nodes:
        one["spec"]["taints"] = [{"key": "team", "value": "night", "effect": "NoSchedule"}]


def _cordon(scene: Scene) -> None:
    for one in scene.nodes:
        one["spec"]["unschedulable"] = True


def _selector(scene: Scene) -> None:
    scene.spec["nodeSelector"] = {"disk": "fast"}


def _affinity(scene: Scene) -> None:
    rule = {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}
    required = {"nodeSelectorTerms": [rule]}
    scene.spec.setdefault("affinity", {})["nodeAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": required
    }


def _port(scene: Scene) -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    scene.container["ports"] = ports
    scene.runs("web")
    for pod in scene.others:
        if pod["kind"] == "Pod" and pod["metadata"]["name"].startswith("web"):
            pod["spec"]["containers"][0] = {**pod["spec"]["containers"][0], "ports": ports}


def _full(scene: Scene) -> None:
    scene.runs("trains", 8)


def _memory(scene: Scene) -> None:
    scene.asks("memory", "300Gi")


def _extended(scene: Scene) -> None:
    scene.asks(RDMA, "1")


def _pods(scene: Scene) -> None:
    scene.runs("fills")
    for one in scene.nodes:
        one["status"]["allocatable"] = {**one["status"]["allocatable"], "pods": "1"}


def _zone(scene: Scene) -> None:
    other = NodeTerm(expressions=(Requirement("zone", "In", ("y",)),))
    scene.claims("data", Volume("", node_terms=(other,)))


def _attached(scene: Scene) -> None:
    scene.claims("ckpt", Volume("", driver=DRIVER), limit=1)
    scene.has("old", Volume("", driver=DRIVER))
    scene.has("older", Volume("", driver=DRIVER))
    for name, where in (("old", "a"), ("older", "b")):
        claimed = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
        made = job(f"holds-{name}", 1, 0, volumes=[claimed], tolerations=[{"operator": "Exists"}])
        scene.others += [made, *pods_of(made, (where,))]


def _spread(scene: Scene, key: str, **more: Any) -> None:
    chosen = {"matchLabels": {"app": "waits"}}
    one = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": chosen}
    scene.spec.setdefault("topologySpreadConstraints", []).append({**one, **more})


def _unlabelled(scene: Scene) -> None:
    _spread(scene, "rack")


def _skew(scene: Scene) -> None:
    """The one zone has a pod, and two zones are missing."""
    _spread(scene, "zone", minDomains=3, nodeAffinityPolicy="Ignore")
    scene.job["spec"]["template"]["metadata"]["labels"] = {"app": "waits"}
    made = job("before", 1, 0, tolerations=[{"operator": "Exists"}])
    (pod,) = pods_of(made, ("a",))
    pod["metadata"]["labels"]["app"] = "waits"
    scene.others += [made, pod]


def _apart(scene: Scene) -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"job-name": "loud"}}}
    scene.spec.setdefault("affinity", {})["podAntiAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": [term]
    }
    scene.runs("loud")


class Wall(NamedTuple):
    """What stands, what a scheduler says of it, and the cause; in the order of its filters."""

    name: str
    build: Callable[[Scene], None]
    said: str
    cause: str


WALLS = (
    Wall("cordon", _cordon, "node(s) were unschedulable", Cause.CORDONED),
    Wall("taint", _taint, "node(s) had untolerated taint(s)", Cause.TAINT),
    Wall("selector", _selector, "node(s) didn't match Pod's node affinity/selector", Cause.SELECTOR),
    Wall("affinity", _affinity, "node(s) didn't match Pod's node affinity/selector", Cause.SELECTOR),
    Wall("port", _port, "node(s) didn't have free ports for the requested pod ports", Cause.HOST_PORT),
    Wall("pods", _pods, "Too many pods", Cause.POD_LIMIT),
    Wall("memory", _memory, "Insufficient memory", Cause.OTHER_RESOURCE_SHORT),
    Wall("extended resource", _extended, f"Insufficient {RDMA}", Cause.RESOURCE_NOT_OFFERED),
    Wall("GPUs", _full, "Insufficient nvidia.com/gpu", Cause.GPUS_SHORT),
    Wall("attach limit", _attached, "node(s) exceed max volume count", Cause.VOLUME_NOT_ATTACHABLE),
    Wall("zone", _zone, "node(s) had volume node affinity conflict", Cause.VOLUME_ELSEWHERE),
    Wall(
        "spread label",
        _unlabelled,
        "node(s) didn't match pod topology spread constraints (missing required label)",
        Cause.TOPOLOGY_SPREAD,
    ),
    Wall("apart", _apart, "node(s) didn't match pod anti-affinity rules", Cause.POD_AFFINITY),
)
PAIRS = [
    (one, two)
    for one, two in permutations(WALLS, 2)
    if one.cause != two.cause and WALLS.index(one) < WALLS.index(two)
]


def causes(found: Finding) -> set[str]:
    return {found.cause, *found.also, *(cause for one in found.then for cause in (one.cause, *one.also))}


@pytest.mark.parametrize("first", WALLS, ids=[one.name for one in WALLS])
def test_a_skew_is_named_behind_every_wall_of_a_template(first: Wall) -> None:
    """Of pods only the label of a spread is watched: its numbers are known of templates."""
    scene = Scene()
    first.build(scene)
    _skew(scene)
    shape = shape_of(scene.job["spec"]["template"], "team-a")
    view = replace(view_of([*scene.nodes, *scene.others]), around=scene.around)
    found = [cause for one in blockers(shape, view) for cause in (one.cause, *one.also)]
    assert {first.cause, Cause.TOPOLOGY_SPREAD} <= set(found)


def _for_one_pod(scene: Scene) -> None:
    scene.claims("data", Volume(""))
    held = {
        **(scene.around.claims or {}),
        "data": Claim("data", "pv-data", True, modes=("ReadWriteOncePod",)),
    }
    scene.around = replace(scene.around, claims=held)
    claimed = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    made = job("holds", 1, 0, volumes=[claimed], tolerations=[{"operator": "Exists"}])
    scene.others += [made, *pods_of(made, ("a",))]


def _not_bound(scene: Scene) -> None:
    scene.claims("data", Volume(""))
    scene.around = replace(scene.around, claims={**(scene.around.claims or {}), "data": Claim("data")})


@pytest.mark.parametrize("first", [one for one in WALLS if one.name in ("cordon", "taint", "selector")])
@pytest.mark.parametrize(
    ("build", "cause"),
    [
        (_for_one_pod, Cause.VOLUME_NOT_ATTACHABLE),
        (_not_bound, Cause.CLAIM_UNBOUND),
        (_zone, Cause.VOLUME_ELSEWHERE),
    ],
)
def test_behind_a_wall_a_claim_is_told_as_what_it_is(
    first: Wall, build: Callable[[Scene], None], cause: str
) -> None:
    scene = Scene()
    first.build(scene)
    build(scene)
    about_claims = {
        Cause.VOLUME_NOT_ATTACHABLE,
        Cause.CLAIM_UNBOUND,
        Cause.VOLUME_ELSEWHERE,
        Cause.CLAIM_MISSING,
    }
    assert causes(scene.why(first.said)) & about_claims == {cause}


@pytest.mark.parametrize("wall", WALLS, ids=[one.name for one in WALLS])
def test_a_wall_alone_is_the_cause(wall: Wall) -> None:
    scene = Scene()
    wall.build(scene)
    found = scene.why(wall.said)
    assert found.cause == wall.cause, found.sentence


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{one.name}, {two.name}" for one, two in PAIRS])
def test_a_wall_behind_another_is_named(first: Wall, second: Wall) -> None:
    scene = Scene()
    first.build(scene)
    second.build(scene)
    found = scene.why(first.said)
    assert {first.cause, second.cause} <= causes(found), (
        found.sentence,
        [one.sentence for one in found.then],
    )
