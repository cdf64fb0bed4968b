"""Deleting: the object that was meant and no other, and what goes with it."""

import pytest

from cockpit.errors import Refused
from cockpit.kube.calls import perform
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from cockpit.model.refusal import By, ObjectRef
from cockpit.model.right import Right
from tests.bed.api import Api, ApiError
from tests.contract.asking import in_space, preconditions
from tests.contract.conftest import Connect, needs
from tests.contract.mirror import eventually
from tests.contract.server import Capability
from tests.contract.shapes import configmap, pod


def _gone(api: Api, path: str) -> bool:
    return api.request("GET", path).status == 404


def _owned(tree: dict[str, object], owner: dict[str, object], *, blocking: bool = False) -> dict[str, object]:
    metadata = owner["metadata"]
    assert isinstance(metadata, dict)
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
        "blockOwnerDeletion": blocking,
    }
    own = tree["metadata"]
    assert isinstance(own, dict)
    return tree | {"metadata": own | {"ownerReferences": [reference]}}


async def test_a_delete_with_the_right_uid_and_version_is_done(
    space: str, admin: Api, session: ApiSession
) -> None:
    meta = admin.create(in_space(space, "pods"), pod("p"))["metadata"]
    path = in_space(space, "pods", "p")
    body = preconditions(meta["uid"], meta["resourceVersion"])
    assert (await perform(session, Call(method="DELETE", path=path, body=body))).ok
    assert _gone(admin, path)


async def test_a_delete_with_another_uid_is_refused_in_words(
    space: str, admin: Api, session: ApiSession
) -> None:
    """The object was deleted and made anew between reading and confirming."""
    path = in_space(space, "pods", "p")
    old = admin.create(in_space(space, "pods"), pod("p"))["metadata"]["uid"]
    admin.delete(path)
    new = admin.create(in_space(space, "pods"), pod("p"))["metadata"]["uid"]
    call = Call(method="DELETE", path=path, body=preconditions(old), target="pod p")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_recreated and not caught.value.said.is_changed
    assert admin.get(path)["metadata"]["uid"] == new


async def test_a_delete_with_an_old_version_is_a_conflict(
    space: str, admin: Api, session: ApiSession
) -> None:
    path = in_space(space, "pods", "p")
    meta = admin.create(in_space(space, "pods"), pod("p"))["metadata"]
    admin.merge(path, {"metadata": {"labels": {"changed": "yes"}}})
    answer = await session.request("DELETE", path, body=preconditions(meta["uid"], meta["resourceVersion"]))
    assert answer.status == 409
    assert not _gone(admin, path)


async def test_a_delete_of_what_is_gone_says_so(space: str, session: ApiSession) -> None:
    call = Call(method="DELETE", path=in_space(space, "pods", "never"), target="pod never")
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_gone and caught.value.said.subject == ObjectRef("pods", "never")


async def test_a_delete_of_what_is_gone_is_known_by_data_whatever_its_name(
    space: str, session: ApiSession
) -> None:
    call = Call(
        method="DELETE", path=in_space(space, "pods", "my-namespaces-0"), target="pod my-namespaces-0"
    )
    with pytest.raises(Refused) as caught:
        await perform(session, call)
    assert caught.value.said.is_gone and not caught.value.said.is_namespace_missing


async def test_a_delete_waits_for_finalizers(space: str, admin: Api, session: ApiSession) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["contract.test/hold"]}}
    admin.create(in_space(space, "configmaps"), configmap("held") | held)
    path = in_space(space, "configmaps", "held")
    assert (await session.request("DELETE", path)).ok
    assert admin.get(path)["metadata"]["deletionTimestamp"]
    again = await session.request("DELETE", path)
    assert again.ok, "a second delete changes nothing and is no error"
    admin.merge(path, {"metadata": {"finalizers": None}})
    assert _gone(admin, path)


async def test_a_finalizer_cannot_be_added_to_what_is_ending(
    space: str, admin: Api, session: ApiSession
) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["contract.test/hold"]}}
    admin.create(in_space(space, "configmaps"), configmap("held") | held)
    path = in_space(space, "configmaps", "held")
    admin.delete(path)
    answer = await session.request(
        "PATCH",
        path,
        body={"metadata": {"finalizers": ["contract.test/hold", "contract.test/late"]}},
        content_type="application/merge-patch+json",
    )
    assert answer.status == 422
    admin.merge(path, {"metadata": {"finalizers": None}})


async def test_a_bound_pod_gets_its_grace_period(space: str, admin: Api, session: ApiSession) -> None:
    admin.create(in_space(space, "pods"), pod("bound", node=f"node-of-{space}"))
    path = in_space(space, "pods", "bound")
    assert (await session.request("DELETE", path, body=preconditions(gracePeriodSeconds=120))).ok
    metadata = admin.get(path)["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 120
    assert (await session.request("DELETE", path, body=preconditions(gracePeriodSeconds=0))).ok
    assert _gone(admin, path)


async def test_a_collection_is_deleted_by_selector(space: str, admin: Api, session: ApiSession) -> None:
    for name, team in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        admin.create(in_space(space, "pods"), pod(name, labels={"team": team}))
    answer = await session.request("DELETE", in_space(space, "pods"), query=(("labelSelector", "team=a"),))
    assert answer.ok
    assert [item["metadata"]["name"] for item in admin.items(in_space(space, "pods"))] == ["b1"]


@needs(Capability.CONTROLLERS)
@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
async def test_a_propagation_policy_decides_over_what_is_owned(
    space: str, admin: Api, session: ApiSession, policy: str
) -> None:
    maps = in_space(space, "configmaps")
    owner = admin.create(maps, configmap("owner"))
    admin.create(maps, _owned(configmap("owned"), owner, blocking=True))
    meta = owner["metadata"]
    body = preconditions(meta["uid"], propagationPolicy=policy)
    assert (await perform(session, Call(method="DELETE", path=f"{maps}/owner", body=body))).ok
    await eventually(lambda: _gone(admin, f"{maps}/owner"), "the owner is gone")
    if policy == "Orphan":
        assert "ownerReferences" not in admin.get(f"{maps}/owned")["metadata"]
    else:
        await eventually(lambda: _gone(admin, f"{maps}/owned"), "the owned object is gone")


@needs(Capability.CONTROLLERS)
async def test_foreground_keeps_the_owner_until_the_owned_are_gone(
    space: str, admin: Api, session: ApiSession
) -> None:
    maps = in_space(space, "configmaps")
    owner = admin.create(maps, configmap("owner"))
    child = _owned(configmap("owned"), owner, blocking=True)
    metadata = child["metadata"]
    assert isinstance(metadata, dict)
    admin.create(maps, child | {"metadata": metadata | {"finalizers": ["contract.test/hold"]}})
    body = preconditions(propagationPolicy="Foreground")
    assert (await session.request("DELETE", f"{maps}/owner", body=body)).ok
    await eventually(
        lambda: admin.get(f"{maps}/owned")["metadata"].get("deletionTimestamp"), "the child is ending"
    )
    assert "foregroundDeletion" in admin.get(f"{maps}/owner")["metadata"]["finalizers"]
    admin.merge(f"{maps}/owned", {"metadata": {"finalizers": None}})
    await eventually(lambda: _gone(admin, f"{maps}/owner"), "the owner is gone at last")


async def test_an_unknown_policy_is_refused(space: str, admin: Api, session: ApiSession) -> None:
    admin.create(in_space(space, "configmaps"), configmap("c"))
    body = preconditions(propagationPolicy="Somehow")
    answer = await session.request("DELETE", in_space(space, "configmaps", "c"), body=body)
    assert answer.status in (400, 422)
    assert "Somehow" in answer.message()


async def test_deleting_without_the_right_names_verb_and_resource(
    space: str, admin: Api, connect: Connect
) -> None:
    admin.create(in_space(space, "pods"), pod("p"))
    viewer = await connect("viewer", write=True)
    call = Call(method="DELETE", path=in_space(space, "pods", "p"), target="pod p")
    with pytest.raises(Refused) as caught:
        await perform(viewer, call)
    assert caught.value.said.by is By.RIGHTS
    assert caught.value.said.right == Right("delete", "", "pods", namespace=space)
    assert admin.get(in_space(space, "pods", "p"))


async def test_a_namespace_in_deletion_takes_nothing_new(admin: Api, session: ApiSession, space: str) -> None:
    doomed = f"{space}-doomed"
    admin.create("/api/v1/namespaces", {"metadata": {"name": doomed}})
    held = {"metadata": {"name": "held", "finalizers": ["contract.test/hold"]}}
    admin.create(in_space(doomed, "configmaps"), configmap("held") | held)
    admin.delete(f"/api/v1/namespaces/{doomed}")
    with pytest.raises(Refused, match="being terminated") as caught:
        await perform(session, Call(method="POST", path=in_space(doomed, "pods"), body=pod("p")))
    assert caught.value.said.has_cause("NamespaceTerminating")
    try:
        admin.merge(in_space(doomed, "configmaps", "held"), {"metadata": {"finalizers": None}})
    except ApiError as error:
        assert error.status == 404
