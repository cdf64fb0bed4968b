"""Our audit file beside the server's own: the same writes, each by its Audit-ID, and no secret in ours."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from cockpit.actions.execute.execute_plan import carry_out
from cockpit.clock import SystemClock
from cockpit.local_state.audit import Audit, Entry
from cockpit.model.plan import Call, Plan
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect
from tests.contract.faults import lost_answer
from tests.contract.mirror import eventually
from tests.contract.server import Server
from tests.contract.test_read_back import MAKERS, create, delete, generate, patch
from tests.reliability.figures import Tell
from tests.unit.kube.test_mask import CANARY, canary_manifest

WRITES = ("create", "update", "patch", "delete")
TOLD = ("at_seconds", "local_user", "context", "verb", "method", "path", "body_sha256", "state")
"""Who, when, where, what, and how it ended: in each line of an outcome."""


def server_ids(log: Path, space: str, agent: str) -> set[str]:
    """Audit-IDs of the writes below the namespace that the server noted from us; dry runs are none."""
    events = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    return {
        event["auditID"]
        for event in events
        if event["verb"] in WRITES
        and event.get("userAgent", "").startswith(agent)
        and f"/namespaces/{space}/" in event["requestURI"]
        and "dryRun" not in event["requestURI"]
    }


def with_canaries(space: str, _admin: Api) -> Call:
    tree = canary_manifest()
    tree["metadata"]["namespace"] = space
    for container in tree["spec"]["template"]["spec"]["containers"]:
        container.pop("livenessProbe", None)
    return Call(method="POST", path=in_space(space, "jobs", base="/apis/batch/v1"), body=tree)


def stale(space: str, admin: Api) -> Call:
    call = patch(space, admin)
    call.body["metadata"]["resourceVersion"] = "1"
    return call


def gone(space: str, admin: Api) -> Call:
    call = delete(space, admin)
    admin.request("DELETE", call.path)
    return call


@pytest.mark.row(60, "writes in one log and not in the other", most=0)
@pytest.mark.row(60, "writes compared", least=17)
@pytest.mark.row(60, "secret values in the file", most=0)
@pytest.mark.row(60, "lines without who, when, context, verb, body, result", most=0)
@pytest.mark.row(60, "rights of the file beyond 0600", most=0)
async def test_each_line_of_ours_is_a_line_of_the_servers(
    space: str, admin: Api, server: Server, connect: Connect, proxy: FaultProxy, tmp_path: Path, figure: Tell
) -> None:
    """Done, refused (stale, gone, taken, no right), and with an answer that was lost on its way."""
    assert server.audit_log is not None
    audit = Audit(tmp_path / "audit.jsonl")
    session, viewer = await connect(write=True), await connect("viewer", write=True)
    cut = await connect(write=True, through=proxy)
    proxy.plan(lost_answer(), only=lambda seen: seen.method != "GET", times=None)

    async def carry(by: Any, *calls: Call) -> str:
        plan = Plan(verb="try", title="Try it", done="Tried it", calls=calls, shell=f"try --token {CANARY}")
        return (await carry_out(plan, by, audit, SystemClock())).state

    ends = [await carry(session, make(space, admin)) for make in (*MAKERS, with_canaries)]
    assert ends == ["done"] * len(ends)
    for make, expected in ((stale, "refused"), (gone, "unchanged"), (create, "refused")):
        admin.request("DELETE", in_space(space, "configmaps", "patched"))
        assert await carry(session, make(space, admin)) == expected
    admin.request("DELETE", in_space(space, "configmaps", "patched"))
    admin.request("DELETE", in_space(space, "configmaps", "new"))
    assert await carry(viewer, patch(space, admin)) == "refused"
    admin.request("DELETE", in_space(space, "configmaps", "patched"))
    ends = [await carry(cut, make(space, admin)) for make in (create, generate, patch, delete)]
    assert ends == ["done"] * 4
    two = [Call(method="POST", path=in_space(space, "configmaps"), body=_map(name)) for name in ("t1", "t2")]
    assert await carry(session, *two) == "done"

    lines = list(audit.entries())
    ours = [one for one in lines if one.step == "outcome"]
    ids = {one.server_audit_id for one in ours}
    assert "" not in ids and len(ids) == len(ours)
    agent = "gpu-cockpit/"
    log = server.audit_log
    await eventually(lambda: len(server_ids(log, space, agent)) >= len(ids) or None, "the server's lines")
    figure("writes in one log and not in the other", len(server_ids(log, space, agent) ^ ids))
    figure("writes compared", len(ids))
    text = audit.path.read_text()
    figure("secret values in the file", text.count(CANARY))
    figure("lines without who, when, context, verb, body, result", sum(not _is_whole(one) for one in ours))
    figure("rights of the file beyond 0600", stat.S_IMODE(audit.path.stat().st_mode) & ~0o600)


def _map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


def _is_whole(one: Entry) -> bool:
    """It tells all of `TOLD`; of what was there before also which object and version were meant."""
    is_new = one.method == "POST" and not one.path.endswith("/eviction")
    return all(getattr(one, name) for name in TOLD) and (
        is_new or bool(one.uid) or isinstance(one.wanted, list)
    )
