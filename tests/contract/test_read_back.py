"""A write whose answer proves nothing is read back from the server, and is never sent twice."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.clock import ManualClock
from cockpit.model.plan import Call, Plan
from cockpit.sim.faults.exchange import Exchange, Fault
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import JSON_PATCH, MERGE, in_space
from tests.contract.conftest import Connect
from tests.contract.faults import HTML, bare, html, lost_answer, status
from tests.contract.shapes import configmap, deployment, pod
from tests.unit.actions.builders import Lines


def after(code: int, content_type: str = "text/html", body: bytes = HTML) -> Fault:
    """The server does what it was asked; the proxy answers something else."""

    async def fault(exchange: Exchange) -> None:
        await exchange.whole()
        await exchange.answer(code, content_type, body)

    return fault


Make = Callable[[str, Api], Call]


def _guard(admin: Api, path: str) -> dict[str, Any]:
    about = admin.get(path)["metadata"]
    return {key: about[key] for key in ("uid", "resourceVersion")}


def made(admin: Api, collection: str, tree: dict[str, Any]) -> str:
    """The path of what was created."""
    return f"{collection}/{admin.create(collection, tree)['metadata']['name']}"


def create(space: str, _admin: Api) -> Call:
    return Call(method="POST", path=in_space(space, "configmaps"), body=configmap("new"))


def generate(space: str, _admin: Api) -> Call:
    body = configmap("x")
    body["metadata"] = {"generateName": "made-"}
    return Call(method="POST", path=in_space(space, "configmaps"), body=body)


def patch(space: str, admin: Api) -> Call:
    path = made(admin, in_space(space, "configmaps"), configmap("patched", a="1"))
    body = {"metadata": _guard(admin, path), "data": {"a": "9"}}
    return Call(method="PATCH", path=path, body=body, content_type=MERGE)


def json_patch(space: str, admin: Api) -> Call:
    path = made(admin, in_space(space, "configmaps"), configmap("lease", a="1"))
    body = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "2"},
    ]
    return Call(method="PATCH", path=path, body=body, content_type=JSON_PATCH)


def delete(space: str, admin: Api) -> Call:
    path = made(admin, in_space(space, "configmaps"), configmap("deleted", a="1"))
    return Call(method="DELETE", path=path, body={"preconditions": _guard(admin, path)})


def scale(space: str, admin: Api) -> Call:
    path = made(admin, in_space(space, "deployments", base="/apis/apps/v1"), deployment("scaled", 0))
    body = {"metadata": {"uid": _guard(admin, path)["uid"]}, "spec": {"replicas": 7}}
    return Call(method="PATCH", path=f"{path}/scale", body=body, content_type=MERGE)


def evict(space: str, admin: Api) -> Call:
    path = made(admin, in_space(space, "pods"), pod("evicted"))
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "evicted", "namespace": space},
        "deleteOptions": {"preconditions": {"uid": _guard(admin, path)["uid"]}},
    }
    return Call(method="POST", path=f"{path}/eviction", body=body)


MAKERS: tuple[Make, ...] = (create, generate, patch, json_patch, delete, scale, evict)
DONE = {
    "502 of a gateway": after(502),
    "504 of a gateway": after(504, "text/plain", b"upstream request timeout"),
    "429 of a gateway": after(429, "text/plain", b"slow down"),
    "a log-in page": after(200),
    "404 of a gateway": after(404),
    "cut": lost_answer(),
}
NOT_DONE: dict[str, tuple[Fault, str]] = {
    "500 of the server": (status(500, reason="InternalError"), "failed"),
    "502 of a gateway": (bare(502, HTML, "text/html"), "unknown"),
    "503": (status(503, reason="ServiceUnavailable"), "unknown"),
    "504": (status(504, reason="Timeout"), "unknown"),
    "a log-in page": (html(), "unknown"),
    "429 before it is begun": (status(429, reason="TooManyRequests", retry_after_seconds=1), "refused"),
}


async def carried(
    make: Make, fault: Fault, space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> tuple[str, str]:
    """State and sentence as audited; the write was sent once and is told as it was audited."""
    call = make(space, admin)
    session, lines = await connect(write=True, through=proxy), Lines()
    proxy.plan(fault, method=call.method, times=None)
    plan = Plan(verb="try", title="Try it", done="Tried it", calls=(call,))
    outcome = await carry_out(plan, session, lines, ManualClock(), new_id=lambda: "id1")
    assert len([seen for seen in proxy.seen if seen.method == call.method]) == 1
    assert [entry.state for entry in lines.entries] == ["", outcome.state]
    return outcome.state, lines.entries[-1].sentence


@pytest.mark.parametrize("fault", DONE)
@pytest.mark.parametrize("make", MAKERS)
async def test_a_write_that_was_done_is_told_as_done_whatever_was_answered(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, make: Make, fault: str
) -> None:
    state, sentence = await carried(make, DONE[fault], space, admin, connect, proxy)
    assert (state, "the object confirms it" in sentence) == ("done", True), sentence


@pytest.mark.parametrize("fault", NOT_DONE)
@pytest.mark.parametrize("make", MAKERS)
async def test_a_write_that_was_not_done_is_never_told_as_done(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, make: Make, fault: str
) -> None:
    wrong, expected = NOT_DONE[fault]
    state, sentence = await carried(make, wrong, space, admin, connect, proxy)
    assert state == expected, sentence
    if state == "unknown":
        assert "unknown: the server did not say" in sentence and "read it before trying again" in sentence


async def test_the_servers_audit_id_is_kept(space: str, admin: Api, connect: Connect) -> None:
    session, lines = await connect(write=True), Lines()
    for call in (create(space, admin), create(space, admin)):
        plan = Plan(verb="try", title="Try it", calls=(call,))
        await carry_out(plan, session, lines, ManualClock())
    done, refused = (entry for entry in lines.entries if entry.step == "outcome")
    assert (done.state, refused.state) == ("done", "refused")
    assert done.server_audit_id and refused.server_audit_id
    assert done.server_audit_id != refused.server_audit_id
