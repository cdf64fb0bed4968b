"""Versions, patches, server-side apply, validation: what a write may assume, and what is said if not."""

from typing import Any

import pytest

from cockpit.errors import NoConnection, Refused
from cockpit.kube.calls import perform
from cockpit.kube.resource import Resource
from cockpit.kube.session import Session
from cockpit.model.plan import Call
from tests.bed.api import Api
from tests.contract.asking import APPLY, JSON, JSON_PATCH, MERGE, STRATEGIC, in_space, patch
from tests.contract.conftest import Connect
from tests.contract.fault_proxy import FaultProxy
from tests.contract.faults import lost_answer, status
from tests.contract.shapes import configmap, custom, deployment, job, pod


@pytest.fixture
async def session(connect: Connect) -> Session:
    return await connect(write=True)


@pytest.fixture
def kept(admin: Api, space: str) -> str:
    """Path of a config map with a=1, b=2."""
    admin.create(in_space(space, "configmaps"), configmap("kept", a="1", b="2"))
    return in_space(space, "configmaps", "kept")


# ---- versions


async def test_an_update_with_the_version_that_was_read_is_taken(
    kept: str, admin: Api, session: Session
) -> None:
    read = admin.get(kept)
    read["data"]["a"] = "9"
    answer = await session.request("PUT", kept, body=read)
    assert answer.status == 200
    assert answer.json()["metadata"]["resourceVersion"] != read["metadata"]["resourceVersion"]


async def test_an_update_with_an_old_version_is_a_conflict(kept: str, admin: Api, session: Session) -> None:
    read = admin.get(kept)
    admin.merge(kept, {"data": {"a": "somebody else"}})
    read["data"]["a"] = "9"
    answer = await session.request("PUT", kept, body=read)
    assert answer.status == 409
    assert answer.server_status().reason == "Conflict"
    assert admin.get(kept)["data"]["a"] == "somebody else"


async def test_a_patch_that_names_an_old_version_is_a_conflict_in_words(
    kept: str, admin: Api, session: Session
) -> None:
    version = admin.get(kept)["metadata"]["resourceVersion"]
    admin.merge(kept, {"data": {"a": "somebody else"}})
    body = {"metadata": {"resourceVersion": version}, "data": {"a": "9"}}
    call = Call(method="PATCH", path=kept, body=body, content_type=MERGE, target="config map kept")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.sentence.startswith(
        "config map kept: it has changed since it was read, nothing was done"
    )
    assert admin.get(kept)["data"]["a"] == "somebody else"


async def test_a_patch_that_names_another_uid_does_nothing_and_says_why(
    kept: str, admin: Api, session: Session
) -> None:
    """The API server calls it a change of an immutable field (422); a person means: another object."""
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "data": {"a": "9"}}
    call = Call(method="PATCH", path=kept, body=body, content_type=MERGE, target="config map kept")
    with pytest.raises(Refused, match="nothing was done"):
        await perform(session, call)
    assert admin.get(kept)["data"]["a"] == "1"


async def test_a_custom_object_is_kept_by_its_uid_too(
    space: str, admin: Api, session: Session, pools: Resource
) -> None:
    admin.create(pools.path(space), custom(pools.kind, "p", replicas=1))
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "spec": {"replicas": 9}}
    call = Call(method="PATCH", path=pools.path(space, "p"), body=body, content_type=MERGE, target="pool p")
    with pytest.raises(Refused, match="nothing was done"):
        await perform(session, call)
    assert admin.get(pools.path(space, "p"))["spec"]["replicas"] == 1


async def test_a_second_create_of_a_name_is_refused(space: str, admin: Api, session: Session) -> None:
    path = in_space(space, "pods")
    uid = admin.create(path, pod("p"))["metadata"]["uid"]
    call = Call(method="POST", path=path, body=pod("p"), target="pod p")
    with pytest.raises(Refused, match="already exists"):
        await perform(session, call)
    assert admin.get(f"{path}/p")["metadata"]["uid"] == uid


async def test_a_write_to_a_missing_object_says_not_found(space: str, session: Session) -> None:
    call = Call(
        method="PATCH",
        path=in_space(space, "configmaps", "gone"),
        body={"data": {"a": "1"}},
        content_type=MERGE,
        target="config map gone",
    )
    with pytest.raises(Refused, match="config map gone: not found"):
        await perform(session, call)


async def test_a_write_into_a_missing_namespace_names_it(session: Session) -> None:
    answer = await session.request("POST", in_space("no-such-space", "pods"), body=pod("p"))
    assert answer.status == 404
    assert "no-such-space" in answer.message()


# ---- patches


async def test_a_merge_patch_sets_and_removes(kept: str, admin: Api, session: Session) -> None:
    assert (await patch(session, kept, {"data": {"a": None, "c": "3"}})).ok
    assert admin.get(kept)["data"] == {"b": "2", "c": "3"}


async def test_a_merge_patch_replaces_a_list_whole(space: str, admin: Api, session: Session) -> None:
    made = pod("p") | {"metadata": {"name": "p", "finalizers": ["contract.test/a", "contract.test/b"]}}
    admin.create(in_space(space, "pods"), made)
    path = in_space(space, "pods", "p")
    assert (await patch(session, path, {"metadata": {"finalizers": ["contract.test/c"]}})).ok
    assert admin.get(path)["metadata"]["finalizers"] == ["contract.test/c"]
    admin.merge(path, {"metadata": {"finalizers": None}})


async def test_a_strategic_patch_merges_a_list_by_its_key(space: str, admin: Api, session: Session) -> None:
    path = in_space(space, "deployments", "serve", base="/apis/apps/v1")
    admin.create(in_space(space, "deployments", base="/apis/apps/v1"), deployment("serve", 0))
    more = {
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "registry.test/side:1"}]}}}
    }
    assert (await patch(session, path, more, STRATEGIC)).ok
    containers = admin.get(path)["spec"]["template"]["spec"]["containers"]
    assert sorted(one["name"] for one in containers) == ["main", "side"]


async def test_a_strategic_patch_can_delete_by_directive(space: str, admin: Api, session: Session) -> None:
    path = in_space(space, "deployments", "serve", base="/apis/apps/v1")
    tree = deployment("serve", 0)
    tree["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "registry.test/side:1"})
    admin.create(in_space(space, "deployments", base="/apis/apps/v1"), tree)
    less = {"spec": {"template": {"spec": {"containers": [{"$patch": "delete", "name": "side"}]}}}}
    assert (await patch(session, path, less, STRATEGIC)).ok
    containers = admin.get(path)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["main"]


async def test_a_json_patch_works_in_order(kept: str, admin: Api, session: Session) -> None:
    steps = [
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "move", "from": "/data/a", "path": "/data/z"},
        {"op": "replace", "path": "/data/b", "value": "9"},
        {"op": "add", "path": "/metadata/labels", "value": {"team": "a"}},
    ]
    assert (await patch(session, kept, steps, JSON_PATCH)).ok
    tree = admin.get(kept)
    assert tree["data"] == {"z": "1", "b": "9"}
    assert tree["metadata"]["labels"] == {"team": "a"}


async def test_a_json_patch_whose_test_fails_does_nothing(kept: str, admin: Api, session: Session) -> None:
    steps = [
        {"op": "replace", "path": "/data/b", "value": "9"},
        {"op": "test", "path": "/data/a", "value": "something else"},
    ]
    answer = await patch(session, kept, steps, JSON_PATCH)
    assert answer.status == 422
    assert admin.get(kept)["data"] == {"a": "1", "b": "2"}


async def test_a_json_patch_escapes_a_slash_in_a_key(kept: str, admin: Api, session: Session) -> None:
    admin.merge(kept, {"metadata": {"annotations": {"contract.test/why": "old"}}})
    steps = [{"op": "replace", "path": "/metadata/annotations/contract.test~1why", "value": "new"}]
    assert (await patch(session, kept, steps, JSON_PATCH)).ok
    assert admin.get(kept)["metadata"]["annotations"]["contract.test/why"] == "new"


async def test_a_patch_of_an_unknown_type_is_refused(kept: str, session: Session) -> None:
    answer = await patch(session, kept, {"data": {}}, "application/x-patch")
    assert answer.status == 415


async def test_a_strategic_patch_of_a_custom_kind_is_refused(
    space: str, admin: Api, session: Session, pools: Resource
) -> None:
    admin.create(pools.path(space), custom(pools.kind, "p", replicas=1))
    answer = await patch(session, pools.path(space, "p"), {"spec": {"replicas": 2}}, STRATEGIC)
    assert answer.status == 415
    assert admin.get(pools.path(space, "p"))["spec"]["replicas"] == 1


async def test_a_status_patch_leaves_the_spec_and_the_other_way_round(
    space: str, admin: Api, session: Session
) -> None:
    admin.create(in_space(space, "pods"), pod("p"))
    path = in_space(space, "pods", "p")
    both = {"metadata": {"labels": {"seen": "yes"}}, "status": {"phase": "Running"}}
    assert (await patch(session, path, both)).ok
    assert admin.get(path)["status"]["phase"] == "Pending", "the main path leaves status alone"
    assert (await patch(session, f"{path}/status", {"status": {"phase": "Running"}})).ok
    assert admin.get(path)["status"]["phase"] == "Running"


async def test_an_immutable_field_is_refused_with_its_name(space: str, admin: Api, session: Session) -> None:
    base = "/apis/batch/v1"
    admin.create(in_space(space, "jobs", base=base), job("train"))
    call = Call(
        method="PATCH",
        path=in_space(space, "jobs", "train", base=base),
        body={"spec": {"completionMode": "Indexed"}},
        content_type=MERGE,
        target="job train",
    )
    with pytest.raises(Refused, match=r"job train: .*immutable") as caught:
        await perform(session, call)
    assert "\n" not in caught.value.sentence


# ---- server-side apply


async def test_an_apply_creates_and_then_changes_nothing(space: str, admin: Api, session: Session) -> None:
    path = in_space(space, "configmaps", "applied")
    first = await patch(session, path, configmap("applied", a="1"), APPLY, ("fieldManager", "cockpit"))
    assert first.status == 201
    again = await patch(session, path, configmap("applied", a="1"), APPLY, ("fieldManager", "cockpit"))
    assert again.status == 200
    version = admin.get(path)["metadata"]["resourceVersion"]
    assert (
        version == first.json()["metadata"]["resourceVersion"] == again.json()["metadata"]["resourceVersion"]
    )


async def test_an_apply_without_a_manager_is_refused(space: str, session: Session) -> None:
    answer = await patch(session, in_space(space, "configmaps", "x"), configmap("x"), APPLY)
    assert answer.status in (400, 422)
    assert "fieldManager" in answer.message()


async def test_an_apply_conflict_names_manager_and_field(space: str, admin: Api, session: Session) -> None:
    path = in_space(space, "configmaps", "shared")
    assert (await patch(session, path, configmap("shared", a="1"), APPLY, ("fieldManager", "tuner"))).ok
    call = Call(
        method="PATCH",
        path=path,
        body=configmap("shared", a="2"),
        content_type=APPLY,
        query=(("fieldManager", "cockpit"),),
        target="config map shared",
    )
    answer = await patch(session, path, call.body, APPLY, *call.query)
    assert answer.status == 409
    assert any(".data.a" in cause for cause in answer.server_status().causes)
    with pytest.raises(Refused, match=r"tuner"):
        await perform(session, call)
    assert admin.get(path)["data"]["a"] == "1"


async def test_force_takes_the_field_over(space: str, admin: Api, session: Session) -> None:
    path = in_space(space, "configmaps", "shared")
    assert (await patch(session, path, configmap("shared", a="1"), APPLY, ("fieldManager", "tuner"))).ok
    query = (("fieldManager", "cockpit"), ("force", "true"))
    assert (await patch(session, path, configmap("shared", a="2"), APPLY, *query)).ok
    tree = admin.get(path)
    assert tree["data"]["a"] == "2"
    owners = [
        entry["manager"] for entry in tree["metadata"]["managedFields"] if "f:data" in entry["fieldsV1"]
    ]
    assert owners == ["cockpit"]


async def test_what_one_manager_leaves_out_goes_and_the_other_ones_stays(
    space: str, admin: Api, session: Session
) -> None:
    path = in_space(space, "configmaps", "shared")
    await patch(session, path, configmap("shared", a="1", b="1"), APPLY, ("fieldManager", "cockpit"))
    await patch(session, path, configmap("shared", c="1"), APPLY, ("fieldManager", "tuner"))
    await patch(session, path, configmap("shared", b="1"), APPLY, ("fieldManager", "cockpit"))
    assert admin.get(path)["data"] == {"b": "1", "c": "1"}


# ---- dry run


DRY = (("dryRun", "All"),)


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETE all"])
async def test_a_dry_run_answers_as_if_and_keeps_nothing(
    space: str, kept: str, admin: Api, session: Session, verb: str
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


async def test_a_dry_run_is_checked_like_the_real_thing(space: str, kept: str, session: Session) -> None:
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


async def test_a_dry_run_fills_in_the_servers_defaults(space: str, session: Session) -> None:
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
    space: str, session: Session, break_it: Any, field: str
) -> None:
    tree = job("train")
    break_it(tree)
    call = Call(
        method="POST", path=in_space(space, "jobs", base="/apis/batch/v1"), body=tree, target="job train"
    )
    with pytest.raises(Refused, match=f'unknown field .*{field}"'):
        await perform(session, call)


async def test_without_strictness_the_server_drops_the_field_silently(space: str, session: Session) -> None:
    """Why the cockpit always asks for Strict."""
    tree = job("train")
    tree["spec"]["paralelism"] = 3
    answer = await session.request("POST", in_space(space, "jobs", base="/apis/batch/v1"), body=tree)
    assert answer.status == 201
    assert "paralelism" not in answer.json()["spec"]


async def test_a_wrong_value_is_refused_with_its_path(space: str, session: Session) -> None:
    tree = job("train")
    tree["spec"]["template"]["spec"]["restartPolicy"] = "Sometimes"
    call = Call(
        method="POST", path=in_space(space, "jobs", base="/apis/batch/v1"), body=tree, target="job train"
    )
    with pytest.raises(Refused, match=r"spec\.template\.spec\.restartPolicy"):
        await perform(session, call)


async def test_a_custom_kinds_schema_is_kept(space: str, session: Session, pools: Resource) -> None:
    for spec, word in (({"replicas": -1}, "greater than or equal to 0"), ({"size": 3}, "string")):
        call = Call(method="POST", path=pools.path(space), body=custom(pools.kind, "p", **spec))
        with pytest.raises(Refused, match=word):
            await perform(session, call)


async def test_a_body_that_is_no_object_is_refused(space: str, session: Session) -> None:
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
async def test_a_write_is_not_repeated_after_a_refusal(
    space: str, connect: Connect, proxy: FaultProxy, code: int
) -> None:
    session = await connect(write=True, through=proxy)
    proxy.plan(status(code, message="not now", retry_after_seconds=1), method="POST", times=None)
    with pytest.raises(Refused, match="not now"):
        await perform(session, Call(method="POST", path=in_space(space, "pods"), body=pod("p")))
    assert len([seen for seen in proxy.seen if seen.method == "POST"]) == 1


async def test_an_audit_id_comes_back_with_the_answer(space: str, session: Session) -> None:
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
