"""A store as it would read with one object as it is by now: what a plan rests on while a watch is behind."""

from cockpit.model.batch import Batch
from cockpit.model.gang import Workload
from cockpit.model.record import Kind, OwnerRef
from cockpit.store.store import Store

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
