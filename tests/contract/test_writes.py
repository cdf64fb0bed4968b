"""Versions, patches, server-side apply, validation: what a write may assume, and what is said if not."""

import pytest

from cockpit.errors import Refused
from cockpit.kube.calls import perform
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from tests.bed.api import Api
from tests.contract.asking import APPLY, JSON_PATCH, MERGE, STRATEGIC, in_space, patch
from tests.contract.shapes import configmap, custom, deployment, job, pod

# ---- versions


async def test_an_update_with_the_version_that_was_read_is_taken(
    kept: str, admin: Api, session: ApiSession
) -> None:
    read = admin.get(kept)
    read["data"]["a"] = "9"
    answer = await session.request("PUT", kept, body=read)
    assert answer.status == 200
    assert answer.json()["metadata"]["resourceVersion"] != read["metadata"]["resourceVersion"]


async def test_an_update_with_an_old_version_is_a_conflict(
    kept: str, admin: Api, session: ApiSession
) -> None:
    read = admin.get(kept)
    admin.merge(kept, {"data": {"a": "somebody else"}})
    read["data"]["a"] = "9"
    answer = await session.request("PUT", kept, body=read)
    assert answer.status == 409
    assert answer.server_status().reason == "Conflict"
    assert admin.get(kept)["data"]["a"] == "somebody else"


async def test_a_patch_that_names_an_old_version_is_a_conflict_in_words(
    kept: str, admin: Api, session: ApiSession
) -> None:
    version = admin.get(kept)["metadata"]["resourceVersion"]
    admin.merge(kept, {"data": {"a": "somebody else"}})
    body = {"metadata": {"resourceVersion": version}, "data": {"a": "9"}}
    call = Call(method="PATCH", path=kept, body=body, content_type=MERGE, target="config map kept")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_changed
    assert admin.get(kept)["data"]["a"] == "somebody else"


async def test_a_patch_that_names_another_uid_does_nothing_and_says_why(
    kept: str, admin: Api, session: ApiSession
) -> None:
    """The API server calls it a change of an immutable field (422); a person means: another object."""
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "data": {"a": "9"}}
    call = Call(method="PATCH", path=kept, body=body, content_type=MERGE, target="config map kept")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_recreated
    assert admin.get(kept)["data"]["a"] == "1"


async def test_a_custom_object_is_kept_by_its_uid_too(
    space: str, admin: Api, session: ApiSession, pools: Resource
) -> None:
    admin.create(pools.path(space), custom(pools.kind, "p", replicas=1))
    body = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "spec": {"replicas": 9}}
    call = Call(method="PATCH", path=pools.path(space, "p"), body=body, content_type=MERGE, target="pool p")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_recreated
    assert admin.get(pools.path(space, "p"))["spec"]["replicas"] == 1


async def test_a_second_create_of_a_name_is_refused(space: str, admin: Api, session: ApiSession) -> None:
    path = in_space(space, "pods")
    uid = admin.create(path, pod("p"))["metadata"]["uid"]
    call = Call(method="POST", path=path, body=pod("p"), target="pod p")
    with pytest.raises(Refused, match="already exists") as caught:
        await perform(session, call)
    assert caught.value.said.is_taken
    assert admin.get(f"{path}/p")["metadata"]["uid"] == uid


async def test_a_write_to_a_missing_object_says_not_found(space: str, session: ApiSession) -> None:
    call = Call(
        method="PATCH",
        path=in_space(space, "configmaps", "gone"),
        body={"data": {"a": "1"}},
        content_type=MERGE,
        target="config map gone",
    )
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_gone


async def test_a_write_into_a_missing_namespace_names_it(session: ApiSession) -> None:
    answer = await session.request("POST", in_space("no-such-space", "pods"), body=pod("p"))
    assert answer.status == 404
    assert "no-such-space" in answer.message()


# ---- patches


async def test_a_merge_patch_sets_and_removes(kept: str, admin: Api, session: ApiSession) -> None:
    assert (await patch(session, kept, {"data": {"a": None, "c": "3"}})).ok
    assert admin.get(kept)["data"] == {"b": "2", "c": "3"}


async def test_a_merge_patch_replaces_a_list_whole(space: str, admin: Api, session: ApiSession) -> None:
    made = pod("p") | {"metadata": {"name": "p", "finalizers": ["contract.test/a", "contract.test/b"]}}
    admin.create(in_space(space, "pods"), made)
    path = in_space(space, "pods", "p")
    assert (await patch(session, path, {"metadata": {"finalizers": ["contract.test/c"]}})).ok
    assert admin.get(path)["metadata"]["finalizers"] == ["contract.test/c"]
    admin.merge(path, {"metadata": {"finalizers": None}})


async def test_a_strategic_patch_merges_a_list_by_its_key(
    space: str, admin: Api, session: ApiSession
) -> None:
    path = in_space(space, "deployments", "serve", base="/apis/apps/v1")
    admin.create(in_space(space, "deployments", base="/apis/apps/v1"), deployment("serve", 0))
    more = {
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "registry.test/side:1"}]}}}
    }
    assert (await patch(session, path, more, STRATEGIC)).ok
    containers = admin.get(path)["spec"]["template"]["spec"]["containers"]
    assert sorted(one["name"] for one in containers) == ["main", "side"]


async def test_a_strategic_patch_can_delete_by_directive(space: str, admin: Api, session: ApiSession) -> None:
    path = in_space(space, "deployments", "serve", base="/apis/apps/v1")
    tree = deployment("serve", 0)
    tree["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "registry.test/side:1"})
    admin.create(in_space(space, "deployments", base="/apis/apps/v1"), tree)
    less = {"spec": {"template": {"spec": {"containers": [{"$patch": "delete", "name": "side"}]}}}}
    assert (await patch(session, path, less, STRATEGIC)).ok
    containers = admin.get(path)["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["main"]


async def test_a_json_patch_works_in_order(kept: str, admin: Api, session: ApiSession) -> None:
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


async def test_a_json_patch_whose_test_fails_does_nothing(kept: str, admin: Api, session: ApiSession) -> None:
    steps = [
        {"op": "replace", "path": "/data/b", "value": "9"},
        {"op": "test", "path": "/data/a", "value": "something else"},
    ]
    answer = await patch(session, kept, steps, JSON_PATCH)
    assert answer.status == 422
    assert admin.get(kept)["data"] == {"a": "1", "b": "2"}


async def test_a_json_patch_escapes_a_slash_in_a_key(kept: str, admin: Api, session: ApiSession) -> None:
    admin.merge(kept, {"metadata": {"annotations": {"contract.test/why": "old"}}})
    steps = [{"op": "replace", "path": "/metadata/annotations/contract.test~1why", "value": "new"}]
    assert (await patch(session, kept, steps, JSON_PATCH)).ok
    assert admin.get(kept)["metadata"]["annotations"]["contract.test/why"] == "new"


async def test_a_patch_of_an_unknown_type_is_refused(kept: str, session: ApiSession) -> None:
    answer = await patch(session, kept, {"data": {}}, "application/x-patch")
    assert answer.status == 415


async def test_a_strategic_patch_of_a_custom_kind_is_refused(
    space: str, admin: Api, session: ApiSession, pools: Resource
) -> None:
    admin.create(pools.path(space), custom(pools.kind, "p", replicas=1))
    answer = await patch(session, pools.path(space, "p"), {"spec": {"replicas": 2}}, STRATEGIC)
    assert answer.status == 415
    assert admin.get(pools.path(space, "p"))["spec"]["replicas"] == 1


async def test_a_status_patch_leaves_the_spec_and_the_other_way_round(
    space: str, admin: Api, session: ApiSession
) -> None:
    admin.create(in_space(space, "pods"), pod("p"))
    path = in_space(space, "pods", "p")
    both = {"metadata": {"labels": {"seen": "yes"}}, "status": {"phase": "Running"}}
    assert (await patch(session, path, both)).ok
    assert admin.get(path)["status"]["phase"] == "Pending", "the main path leaves status alone"
    assert (await patch(session, f"{path}/status", {"status": {"phase": "Running"}})).ok
    assert admin.get(path)["status"]["phase"] == "Running"


async def test_an_immutable_field_is_refused_with_its_name(
    space: str, admin: Api, session: ApiSession
) -> None:
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


async def test_an_apply_creates_and_then_changes_nothing(space: str, admin: Api, session: ApiSession) -> None:
    path = in_space(space, "configmaps", "applied")
    first = await patch(session, path, configmap("applied", a="1"), APPLY, ("fieldManager", "cockpit"))
    assert first.status == 201
    again = await patch(session, path, configmap("applied", a="1"), APPLY, ("fieldManager", "cockpit"))
    assert again.status == 200
    version = admin.get(path)["metadata"]["resourceVersion"]
    assert (
        version == first.json()["metadata"]["resourceVersion"] == again.json()["metadata"]["resourceVersion"]
    )


async def test_an_apply_without_a_manager_is_refused(space: str, session: ApiSession) -> None:
    answer = await patch(session, in_space(space, "configmaps", "x"), configmap("x"), APPLY)
    assert answer.status in (400, 422)
    assert "fieldManager" in answer.message()


async def test_an_apply_conflict_names_manager_and_field(space: str, admin: Api, session: ApiSession) -> None:
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
    assert any(".data.a" in cause.field for cause in answer.server_status().causes)
    with pytest.raises(Refused, match=r"tuner") as caught:
        await perform(session, call)
    assert not caught.value.said.is_changed, "another manager owns the field: a newer read changes nothing"
    assert admin.get(path)["data"]["a"] == "1"


async def test_force_takes_the_field_over(space: str, admin: Api, session: ApiSession) -> None:
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
    space: str, admin: Api, session: ApiSession
) -> None:
    path = in_space(space, "configmaps", "shared")
    await patch(session, path, configmap("shared", a="1", b="1"), APPLY, ("fieldManager", "cockpit"))
    await patch(session, path, configmap("shared", c="1"), APPLY, ("fieldManager", "tuner"))
    await patch(session, path, configmap("shared", b="1"), APPLY, ("fieldManager", "cockpit"))
    assert admin.get(path)["data"] == {"b": "1", "c": "1"}
