"""A store as it would read with one object as it is by now: what a plan rests on while a watch is behind."""

from cockpit.model.batch import Batch
from cockpit.model.gang import Workload
from cockpit.model.record import Kind, OwnerRef
from cockpit.store.store import Store
from tests.unit.store.builders import pod, pods

OWNER = OwnerRef(api_version="batch/v1", kind="Job", name="llm", uid="job-1")


def workload(version: str) -> Workload:
    return Workload(uid="w1", name="job-llm", namespace="team-a", resource_version=version, owner=OWNER)


def test_the_record_is_found_by_every_question_and_the_store_stays_as_it_is() -> None:
    store = Store()
    store.apply(Batch(kind=Kind.WORKLOAD, changed=(workload("1"),)))
    newer = store.with_record(Kind.WORKLOAD, workload("2"))
    found = (
        newer.get(Kind.WORKLOAD, "w1"),
        newer.by_key(Kind.WORKLOAD, "team-a/job-llm"),
        newer.records(Kind.WORKLOAD)["w1"],
        *newer.workloads_of("job-1"),
    )
    assert [one.resource_version for one in found if one is not None] == ["2"] * 4
    assert store.records(Kind.WORKLOAD) == {"w1": workload("1")}
    assert store.workloads_of("job-1") == (workload("1"),)


def test_pods_that_were_read_are_on_the_node_where_they_are_by_now() -> None:
    store = Store()
    store.apply(pods(pod("waits"), pod("moved", node="n1"), pod("stays", node="n1")))
    read = store.with_record(Kind.POD, pod("new", node="n1"))
    read = read.with_record(Kind.POD, pod("waits", node="n1"))
    read = read.with_record(Kind.POD, pod("moved", node="n2"))
    assert [one.name for one in read.pods_on("n1")] == ["new", "stays", "waits"]
    assert [one.name for one in read.pods_on("n2")] == ["moved"]
    assert [one.name for one in store.pods_on("n1")] == ["moved", "stays"] and not store.pods_on("n2")
