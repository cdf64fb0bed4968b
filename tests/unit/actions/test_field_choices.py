"""What the cluster offers for a form: bound claims only, denied is not empty, and Secrets are never asked."""

from typing import Any

from cockpit.actions.field_choices import Offer, ask_offers, ask_topologies, asked_lists, doubts, known_offer
from cockpit.jobs.parameters import sources
from cockpit.jobs.template import load_library
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.gang import LocalQueue
from cockpit.model.record import Kind
from cockpit.store.store import Store

MPIJOB = load_library().templates["mpijob"]
CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
SERVED = {
    "PersistentVolumeClaim": CLAIMS,
    "WorkloadPriorityClass": Resource(
        "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
    ),
    "Topology": Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False),
    "ResourceFlavor": Resource(
        "kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False
    ),
}
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def claim(name: str, *, bound: bool = True, phase: str = "Bound") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "annotations": BOUND if bound else {}},
        "spec": {"volumeName": f"v-{name}" if bound else "", "accessModes": ["ReadWriteMany"]},
        "status": {"phase": phase},
    }


class Answer:
    def __init__(self, status: int, tree: Any) -> None:
        self.status, self._tree = status, tree

    def json(self) -> Any:
        return self._tree

    def message(self) -> str:
        return str(self._tree.get("message", ""))


class Session:
    """Answers by path, 403 for what it does not know; remembers what was asked."""

    def __init__(self, **lists: list[dict[str, Any]]) -> None:
        self._lists = lists
        self.asked: list[str] = []

    async def request(self, method: str, path: str) -> Answer:
        self.asked.append(f"{method} {path}")
        plural = path.rpartition("/")[2]
        if plural in self._lists:
            return Answer(200, {"items": self._lists[plural]})
        return Answer(403, {"message": f"{plural} is forbidden"})


def lookup(_version: str, kind: str) -> Resource | None:
    return SERVED.get(kind)


async def asked(session: Session, *sources: str) -> dict[str, Offer]:
    return await ask_offers(session, lookup, sources, "team-a")


async def test_only_bound_claims_are_offered_and_the_others_are_named() -> None:
    lists = [claim("data"), claim("new", bound=False, phase="Pending"), claim("gone", phase="Lost")]
    session = Session(persistentvolumeclaims=lists)
    found = (await asked(session, "claims"))["claims"]
    assert found.values == ("data",)
    assert found.told == "not bound, not offered: gone, new"
    assert found.notes["data"] == "ReadWriteMany"
    assert session.asked == ["GET /api/v1/namespaces/team-a/persistentvolumeclaims"]


async def test_denied_reads_as_denied_and_empty_as_empty() -> None:
    denied = (await asked(Session(), "claims"))["claims"]
    assert denied.told == "denied: persistentvolumeclaims is forbidden; type the name"
    assert not denied.is_known and denied.values == ()
    empty = (await asked(Session(persistentvolumeclaims=[]), "claims"))["claims"]
    assert empty.told == "no claims in namespace team-a" and empty.is_known
    absent = (await asked(Session(), "volcano-queues"))["volcano-queues"]
    assert absent.told == "this cluster does not serve Queue" and absent.is_known


async def test_no_source_ever_asks_for_secrets() -> None:
    session = Session()
    found = await asked(session, *sources())
    assert "secrets" not in found and "secrets" not in asked_lists()
    assert not [one for one in session.asked if "secret" in one.lower()]
    assert session.asked, "the test would pass on nothing"
    for one in MPIJOB.parameters:
        assert one.choices_from != "secrets"


async def test_priority_classes_come_highest_first_with_their_value() -> None:
    items = [{"metadata": {"name": "low"}, "value": 1}, {"metadata": {"name": "high"}, "value": 900}]
    found = (await asked(Session(workloadpriorityclasses=items), "priority-classes"))["priority-classes"]
    assert found.values == ("high", "low") and found.notes["high"] == "value 900"


async def test_levels_of_topologies_are_offered_the_widest_first() -> None:
    levels = [{"nodeLabel": "example.com/block"}, {"nodeLabel": "kubernetes.io/hostname"}]
    items = [
        {"metadata": {"name": "dc"}, "spec": {"levels": levels}},
        {"metadata": {"name": "odd"}, "spec": 3},
    ]
    found = (await asked(Session(topologies=items), "topology-levels"))["topology-levels"]
    assert found.values == ("example.com/block", "kubernetes.io/hostname")


async def test_topologies_of_flavors_are_known_unknown_or_none() -> None:
    flavors = [{"metadata": {"name": "h100"}, "spec": {"topologyName": "dc"}}, {"metadata": {"name": "a100"}}]
    assert await ask_topologies(Session(resourceflavors=flavors), lookup) == {"h100": "dc", "a100": ""}
    assert await ask_topologies(Session(), lookup) is None
    assert await ask_topologies(Session(), lambda *_: None) == {}


def store_with(phase: Phase, *queues: LocalQueue) -> Store:
    store = Store()
    status = StreamStatus(kind=Kind.LOCAL_QUEUE, phase=phase, objects=len(queues))
    store.apply(Batch(kind=Kind.LOCAL_QUEUE, mark=ListMark.BEGIN))
    store.apply(Batch(kind=Kind.LOCAL_QUEUE, mark=ListMark.END, changed=queues, status=status))
    return store


def test_queues_are_those_of_the_namespace_and_denied_is_said() -> None:
    one = LocalQueue(uid="1", name="main", namespace="team-a", cluster_queue="c")
    other = LocalQueue(uid="2", name="side", namespace="team-b", cluster_queue="c")
    store = store_with(Phase.LIVE, one, other)
    assert known_offer("localqueues", store, "team-a") == Offer(("main",))
    assert known_offer("localqueues", store).values == ("main", "side")
    assert known_offer("localqueues", store, "team-c") == Offer(())
    denied = known_offer("localqueues", store_with(Phase.DENIED), "team-a")
    assert denied.told == "denied: you cannot list queues; type the name" and not denied.is_known
    assert not known_offer("localqueues", Store(), "team-a").is_known


def test_a_value_that_is_not_offered_is_doubted_and_one_that_cannot_be_seen_too() -> None:
    offers = {
        "claims": Offer(("data",), "not bound, not offered: new"),
        "priority-classes": Offer((), "denied: no; type the name", is_known=False),
        "gpu-models": Offer(is_known=False),
    }
    given = {"data": "data:/d new:/n", "priority": "high", "gpu-model": "NVIDIA-H100"}
    assert doubts(MPIJOB, given, offers) == (
        "priority: cannot check whether high exists (denied: no; type the name)",
        "data: the cluster has no new; available: data (not bound, not offered: new)",
    )
    assert doubts(MPIJOB, {"data": "data:/d"}, offers) == ()
    assert doubts(MPIJOB, {"data": "no mount at all"}, offers) == ()
