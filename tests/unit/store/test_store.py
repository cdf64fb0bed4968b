"""The store by example: tables, keys, lists, bounds, statuses, what moved."""

from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.gang import Workload
from cockpit.model.job import OwnerObject
from cockpit.model.node import Node
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, OwnerRef
from cockpit.store.store import Store
from tests.unit.store.builders import event, gone, gpu, pod, pods


def test_a_new_store_is_empty_and_says_so() -> None:
    store = Store()
    assert store.revision == 0
    assert dict(store.records(Kind.POD)) == {}
    assert store.get(Kind.POD, "x") is None
    assert store.by_key(Kind.POD, "team-a/a") is None
    assert not store.pods_on("n") and not store.events_of("x")
    assert not store.gpus_on("n") and not store.workloads_of("x")
    assert store.status(Kind.POD) is None


def test_pods_are_found_by_every_index() -> None:
    store = Store()
    store.apply(
        pods(
            pod("b", node="n1", owner_uid="o", job_label="train", gpus=2, phase="Running"),
            pod("a", node="n1", owner_uid="o", phase="Running", cpu_millicores=500, memory_bytes=7),
            pod("c"),
        )
    )
    assert [one.name for one in store.pods_on("n1")] == ["a", "b"]
    assert [one.name for one in store.pods_of("o")] == ["a", "b"]
    assert [one.name for one in store.gpu_pods()] == ["b"]
    assert store.by_key(Kind.POD, "team-a/c") == pod("c")
    assert store.requests_on("n1") == (500, 7, 2, 2)


def test_a_change_moves_a_pod_between_nodes_and_a_finished_pod_holds_nothing() -> None:
    store = Store()
    store.apply(pods(pod("a", gpus=4)))
    store.apply(pods(pod("a", gpus=4, node="n1", phase="Running")))
    assert store.requests_on("n1").gpus == 4
    store.apply(pods(pod("a", gpus=4, node="n1", phase="Succeeded")))
    assert store.requests_on("n1") == (0, 0, 0, 0)
    assert [one.phase for one in store.pods_on("n1")] == ["Succeeded"]


def test_a_change_that_moves_no_index_still_reaches_the_gpu_pods() -> None:
    store = Store()
    store.apply(pods(pod("a", gpus=1)))
    store.apply(pods(pod("a", gpus=1, scheduled_message="0/3 nodes are available")))
    assert [one.scheduled_message for one in store.gpu_pods()] == ["0/3 nodes are available"]


def test_the_same_name_again_replaces_the_older_object() -> None:
    store = Store()
    store.apply(pods(pod("a", "1", node="n1")))
    store.apply(pods(pod("a", "2", node="n2")))
    assert set(store.records(Kind.POD)) == {"2"}
    assert store.pods_on("n1") == ()
    store.apply(gone("1"))
    found = store.by_key(Kind.POD, "team-a/a")
    assert found is not None and found.uid == "2"


def test_owners_of_different_kinds_may_share_a_name() -> None:
    store = Store()
    first = OwnerObject(uid="1", name="x", namespace="t", api_version="apps/v1", kind="ReplicaSet")
    second = OwnerObject(uid="2", name="x", namespace="t", api_version="kubeflow.org/v1", kind="Notebook")
    store.apply(Batch(kind=Kind.OWNER, changed=(second, first)))
    assert len(store.records(Kind.OWNER)) == 2
    assert store.by_key(Kind.OWNER, "t/x") == first


def test_a_re_list_drops_what_it_did_not_name_and_only_at_its_end() -> None:
    store = Store()
    store.apply(pods(pod("a"), pod("b")))
    store.apply(pods(pod("a"), mark=ListMark.BEGIN))
    assert len(store.records(Kind.POD)) == 2
    store.apply(pods(pod("c")))
    store.apply(pods(mark=ListMark.END))
    assert {one.name for one in store.records(Kind.POD).values()} == {"a", "c"}


def test_an_empty_list_means_empty() -> None:
    store = Store()
    store.apply(pods(pod("a")))
    store.apply(pods(mark=ListMark.BEGIN))
    store.apply(pods(mark=ListMark.END))
    assert dict(store.records(Kind.POD)) == {}
    assert store.take_delta().removed == {Kind.POD: frozenset({"uid-a"})}


def test_an_end_without_a_begin_drops_nothing() -> None:
    store = Store()
    store.apply(pods(pod("a")))
    store.apply(pods(mark=ListMark.END))
    assert len(store.records(Kind.POD)) == 1


def test_a_re_list_of_one_namespace_leaves_the_others_alone() -> None:
    store = Store()
    store.apply(pods(pod("a", namespace="x"), scope="x"))
    store.apply(pods(pod("b", namespace="y"), scope="y"))
    store.apply(pods(mark=ListMark.BEGIN, scope="x"))
    store.apply(pods(mark=ListMark.END, scope="x"))
    assert {one.name for one in store.records(Kind.POD).values()} == {"b"}


def test_a_pod_that_goes_during_the_list_stays_gone() -> None:
    store = Store()
    store.apply(pods(pod("a"), mark=ListMark.BEGIN))
    store.apply(gone("uid-a"))
    store.apply(pods(mark=ListMark.END))
    assert dict(store.records(Kind.POD)) == {}


def test_revision_and_delta_stand_still_when_nothing_moved() -> None:
    store = Store()
    store.apply(pods(pod("a")))
    store.take_delta()
    store.apply(pods(pod("a"), mark=ListMark.BEGIN))
    store.apply(pods(mark=ListMark.END))
    store.apply(gone("nobody"))
    assert store.revision == 1
    delta = store.take_delta()
    assert (delta.revision, dict(delta.changed), dict(delta.removed)) == (1, {}, {})
    assert not delta.touches(Kind.POD)


def test_delta_names_each_uid_once() -> None:
    store = Store()
    store.apply(pods(pod("a"), pod("b")))
    store.apply(gone("uid-a"))
    store.apply(gone("uid-b"))
    store.apply(pods(pod("b")))
    delta = store.take_delta()
    assert delta.changed == {Kind.POD: frozenset({"uid-b"})}
    assert delta.removed == {Kind.POD: frozenset({"uid-a"})}
    assert delta.touches(Kind.POD, Kind.NODE) and not delta.touches(Kind.NODE)


def test_delta_is_in_the_order_of_coming() -> None:
    store = Store()
    names = [f"p{number}" for number in range(40)]
    store.apply(pods(*(pod(name) for name in names), mark=ListMark.BEGIN))
    assert list(store.take_delta().changed[Kind.POD]) == [f"uid-{name}" for name in names]


def test_what_is_taken_does_not_change_any_more() -> None:
    store = Store()
    store.apply(pods(pod("a")))
    delta = store.take_delta()
    store.apply(pods(pod("b")))
    store.apply(gone("uid-a"))
    assert delta.changed == {Kind.POD: frozenset({"uid-a"})} and not delta.removed


def test_an_object_keeps_its_newest_events_only() -> None:
    store = Store(events_per_object=3)
    batch = tuple(event(str(i), "pod-1", float(i)) for i in (4, 1, 5, 2, 3))
    store.apply(Batch(kind=Kind.EVENT, changed=batch))
    assert [one.last_seconds for one in store.events_of("pod-1")] == [5.0, 4.0, 3.0]
    assert len(store.records(Kind.EVENT)) == 3


def test_all_events_together_are_bounded_and_the_oldest_go_first() -> None:
    store = Store(events_in_all=3)
    store.apply(Batch(kind=Kind.EVENT, changed=tuple(event(str(i), f"p{i}", float(i)) for i in range(5))))
    store.apply(Batch(kind=Kind.EVENT, changed=(event("2", "p2", 9.0),)))
    store.apply(Batch(kind=Kind.EVENT, changed=(event("7", "p7", 7.0),)))
    assert sorted(one.name for one in store.records(Kind.EVENT).values()) == ["2", "4", "7"]


def test_an_event_without_an_object_is_kept_but_not_indexed() -> None:
    store = Store(events_per_object=1)
    store.apply(Batch(kind=Kind.EVENT, changed=(event("1", "", 1.0), event("2", "", 2.0))))
    assert len(store.records(Kind.EVENT)) == 2
    assert store.events_of("") == ()


def test_gpus_are_found_by_node_in_order_and_by_pod() -> None:
    store = Store()
    cards = (gpu("u2", "n", 1, "p"), gpu("u1", "n", 0, "p"), gpu("u3", "m", 0))
    store.apply(Batch(kind=Kind.GPU, changed=cards))
    assert [one.uuid for one in store.gpus_on("n")] == ["u1", "u2"]
    assert [one.uuid for one in store.gpus_of_pod("team-a", "p")] == ["u1", "u2"]
    store.apply(Batch(kind=Kind.GPU, changed=(gpu("u1", "n", 0, "q"),)))
    assert [one.uuid for one in store.gpus_of_pod("team-a", "p")] == ["u2"]
    assert store.by_key(Kind.GPU, "u3") == cards[2]


def test_the_largest_node_is_known_as_nodes_come_and_go() -> None:
    store = Store()
    assert store.largest_node_gpus() == 0
    small, large = (Node(uid=f"n{size}", name=f"n{size}", gpu_allocatable=size) for size in (4, 8))
    store.apply(Batch(kind=Kind.NODE, changed=(small, large, Node(uid="cpu", name="cpu"))))
    assert store.largest_node_gpus() == 8
    store.apply(Batch(kind=Kind.NODE, changed=(Node(uid="n8", name="n8", gpu_allocatable=6),)))
    assert store.largest_node_gpus() == 6
    store.apply(gone("n8", kind=Kind.NODE))
    assert store.largest_node_gpus() == 4


def test_idle_counts_from_the_first_sample_without_work_and_ends_with_work_or_silence() -> None:
    store = Store()

    def sample(at: float, duty: float | Absent, holder: str = "p") -> float | None:
        card = gpu("u1", "n", 0, holder, duty_ratio=duty, sampled_seconds=at)
        store.apply(Batch(kind=Kind.GPU, changed=(card,)))
        return store.idle_since("u1")

    assert sample(1.0, 0.0) == 1.0
    assert sample(2.0, 0.01) == 1.0
    assert sample(3.0, 0.0, "q") == 3.0
    assert sample(4.0, 0.6) is None
    assert sample(5.0, 0.0) == 5.0
    assert sample(6.0, Absent.STALE) is None
    sample(7.0, 0.0)
    store.apply(gone("u1", kind=Kind.GPU))
    assert store.idle_since("u1") is None


def test_workloads_are_found_by_the_job_they_stand_for() -> None:
    owner = OwnerRef("kubeflow.org/v2beta1", "MPIJob", "llm", "job-1")
    store = Store()
    late = Workload(uid="w2", name="w2", namespace="t", owner=owner, created_seconds=9.0)
    store.apply(
        Batch(kind=Kind.WORKLOAD, changed=(late, Workload(uid="w1", name="w1", namespace="t", owner=owner)))
    )
    assert [one.name for one in store.workloads_of("job-1")] == ["w1", "w2"]
    store.apply(gone("w1", kind=Kind.WORKLOAD))
    assert [one.name for one in store.workloads_of("job-1")] == ["w2"]


def test_a_heartbeat_is_kept_but_moves_nothing() -> None:
    store = Store()
    live = StreamStatus(kind=Kind.POD, phase=Phase.LIVE, heard_seconds=1.0)
    store.apply(Batch(kind=Kind.POD, status=live))
    assert store.take_delta().statuses == {Kind.POD}
    store.apply(Batch(kind=Kind.POD, status=StreamStatus(kind=Kind.POD, phase=Phase.LIVE, heard_seconds=2.0)))
    assert store.revision == 1
    found = store.status(Kind.POD)
    assert found is not None and found.heard_seconds == 2.0


def test_of_several_streams_of_a_kind_the_troubled_one_answers() -> None:
    store = Store()
    denied = StreamStatus(kind=Kind.POD, scope="x", phase=Phase.DENIED, message="may not list pods in x")
    store.apply(
        Batch(kind=Kind.POD, scope="y", status=StreamStatus(kind=Kind.POD, scope="y", phase=Phase.LIVE))
    )
    store.apply(Batch(kind=Kind.POD, scope="x", status=denied))
    told = store.status(Kind.POD)
    assert told is not None, "one namespace is denied, the other is not: what is there is not all"
    assert (told.phase, told.scope, told.is_partial, told.message) == (
        Phase.LIVE,
        "y",
        True,
        "may not list pods in x",
    )
    stale = StreamStatus(kind=Kind.POD, scope="y", phase=Phase.STALE, message="silent")
    store.apply(Batch(kind=Kind.POD, scope="y", status=stale))
    told = store.status(Kind.POD)
    assert told is not None and (told.phase, told.message, told.is_partial) == (Phase.STALE, "silent", True)
    assert set(store.statuses()) == {"pods/x", "pods/y"}
    store.apply(Batch(kind=Kind.POD, scope="y", mark=ListMark.DROP))
    assert store.status(Kind.POD) == denied


def test_a_scope_that_is_not_read_any_more_takes_its_own_records_with_it() -> None:
    store = Store()
    for scope, names in (("", ("a/x", "b/y")), ("a", ("a/x",))):
        records = tuple(pod(name, uid=name) for name in names)
        store.apply(Batch(kind=Kind.POD, scope=scope, mark=ListMark.BEGIN))
        store.apply(Batch(kind=Kind.POD, scope=scope, changed=records, mark=ListMark.END))
    store.apply(Batch(kind=Kind.POD, mark=ListMark.DROP))
    assert set(store.records(Kind.POD)) == {"a/x"}, "the other stream has named it since"
    assert store.take_delta().removed[Kind.POD] == frozenset({"b/y"})
