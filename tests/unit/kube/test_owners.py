"""Owners that nobody watches: many are read by a list, and none while pods are still being listed."""

from typing import Any

from cockpit.clock import ManualClock
from cockpit.kube.owners import Owners
from cockpit.kube.session import ApiSession
from cockpit.model.record import Kind
from tests.unit.kube.builders import FakeServer, event, meta, owner, refuse, reply, stream
from tests.unit.kube.test_feed import END, KUBEFLOW, Hearing, feed_of, gpu_pod, serve_core

JOB_LIST = "/apis/kubeflow.org/v1/pytorchjobs"


def job_path(number: int, namespace: str = "team-a") -> str:
    return f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs/llm-{number}"


def job_page(numbers: range, token: str = "") -> Any:
    items = [{"metadata": meta(f"llm-{number}") | {"labels": {"team": "a"}}} for number in numbers]
    return reply({"metadata": {"resourceVersion": "9", "continue": token}, "items": items})


def members_of_many(jobs: int) -> Any:
    lines = [
        event("ADDED", gpu_pod(f"p{number}", owner("PyTorchJob", f"llm-{number}"))) for number in range(jobs)
    ]
    return stream(*lines, END, stays=True)


async def test_many_owners_are_read_by_one_list_and_what_it_does_not_show_by_name(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server, KUBEFLOW)
    server.on("/api/v1/pods", members_of_many(20))
    lists = JOB_LIST.replace("/pytorchjobs", "/namespaces/team-a/pytorchjobs")
    server.on(lists, job_page(range(12), token="more"), job_page(range(12, 18)))
    server.on(job_path(18), reply({"metadata": meta("llm-18")}))
    hearing = Hearing()
    await hearing.until(feed_of(session, hearing, clock).run(), lambda: len(hearing.owners()) == 20)
    found = hearing.owners()
    assert [uid for uid, one in found.items() if one.is_missing] == ["uid-llm-19"]
    assert {found["uid-llm-3"].kind, found["uid-llm-18"].kind} == {"PyTorchJob"}
    assert found["uid-llm-3"].labels == (("team", "a"),)
    asked = [one.path for one in server.seen if "/namespaces/team-a/pytorchjobs" in one.path]
    assert sorted(asked) == sorted([lists, lists, job_path(18), job_path(19)])


async def test_owners_are_asked_for_by_name_where_a_list_is_refused(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    serve_core(server, KUBEFLOW)
    server.on("/api/v1/pods", members_of_many(9))
    server.on("/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs", refuse(403, "Forbidden", "no lists"))
    for number in range(9):
        server.on(job_path(number), reply({"metadata": meta(f"llm-{number}")}))
    hearing = Hearing()
    owners = Owners(session, hearing, pause_seconds=0.0)
    feed = feed_of(session, hearing, clock)
    feed._owners = owners
    await hearing.until(feed.run(), lambda: len(hearing.owners()) == 9)
    assert not any(one.is_missing for one in hearing.owners().values())


async def test_owners_wait_for_the_end_of_the_list_of_pods_but_not_for_ever(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    """Asked one by one while 50,000 pods come in, hundreds of owners would hold the list up."""
    serve_core(server, KUBEFLOW)
    server.on("/api/v1/pods", stream(event("ADDED", gpu_pod("p", owner("PyTorchJob", "llm-1"))), stays=True))
    server.on(job_path(1), reply({"metadata": meta("llm-1")}))
    hearing = Hearing()
    feed = feed_of(session, hearing, clock)
    feed._owners = Owners(session, hearing, listing_seconds=0.2)
    await hearing.until(feed.run(), lambda: bool(hearing.owners()))
    assert (Kind.POD, "") not in hearing.ended()
