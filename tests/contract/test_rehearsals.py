"""Rehearsals on the server: what dryRun=All says, and that nothing of it stays."""

import pytest

from cockpit.errors import Refused
from cockpit.kube.calls import perform
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from tests.bed.api import Api
from tests.contract.asking import in_space, preconditions
from tests.contract.conftest import Connect
from tests.contract.shapes import configmap, pod


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
