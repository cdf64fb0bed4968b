"""Cordon and uncordon: the plan, the key, the command, and what a server makes of it."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import carry_out, real_perform
from cockpit.actions.execute.replan import rehearse_replanned
from cockpit.actions.execute.run_verb import Tried, conduct, maker, plan_of, prepare
from cockpit.actions.planner import NoOptions
from cockpit.actions.planning import Planning
from cockpit.actions.verbs.node import CORDON, UNCORDON
from cockpit.actions.verbs.verb import Verb
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, Refused, Unchanged
from cockpit.kube.decode.decoders import NODE
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.model.record import Kind
from cockpit.pools.idle import REMOVAL
from cockpit.pools.node_patches import taint_call
from cockpit.store.store import Store
from tests.bed.api import Api
from tests.contract.conftest import Connect
from tests.tui import looking
from tests.tui.deck import ScriptedApp
from tests.tui.estate import Estate
from tests.tui.test_job_life import Wire, done, shown, table
from tests.unit.actions.builders import Lines, rights_of
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.conftest import cluster, home
from tests.unit.pools.builders import deployment, node, pod, store_of

__all__ = ["cluster", "home"]  # fixtures of another suite
Capture = pytest.CaptureFixture[str]
NONE = NoOptions()


class Unread:
    """A session by which nothing may be read."""

    async def request(self, *_: Any, **__: Any) -> Any:
        raise Refused("nothing is read here")


def on(store: Any, session: Any = None) -> Planning:
    unread: Any = Unread()
    return Planning(store, session or unread, lambda *_: None, "prod")


async def planned(verb: Verb, one: Node, *others: Any, **more: Any) -> Plan:
    return await plan_of(verb, on(store_of([one], others, **more)), one, NONE)


# ---- the plan


async def test_a_cordon_says_what_stays_and_what_is_no_longer_offered() -> None:
    one = node("n1", pool="h100")
    plan = await planned(CORDON, one, pod("p1", "n1", 6), pools=[deployment(replicas=1, maximum=10)])
    assert (plan.title, plan.done) == ("Cordon node n1", "Cordoned node n1")
    assert plan.lines == (
        "no new pod is scheduled on it",
        "1 pod keeps running; 6 GPUs stay allocated",
        "2 free GPUs are no longer schedulable",
        "pool h100 may add a node in its place: 1 of at most 10 now",
    )
    assert plan.warnings == () and not plan.is_destructive
    assert plan.shell == "cockpit node cordon n1 --context prod --write"
    (call,) = plan.calls
    assert (call.method, call.path) == ("PATCH", "/api/v1/nodes/n1")
    assert call.body["spec"] == {"unschedulable": True} and call.body["metadata"]["uid"] == "uid-n1"


async def test_a_pool_at_its_maximum_cannot_make_good_for_it() -> None:
    one = node("n1", pool="h100")
    plan = await planned(CORDON, one, pools=[deployment(replicas=1, maximum=1)])
    assert plan.lines[-1] == "pool h100 cannot add a node in its place: it is at its maximum of 1"


async def test_a_pool_that_an_autoscaler_sizes_may_add_a_node_up_to_its_maximum() -> None:
    bounds = (
        ("cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size", "1"),
        ("cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size", "6"),
    )
    one = node("n1", pool="h100")
    plan = await planned(CORDON, one, pools=[deployment(replicas=1, annotations=bounds)])
    assert plan.lines[-1] == "pool h100 may add a node in its place: 1 of at most 6 now"


async def test_of_a_pool_without_an_owner_nothing_is_promised() -> None:
    plan = await planned(CORDON, node("n1", pool="h100"))
    assert plan.lines[-1].startswith("pool h100: ") and "may add" not in plan.lines[-1]
    assert "no object in this cluster controls the size" in plan.lines[-1]


async def test_gpus_that_may_be_in_use_are_not_called_free() -> None:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=(node("n1"),)))
    of_one = StreamStatus(kind=Kind.POD, scope="team-a", phase=Phase.LIVE)
    store.apply(Batch(kind=Kind.POD, scope="team-a", status=of_one))
    plan = await plan_of(CORDON, on(store), node("n1"), NONE)
    assert "its free GPUs are unknown: not all pods are visible" in plan.lines


@pytest.mark.parametrize(
    ("taint", "told"),
    [
        ("karpenter.sh/disrupted", "Karpenter is about to replace it"),
        ("ToBeDeletedByClusterAutoscaler", "cluster-autoscaler is about to delete it"),
        (
            "node.cluster.x-k8s.io/outdated-revision",
            "Cluster API is replacing the nodes of its revision",
        ),
    ],
)
@pytest.mark.parametrize("verb", [CORDON, UNCORDON], ids=lambda one: one.name)
async def test_who_takes_the_node_away_is_warned_of(verb: Verb, taint: str, told: str) -> None:
    plan = await planned(verb, node("n1", taints=(taint,), unschedulable=verb is UNCORDON))
    assert plan.warnings == (f"taint {taint}: {told}",)


async def test_an_uncordon_of_a_full_node_offers_nothing() -> None:
    plan = await planned(UNCORDON, node("n1", unschedulable=True), pod("p1", "n1", 8))
    assert plan.lines == ("new pods are scheduled on it again", "no GPU is free now")


async def test_an_uncordon_warns_of_anothers_cordon() -> None:
    upgrade = (("nvidia.com/gpu-driver-upgrade-state", "drain-required"),)
    note = (("maintenance.example/cordoned-by", "ann: bad fan"),)
    plan = await planned(
        UNCORDON, node("n1", unschedulable=True, labels=upgrade, annotations=note, ready="Unknown")
    )
    assert plan.lines == ("new pods are scheduled on it again", "8 free GPUs are schedulable again")
    assert plan.warnings == (
        "the GPU operator is upgrading its driver (drain-required): it cordons and uncordons the node itself",
        "cordoned by someone else: annotation maintenance.example/cordoned-by=ann: bad fan",
        "it is not Ready: no pod is scheduled on it until it is",
    )


async def test_a_note_of_a_cordon_is_read_from_the_node() -> None:
    tree = {"metadata": {"name": "n1", "uid": "u", "annotations": {"x.example/cordoned-by": "ann", "y": "z"}}}
    found = NODE.from_json(msgspec.json.encode(tree))
    assert isinstance(found, Node)
    assert found.annotations == (("x.example/cordoned-by", "ann"),)


@pytest.mark.parametrize(
    ("verb", "is_so", "told"),
    [(CORDON, True, "node n1 is already cordoned"), (UNCORDON, False, "node n1 is not cordoned")],
)
async def test_what_is_so_already_is_said(verb: Verb, is_so: bool, told: str) -> None:
    with pytest.raises(Unchanged, match=told):
        await planned(verb, node("n1", unschedulable=is_so))


async def test_many_are_one_question_and_those_that_are_cordoned_are_left_out() -> None:
    nodes = [node("n1"), node("n2", unschedulable=True), node("n3")]
    store = store_of(nodes, [pod("p1", "n1", 6)])
    prepared = await prepare(CORDON, nodes, NONE, lambda *, reads=False: on(store))
    face = prepared.face  # type: ignore[union-attr]
    assert face.title == "Cordon 2 nodes"
    assert face.lines == (
        "no new pod is scheduled on them",
        "1 pod keeps running; 6 GPUs stay allocated",
        "10 free GPUs are no longer schedulable",
        "nodes: n1, n3",
    )
    assert face.warnings == ("1 node left out: node n2 is already cordoned",)
    assert face.shell == "cockpit node cordon n1 n3 --context prod --write"
    with pytest.raises(Unchanged):
        await prepare(UNCORDON, [nodes[0], nodes[2]], NONE, lambda *, reads=False: on(store))


# ---- the command


def test_the_command_cordons_and_says_what_is_so(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1"), node("n2", unschedulable=True))
    code, out, err = run(capsys, "node", "cordon", "n1", "--write", "--yes")
    assert (code, err) == (0, "") and out.startswith("Cordoned node n1 (audit ")
    assert [one.path for one in cluster.sent] == ["/api/v1/nodes/n1"]
    assert len(cluster.rehearsed) == 1, "the server was asked first"
    code, out, _err = run(capsys, "node", "uncordon", "n1", "--write", "--yes")
    assert (code, out) == (0, "node n1 is not cordoned\n")
    code, out, _err = run(capsys, "node", "uncordon", "n1", "n2", "--write", "--yes")
    assert code == 0 and out.startswith("n2: Uncordoned node n2")
    assert out.endswith("1 of 2 nodes uncordoned; 1 left out\n")


def test_a_dry_run_shows_the_same_in_kubectls_words(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1"))
    code, out, _err = run(capsys, "node", "cordon", "n1", "--dry-run")
    assert code == 0 and cluster.sent == []
    assert "# kubectl --context prod cordon n1\n" in out
    assert "server: the cluster would accept it" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("n1", "--yes"), "read-only"),
        (("gpu-1", "--write", "--yes"), "there is no node 'gpu-1'; did you mean gpu-01"),
        ((), "the following arguments are required: NAME"),
    ],
)
def test_what_cannot_be_is_told_and_sends_nothing(
    words: tuple[str, ...], told: str, cluster: Cluster, capsys: Capture
) -> None:
    cluster.add(Kind.NODE, node("n1"), node("gpu-01"))
    code, _out, err = run(capsys, "node", "cordon", *words)
    assert code == 2 and told in err and cluster.sent == []


def test_it_is_repeated_from_the_audit_on_another_cluster(
    home: Path, cluster: Cluster, capsys: Capture
) -> None:
    cluster.add(Kind.NODE, node("n1"))
    assert run(capsys, "node", "cordon", "n1", "--write", "--yes")[0] == 0
    file = home / "state" / "gpu-cockpit" / "audit.jsonl"
    intent, outcome = map(json.loads, file.read_text().splitlines())
    assert (intent["verb"], intent["target"], outcome["state"]) == ("cordon", "node n1", "done")
    assert intent["local_user"] and intent["uid"] == "uid-n1"
    code, out, _err = run(capsys, "audit", "apply", str(file), "--context", "new", "--write", "--yes")
    assert code == 0 and "1 of 1: cockpit node cordon n1" in out
    assert [one.path for one in cluster.sent] == ["/api/v1/nodes/n1"] * 2


# ---- the key


@pytest.fixture
def wired(tmp_path: Path) -> Iterator[tuple[ScriptedApp, Wire]]:
    app = ScriptedApp(Estate(), write=True, place="nodes", state_folder=tmp_path)
    wire = Wire(app)
    app.attachment.session.request = wire.request  # type: ignore[union-attr, method-assign]
    yield app, wire


async def test_the_key_cordons_what_is_under_the_cursor_on_its_page_and_what_is_marked(
    wired: tuple[ScriptedApp, Wire],
) -> None:
    app, wire = wired
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert "X cordon" in looking.footer(app)
        table(app).move_to("gpu-h100-07")
        await pilot.press("X")
        text = await shown(app, pilot)
        assert "Cordon node gpu-h100-07" in text and "y or enter cordon" in text
        assert "kubectl --context prod-eu cordon gpu-h100-07" in text
        await done(app, pilot)
        table(app).move_to("gpu-a100-11")
        await pilot.press("X")
        assert "Uncordon node gpu-a100-11" in await shown(app, pilot)
        await pilot.press("n")
        table(app).move_to("gpu-h100-08")
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("X")
        assert "Cordon node gpu-h100-08" in await shown(app, pilot)
        await pilot.press("n", "escape")
        await pilot.pause()
        for name in ("gpu-h100-08", "gpu-h100-09"):
            table(app).move_to(name)
            await pilot.press("space")
        await pilot.press("X")
        assert "Cordon 2 nodes" in await shown(app, pilot)
        await done(app, pilot)
    assert [path for _method, path, _body in wire.writes] == [
        "/api/v1/nodes/gpu-h100-07",
        "/api/v1/nodes/gpu-h100-08",
        "/api/v1/nodes/gpu-h100-09",
    ]


# ---- a server


class Yes:
    """Says yes to whatever the server would accept."""

    asks_again = False

    async def ask(self, _face: Plan, _changes: Any, trial: Any) -> Tried[Any] | None:
        tried: Tried[Any] = await trial
        assert tried.verdict.state == "done", tried.verdict
        return tried


@pytest.fixture
def machine(space: str, admin: Api) -> Iterator[Callable[[], Node]]:
    """A node of the case's name; answers what the server tells of it now."""
    admin.create("/api/v1/nodes", {"metadata": {"name": space}})
    path = f"/api/v1/nodes/{space}"

    def now() -> Node:
        found = NODE.from_json(msgspec.json.encode(admin.get(path)))
        assert isinstance(found, Node)
        return found

    yield now
    admin.delete(path)


def table_of(one: Node) -> Store:
    store = Store()
    store.apply(Batch(kind=Kind.NODE, changed=(one,)))
    return store


def making(verb: Verb, one: Node, session: ApiSession) -> Any:
    """How its plan is made from a table that never hears of what is written meanwhile."""
    store = table_of(one)

    def fresh(*, reads: bool = False) -> Planning:
        return Planning(store, session, lambda *_: None, "prod", reads=reads)

    return maker(verb, NONE, fresh)(one)


async def test_a_server_takes_both_and_a_dry_run_changes_nothing(
    session: ApiSession, machine: Callable[[], Node]
) -> None:
    before = await asyncio.to_thread(machine)
    make = making(CORDON, before, session)
    _, tried = await rehearse_replanned(await make(), make, session)  # controllers write to nodes, too
    assert tried.state == "done", tried
    assert not (await asyncio.to_thread(machine)).unschedulable
    lines = Lines()
    outcome = await conduct(await make(), make, session, lambda: lines, ManualClock(0.0), asker=Yes())
    assert outcome is not None and outcome.is_done, outcome
    cordoned = await asyncio.to_thread(machine)
    steps = [one.step for one in lines.entries]
    # a controller may have written to the node in between: a try that was refused has its two lines as well
    assert cordoned.unschedulable and steps and steps == ["intent", "outcome"] * (len(steps) // 2)
    outcomes = [one for one in lines.entries if one.step == "outcome"]
    assert outcomes[-1].state == "done" and all(one.reason == "Conflict" for one in outcomes[:-1])
    make = making(UNCORDON, cordoned, session)
    outcome = await conduct(await make(), make, session, Lines, ManualClock(0.0), asker=Yes())
    assert outcome is not None and outcome.is_done, outcome
    assert not (await asyncio.to_thread(machine)).unschedulable


async def test_a_node_that_is_closed_for_its_removal_stays_so_until_it_is_opened_from_here(
    session: ApiSession, admin: Api, space: str, machine: Callable[[], Node]
) -> None:
    """Whoever uncordons it leaves the taint of the removal, and to open it leaves every other taint."""
    other = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    path = f"/api/v1/nodes/{space}"
    admin.merge(path, {"spec": {"taints": [other]}})

    async def sent(call_of: Callable[[Node], Call]) -> Node:
        for _ in range(20):  # a controller may have written to the node in between
            call = call_of(await asyncio.to_thread(machine))
            plan = Plan(verb="reclaim", title="", calls=(call,))
            outcome = await carry_out(plan, session, Lines(), ManualClock(0.0))
            if not outcome.is_moved:
                break
        assert outcome.is_done, outcome
        return await asyncio.to_thread(machine)

    def taints(one: Node) -> set[str]:  # others than those of controllers
        return {taint.key for taint in one.taints if not taint.key.startswith("node.kubernetes.io/")}

    closed = await sent(taint_call)
    assert closed.unschedulable and taints(closed) == {"nvidia.com/gpu", REMOVAL.key}
    admin.merge(path, {"spec": {"unschedulable": None}})
    opened = await asyncio.to_thread(machine)
    assert not opened.unschedulable and REMOVAL.key in taints(opened)
    assert UNCORDON.is_for is not None and UNCORDON.is_for(opened)
    make = making(UNCORDON, opened, session)
    outcome = await conduct(await make(), make, session, Lines, ManualClock(0.0), asker=Yes())
    assert outcome is not None and outcome.is_done, outcome
    after = await asyncio.to_thread(machine)
    assert not after.unschedulable and taints(after) == {"nvidia.com/gpu"}
    assert other in admin.get(path)["spec"]["taints"]


async def test_a_version_that_moved_on_is_read_and_another_node_of_the_name_is_left_alone(
    session: ApiSession, machine: Callable[[], Node], admin: Api, space: str
) -> None:
    path = f"/api/v1/nodes/{space}"
    make = making(CORDON, await asyncio.to_thread(machine), session)
    shown = await make()
    merge = {"content_type": "application/merge-patch+json"}
    await session.request("PATCH", path, body={"metadata": {"labels": {"a": "b"}}}, **merge)  # type: ignore[arg-type]
    outcome = await conduct(shown, make, session, Lines, ManualClock(0.0), asker=Yes())
    assert outcome is not None and outcome.is_done, outcome
    make = making(UNCORDON, await asyncio.to_thread(machine), session)
    shown = await make()
    await asyncio.to_thread(admin.delete, path)
    await asyncio.to_thread(admin.create, "/api/v1/nodes", {"metadata": {"name": space}})
    outcome = await carry_out(shown, session, Lines(), ManualClock(0.0))
    assert outcome.state == "refused"
    with pytest.raises((Refused, BadInput)):
        await make(reads=True)


async def test_what_is_so_by_then_is_no_failure(session: ApiSession, machine: Callable[[], Node]) -> None:
    make = making(CORDON, await asyncio.to_thread(machine), session)
    shown = await make()
    done = await conduct(shown, make, session, Lines, ManualClock(0.0), asker=Yes())
    assert done is not None and done.is_done, done
    outcome = await conduct(shown, make, session, Lines, ManualClock(0.0), asker=NothingToDo())
    assert outcome is None, "the dry run said that it is so, and there is nothing to say yes to"


class NothingToDo(Yes):
    """Expects the dry run to say that it is so already."""

    async def ask(self, _face: Plan, _changes: Any, trial: Any) -> Tried[Any] | None:
        tried: Tried[Any] = await trial
        assert (tried.verdict.state, "is already cordoned" in tried.verdict.sentence) == ("unchanged", True)
        return None


async def test_a_viewer_lacks_the_one_right_that_the_verb_names(
    connect: Connect, machine: Callable[[], Node]
) -> None:
    one, session = await asyncio.to_thread(machine), await connect("viewer", write=True)
    plan = await making(CORDON, one, session)()
    assert list(CORDON.planner.needs(on(table_of(one)), one)) == list(rights_of(plan))
    assert (await rehearse(plan, session, perform=real_perform())).state == "refused"
