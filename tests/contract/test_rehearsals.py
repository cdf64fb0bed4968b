"""Rehearsals on the server: what dryRun=All says, and that nothing of it stays."""

from typing import Any

import pytest

from cockpit.errors import Refused
from cockpit.kube.calls import perform
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from tests.bed.api import Api
from tests.contract.asking import in_space, preconditions
from tests.contract.conftest import Connect
from tests.contract.shapes import configmap, job, pod


@pytest.fixture
async def session(connect: Connect) -> ApiSession:
    return await connect()


async def test_a_rehearsed_delete_with_preconditions_deletes_nothing(
    space: str, admin: Api, session: ApiSession
) -> None:
    """A delete that has a body overlooks the query: `?dryRun=All` alone would have deleted."""
    path = in_space(space, "pods", "p")
    meta = admin.create(in_space(space, "pods"), pod("p"))["metadata"]
    body = preconditions(meta["uid"], meta["resourceVersion"])
    answer = await perform(session, Call(method="DELETE", path=path, body=body), dry_run=True)
    assert answer.ok
    found = admin.get(path)["metadata"]
    assert found["uid"] == meta["uid"]
    assert "deletionTimestamp" not in found


async def test_a_rehearsed_delete_of_another_object_is_refused(
    space: str, admin: Api, session: ApiSession
) -> None:
    path = in_space(space, "pods", "p")
    admin.create(in_space(space, "pods"), pod("p"))
    body = preconditions("00000000-0000-0000-0000-000000000000")
    with pytest.raises(Refused):
        await perform(session, Call(method="DELETE", path=path, body=body), dry_run=True)


async def test_read_only_does_not_send_a_delete_whose_body_is_not_dry(
    space: str, admin: Api, session: ApiSession
) -> None:
    path = in_space(space, "configmaps", "kept")
    meta = admin.create(in_space(space, "configmaps"), configmap("kept"))["metadata"]
    with pytest.raises(Refused, match="Read-only"):
        await session.request("DELETE", path, body=preconditions(meta["uid"]), query=(("dryRun", "All"),))
    assert admin.get(path)["metadata"]["uid"] == meta["uid"]


JOBS = "/apis/batch/v1"


def _again(space: str, tree: dict[str, Any]) -> Call:
    return Call(method="POST", path=in_space(space, "jobs", base=JOBS), body=tree, target="job fit")


async def test_a_rehearsed_create_is_judged_whole_before_it_is_told_that_its_name_is_taken(
    space: str, admin: Api, session: ApiSession
) -> None:
    """What takes the place of an object is tried under its name while the object is there: only that the name
    is taken may be said."""
    path = in_space(space, "jobs", base=JOBS)
    before = admin.create(path, job("fit"))["metadata"]["uid"]
    with pytest.raises(Refused) as caught:
        await perform(session, _again(space, job("fit")), dry_run=True)
    assert caught.value.said.is_taken
    wrong = job("fit")
    wrong["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    with pytest.raises(Refused) as caught:
        await perform(session, _again(space, wrong), dry_run=True)
    assert (caught.value.said.status, caught.value.said.reason) == (422, "Invalid")
    assert admin.get(in_space(space, "jobs", "fit", base=JOBS))["metadata"]["uid"] == before
