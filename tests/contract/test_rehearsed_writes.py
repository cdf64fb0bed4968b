"""Dry runs, validation, and writes whose answer does not come."""

from typing import Any

import pytest

from cockpit.errors import NoConnection, OutcomeUnknown, Refused
from cockpit.kube.calls import perform
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import APPLY, JSON, MERGE, in_space
from tests.contract.conftest import Connect
from tests.contract.faults import lost_answer, status
from tests.contract.shapes import configmap, custom, job, pod

# ---- dry run


DRY = (("dryRun", "All"),)


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETE all"])
async def test_a_dry_run_answers_as_if_and_keeps_nothing(
    space: str, kept: str, admin: Api, session: ApiSession, verb: str
) -> None:
    collection = in_space(space, "configmaps")
    before = admin.get(kept)
    replaced = configmap("kept", a="9")
    calls = {
        "POST": Call(method="POST", path=collection, body=configmap("new")),
        "PUT": Call(method="PUT", path=kept, body=replaced),
        "PATCH": Call(method="PATCH", path=kept, body={"data": {"a": "9"}}, content_type=MERGE),
        "APPLY": Call(
            method="PATCH",
            path=kept,
            body=replaced,
            content_type=APPLY,
            query=(("fieldManager", "cockpit"), ("force", "true")),
        ),
        "DELETE": Call(method="DELETE", path=kept),
        "DELETE all": Call(method="DELETE", path=collection),
    }
    answer = await perform(session, calls[verb], dry_run=True)
    assert answer.ok
    assert admin.get(kept) == before
    assert "new" not in [item["metadata"]["name"] for item in admin.items(collection)]
    if verb in ("PUT", "PATCH", "APPLY"):
        assert answer.json()["data"]["a"] == "9"


async def test_a_dry_run_is_checked_like_the_real_thing(space: str, kept: str, session: ApiSession) -> None:
    taken = Call(method="POST", path=in_space(space, "configmaps"), body=configmap("kept"))
    with pytest.raises(Refused, match="already exists"):
        await perform(session, taken, dry_run=True)
    bad = Call(method="POST", path=in_space(space, "configmaps"), body=configmap("Not A Name"))
    with pytest.raises(Refused, match="Not A Name"):
        await perform(session, bad, dry_run=True)


async def test_a_dry_run_needs_the_same_rights(space: str, kept: str, connect: Connect) -> None:
    viewer = await connect("viewer", write=True)
    with pytest.raises(Refused, match="cannot"):
        await perform(viewer, Call(method="DELETE", path=kept), dry_run=True)


async def test_a_dry_run_fills_in_the_servers_defaults(space: str, session: ApiSession) -> None:
    call = Call(method="POST", path=in_space(space, "pods"), body=pod("p"))
    answer = await perform(session, call, dry_run=True)
    assert answer.json()["spec"]["schedulerName"] == "default-scheduler"
    assert answer.json()["metadata"]["uid"]


# ---- validation


@pytest.mark.parametrize(
    ("break_it", "field"),
    [
        (lambda tree: tree["spec"].update(paralelism=3), "paralelism"),
        (lambda tree: tree["spec"]["template"]["spec"]["containers"][0].update(imag="x"), "imag"),
    ],
    ids=["misspelt", "deep"],
)
async def test_an_unknown_field_is_refused_by_name(
    space: str, session: ApiSession, break_it: Any, field: str
) -> None:
    tree = job("train")
    break_it(tree)
    call = Call(
        method="POST", path=in_space(space, "jobs", base="/apis/batch/v1"), body=tree, target="job train"
    )
    with pytest.raises(Refused, match=f'unknown field .*{field}"'):
        await perform(session, call)


async def test_without_strictness_the_server_drops_the_field_silently(
    space: str, session: ApiSession
) -> None:
    """Why the cockpit always asks for Strict."""
    tree = job("train")
    tree["spec"]["paralelism"] = 3
    answer = await session.request("POST", in_space(space, "jobs", base="/apis/batch/v1"), body=tree)
    assert answer.status == 201
    assert "paralelism" not in answer.json()["spec"]


async def test_a_wrong_value_is_refused_with_its_path(space: str, session: ApiSession) -> None:
    tree = job("train")
    tree["spec"]["template"]["spec"]["restartPolicy"] = "Sometimes"
    call = Call(
        method="POST", path=in_space(space, "jobs", base="/apis/batch/v1"), body=tree, target="job train"
    )
    with pytest.raises(Refused, match=r"spec\.template\.spec\.restartPolicy"):
        await perform(session, call)


async def test_a_custom_kinds_schema_is_kept(space: str, session: ApiSession, pools: Resource) -> None:
    for spec, word in (({"replicas": -1}, "greater than or equal to 0"), ({"size": 3}, "string")):
        call = Call(method="POST", path=pools.path(space), body=custom(pools.kind, "p", **spec))
        with pytest.raises(Refused, match=word):
            await perform(session, call)


async def test_a_body_that_is_no_object_is_refused(space: str, session: ApiSession) -> None:
    answer = await session.request("POST", in_space(space, "pods"), body=["not", "a", "pod"])
    assert answer.status == 400
    assert answer.message()


# ---- a write whose answer does not come


async def test_a_write_is_not_repeated_when_its_answer_is_lost(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    """The server did it, nobody heard: one request, one object, and the caller is told that it is unknown."""
    session = await connect(write=True, through=proxy)
    proxy.plan(lost_answer(), method="POST", times=None)
    tree = job("train-")
    tree["metadata"] = {"generateName": "train-"}
    path = in_space(space, "jobs", base="/apis/batch/v1")
    with pytest.raises(NoConnection):
        await perform(session, Call(method="POST", path=path, body=tree))
    assert len([seen for seen in proxy.seen if seen.method == "POST"]) == 1
    assert len(admin.items(path)) == 1


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_a_write_is_not_repeated_after_such_an_answer(
    space: str, connect: Connect, proxy: FaultProxy, code: int
) -> None:
    session = await connect(write=True, through=proxy)
    proxy.plan(status(code, message="not now", retry_after_seconds=1), method="POST", times=None)
    error = Refused if code == 429 else OutcomeUnknown
    with pytest.raises(error, match="not now"):
        await perform(session, Call(method="POST", path=in_space(space, "pods"), body=pod("p")))
    assert len([seen for seen in proxy.seen if seen.method == "POST"]) == 1


async def test_an_audit_id_comes_back_with_the_answer(space: str, session: ApiSession) -> None:
    call = Call(method="POST", path=in_space(space, "pods"), body=pod("p"))
    answer = await perform(session, call)
    assert len(answer.audit_id) == 36


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_no_kind_of_write_is_sent_twice(
    space: str, kept: str, admin: Api, connect: Connect, proxy: FaultProxy, method: str
) -> None:
    """HTTP calls PUT and DELETE idempotent, and HTTP clients repeat them by themselves: ours does not."""
    session = await connect(write=True, through=proxy)
    proxy.plan(lost_answer(), method=method, times=None)
    body = None if method == "DELETE" else configmap("kept", a="9")
    call = Call(method=method, path=kept, body=body, content_type=MERGE if method == "PATCH" else JSON)
    with pytest.raises(NoConnection):
        await perform(session, call)
    assert len([seen for seen in proxy.seen if seen.method == method]) == 1
