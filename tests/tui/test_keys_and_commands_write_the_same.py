"""A key and the command that its dialog names leave the same audit lines: verb, target, guard, path, body."""

import asyncio
import copy
import json
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cockpit_widgets import ChoiceDialog, ConfirmDialog
from textual.pilot import Pilot

from cockpit.actions import reclaim_job
from cockpit.actions.execute.read_back import AUDIT_ANNOTATION
from cockpit.actions.keep import OURS_BY
from cockpit.actions.verbs.registry import VERBS
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.resource import CLUSTER_QUEUES, Resource
from cockpit.local_state.audit import Audit
from cockpit.model.batch import Batch
from cockpit.model.gang import LocalQueue
from cockpit.model.job import RECLAIM_DUE, Job, JobObject, JobState, ReplicaSpec
from cockpit.model.node import Node
from cockpit.model.plan import Call
from cockpit.model.pool import Machine, PoolObject
from cockpit.model.record import Condition, Kind
from cockpit.pools import drain_mark
from cockpit.pools.drain_mark import DrainMark
from cockpit.pools.idle import RECLAIM_AT
from cockpit.screens.table_place import TablePlace
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle, until
from tests.tui.estate import NOW, Estate
from tests.unit.cli.builders import Cluster, Line, patch, run

OWN_OF_A_RUN = ("audit_id", "server_audit_id", "at_seconds")
PRIORITIES = Resource(
    "kueue.x-k8s.io", "v1beta1", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
)
NO_PLAN = {
    "job.exec": "a stream has no plan: actions/pod_audit writes its lines for both",
    "job.tensorboard": "a stream has no plan: actions/pod_audit writes its lines for both",
    "pod.forward": "a stream has no plan: actions/pod_audit writes its lines for both",
    "node.smoke-test": "its form makes the plan of its command (tests/tui/test_smoke_key.py)",
    "job.record": "it has no key",
    "job.recreate": "it has no key: offers of the page of a verdict make its plan (actions/offered)",
    "job.edit": "it has no key: what its editor leaves is its --patch (tests/contract/test_job_edit.py)",
}
DATED = ("drain", "keep", "reclaim")
"""Verbs that note on the node when it was."""
OWN_NOTES = (
    drain_mark.ID, drain_mark.AT, OURS_BY, RECLAIM_AT, RECLAIM_DUE,
)  # fmt: skip
OF_EVERY_COMMAND = {"--write", "--context", "--namespace"}
SAID: dict[str, set[str]] = {
    "prioritise": {"--priority"},
    "resize": {"--to"},
    "scale": {"--to"},
    "ask": {"--nodes"},
    "limit": {"--max"},
    "submit": {"--set"},
    "reclaim": {"--include-unknown"},
    "drain_as_told": {"--force", "--delete-emptydir-data", "--grace"},
}
"""What a person says by the keys of a case."""
IDLE_NODE = "gpu-l40s-03"
Press = Callable[["Keys"], Awaitable[None]]


def more() -> tuple[Batch, ...]:
    """Beside the estate: a job suspended, one that failed, a queue that is stopped, a node in a drain."""
    roles = (ReplicaSpec("worker", 2, 1, "nvidia.com/gpu"),)
    over = JobObject(
        uid="u-over", name="over", namespace="team-a", resource_version="6", replicas=roles,
        api_version="kubeflow.org/v2beta1", kind="MPIJob", conditions=(Condition("Failed", "True"),),
        finished_seconds=NOW - 7200.0,
    )  # fmt: skip
    off = msgspec.structs.replace(
        over, uid="u-off", name="asleep", conditions=(), is_suspended=True, finished_seconds=None
    )
    halted = LocalQueue(
        uid="u-halted", name="halted", namespace="team-a", resource_version="7", cluster_queue="research",
        stop_policy="Hold",
    )  # fmt: skip
    notes = tuple(sorted(DrainMark(id="5f1e", has_cordoned=True).annotations().items()))
    node = Node(uid="u-node", name="gpu-drained", resource_version="8", annotations=notes, unschedulable=True)
    machine = Machine(
        uid="u-machine", name="m-l40s-03", namespace="fleet", resource_version="9", kind="Machine",
        api_version="cluster.x-k8s.io/v1beta1", node=IDLE_NODE, pool_kind="MachineDeployment",
        resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machines", pool_key="fleet/l40s",
    )  # fmt: skip
    demand = PoolObject(
        uid="np-spot", name="a-spot", resource_version="9", api_version="karpenter.sh/v1", kind="NodePool",
        resource_path="/apis/karpenter.sh/v1/nodepools",
        template_labels=(("karpenter.k8s.aws/instance-gpu-count", "8"),),
    )  # fmt: skip
    return (
        Batch(kind=Kind.POOL, changed=(demand,)),
        Batch(kind=Kind.MACHINE, changed=(machine,)),
        Batch(kind=Kind.MPIJOB, changed=(off, over)),
        Batch(kind=Kind.LOCAL_QUEUE, changed=(halted,)),
        Batch(kind=Kind.NODE, changed=(node,)),
    )


def estate_app(folder: Path | None = None, place: str = "jobs") -> ScriptedApp:
    app = ScriptedApp(Estate(), write=True, place=place, state_folder=folder)
    for batch in more():
        app.attachment.store.apply(batch)
    app.attachment.jobs.catch_up()
    return app


class Keys:
    """Someone at the keys of the scripted estate."""

    def __init__(self, app: ScriptedApp, pilot: Pilot[Any]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await settle(self.pilot)

    async def until(self, what: Callable[[], bool]) -> None:
        await until(self.app, self.pilot, what)

    async def on(self, key: str) -> None:
        assert isinstance(self.app.screen, TablePlace)
        self.app.screen.table.move_to(key)
        await settle(self.pilot)

    async def on_job(self, **wanted: Any) -> None:
        jobs = self.app.attachment.jobs.jobs.values()
        found = (one for one in jobs if all(getattr(one, key) == value for key, value in wanted.items()))
        await self.on(next(found).key)

    async def choose(self, part: str) -> None:
        await self.until(lambda: isinstance(self.app.screen, ChoiceDialog))
        await self.press(*part, "enter")

    async def yes(self) -> None:
        await self.until(lambda: isinstance(self.app.screen, ConfirmDialog))
        await self.until(lambda: "server: the cluster would accept it" in looking.text(self.app))
        dialog = self.app.screen
        assert isinstance(dialog, ConfirmDialog)
        await self.press(*((*dialog._typed, "enter") if dialog._typed else "y"))
        await self.until(lambda: not [one for one in self.app.workers if one.group == "commands"])


async def kill(keys: Keys) -> None:
    await keys.on_job(kind="MPIJob", state=JobState.RUNNING)
    await keys.press("K")


async def kill_many(keys: Keys) -> None:
    await keys.press("home", "space", "space", "K")


async def suspend(keys: Keys) -> None:
    await keys.on_job(engine="Kueue", state=JobState.RUNNING)
    await keys.press("P")


async def resume(keys: Keys) -> None:
    await keys.on_job(state=JobState.SUSPENDED)
    await keys.press("P")


async def retry(keys: Keys) -> None:
    await keys.on_job(kind="MPIJob", state=JobState.FAILED)
    await keys.press("T")


async def prioritise(keys: Keys) -> None:
    await keys.on_job(engine="Kueue", kind="MPIJob")
    await keys.press("I")
    await keys.choose("high")


async def resize(keys: Keys) -> None:
    await keys.on_job(name="asleep")
    await keys.press("Z")
    await keys.press("ctrl+u", "3", "ctrl+s")


async def clone(keys: Keys) -> None:
    await keys.on_job(kind="MPIJob", state=JobState.RUNNING)
    await keys.press("C")
    await keys.press("ctrl+s")


async def submit(keys: Keys) -> None:
    await keys.press("N", *"made", "ctrl+f", *"Image", "enter", *"r.example/hvd:1", "ctrl+s")


async def prune(keys: Keys) -> None:
    await keys.press("colon", *"delete finished", "enter")
    await keys.choose("1h")


async def scale(keys: Keys) -> None:
    await keys.on("md-a100")
    await keys.press("S")
    await keys.press("ctrl+u", "1", "8", "ctrl+s")


async def ask(keys: Keys) -> None:
    await keys.on("np-spot")
    await keys.press("S")
    await keys.press("ctrl+u", "2", "ctrl+s")


async def limit(keys: Keys) -> None:
    await keys.on("md-a100")
    await keys.press("M")
    await keys.press("ctrl+u", "2", "0", "ctrl+s")


async def reclaim(keys: Keys) -> None:
    await keys.on("md-l40s")
    await keys.press("R")
    await keys.choose("empty now")


async def reclaim_idle_job(keys: Keys) -> None:
    await keys.on_job(kind="MPIJob", state=JobState.RUNNING)
    await keys.press("R")


async def stop_queue(keys: Keys) -> None:
    await keys.press("P")
    await keys.choose("stop LocalQueue")


async def resume_queue(keys: Keys) -> None:
    await keys.on("u-halted")
    await keys.press("P")
    await keys.choose("resume LocalQueue")


async def cordon(keys: Keys) -> None:
    await keys.on("gpu-h100-07")
    await keys.press("X")


async def uncordon(keys: Keys) -> None:
    await keys.on("gpu-a100-11")
    await keys.press("X")


async def drain(keys: Keys) -> None:
    await keys.on("gpu-h100-07")
    await keys.press("D")
    await keys.choose("drain now")


async def drain_as_told(keys: Keys) -> None:
    """Each option of the command is a choice of the dialog, which stands again with it."""
    await keys.on("gpu-h100-07")
    await keys.press("D")
    for setting in ("force", "delete", "grace"):
        await keys.choose(f"--{setting}")
        if setting == "grace":
            await keys.choose("30s")
    await keys.choose("drain now")


async def stop_drain(keys: Keys) -> None:
    await keys.on("gpu-drained")
    await keys.press("D")
    await keys.choose("stop")


async def keep(keys: Keys) -> None:
    await keys.on("gpu-h100-07")
    await keys.press("H")


CASES: tuple[tuple[str, str, Press], ...] = (
    ("job.kill", "jobs", kill),
    ("job.kill", "jobs", kill_many),
    ("job.suspend", "jobs", suspend),
    ("job.resume", "jobs", resume),
    ("job.retry", "jobs", retry),
    ("job.prioritise", "jobs", prioritise),
    ("job.scale", "jobs", resize),
    ("job.clone", "jobs", clone),
    ("job.submit", "jobs", submit),
    ("job.prune", "jobs", prune),
    ("pool.scale", "pools", scale),
    ("pool.ask", "pools", ask),
    ("pool.limit", "pools", limit),
    ("pool.reclaim", "pools", reclaim),
    ("job.reclaim", "jobs", reclaim_idle_job),
    ("queue.stop", "queues", stop_queue),
    ("queue.resume", "queues", resume_queue),
    ("node.cordon", "nodes", cordon),
    ("node.uncordon", "nodes", uncordon),
    ("node.drain", "nodes", drain),
    ("node.drain", "nodes", drain_as_told),
    ("node.stop-drain", "nodes", stop_drain),
    ("node.keep", "nodes", keep),
)


# ---- one cluster for both


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The scripted estate as commands find it, over a session of the same name and user."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "config" / "gpu-cockpit").mkdir(parents=True)
    found = patch(monkeypatch)
    for batch in (*Estate().batches(), *more()):
        if batch.changed:
            found.add(batch.kind, *batch.changed)
    found.resources += [CLUSTER_QUEUES, PRIORITIES]
    for name, value in {"context": "prod-eu", "server": "https://api.example:6443", "user": "ada"}.items():
        monkeypatch.setattr(Line, name, value)
    jobs = estate_app().attachment.jobs.jobs.values()

    async def request(_self: Any, _method: str = "", path: str = "", **_more: Any) -> ApiAnswer:
        return answer(path, jobs)

    monkeypatch.setattr(Line, "request", request)
    monkeypatch.setattr(reclaim_job, "_is_idle", lambda _ground: True)  # its judgement has tests of its own
    return found


def answer(path: str, jobs: Any) -> ApiAnswer:
    """What both read: the job of that path, the priority classes, that a Lease may be made; nothing else."""
    if "/leases/" in path:
        return ApiAnswer(404)
    if path.endswith("/selfsubjectaccessreviews"):
        return ApiAnswer(201, "application/json", b'{"status": {"allowed": true}}')
    job = next(
        (one for one in jobs if f"/namespaces/{one.namespace}/" in path and path.endswith(f"/{one.name}")),
        None,
    )
    tree: Any = {"items": []}
    if job is not None and "/workloads/" not in path:
        tree = object_of(job)
    elif "workloads" in path:
        tree = {"metadata": {}}
    elif "priorityclasses" in path:
        tree = {"items": [{"metadata": {"name": "high"}, "value": 100}]}
    return ApiAnswer(200, "application/json", json.dumps(tree).encode())


def object_of(job: Job) -> dict[str, Any]:
    values = {
        "name": job.name,
        "namespace": job.namespace,
        "image": "r.example/hvd:1",
        "workers": "2",
        "gpus": "8",
    }
    tree = render(load_library().templates["mpijob"], values)
    tree["metadata"] |= {"uid": job.uid, "resourceVersion": job.resource_version}
    tree |= {"apiVersion": job.api_version, "kind": job.kind}
    tree["spec"]["runPolicy"]["suspend"] = job.state == JobState.SUSPENDED
    return tree


async def by_key(folder: Path, place: str, press: Press, cluster: Cluster) -> list[dict[str, Any]]:
    app = estate_app(folder, place)
    jobs = app.attachment.jobs.jobs.values()

    async def request(_method: str = "", path: str = "", **_more: Any) -> ApiAnswer:
        return answer(path, jobs)

    app.attachment.session.request = request  # type: ignore[union-attr, method-assign]
    app.attachment.served = cluster.served
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        keys = Keys(app, pilot)
        await press(keys)
        await keys.yes()
    return lines_of(Audit(folder / "audit.jsonl"))


def lines_of(audit: Audit) -> list[dict[str, Any]]:
    """The lines without what differs from run to run; of many things in the order of their targets."""
    found = [{key: getattr(one, key) for key in one.__struct_fields__} for one in audit.entries()]
    for one in found:
        if one["method"] == "POST" or one["verb"] in DATED:
            one["body_sha256"], one["wanted"] = "", None  # it bears the mark of its run: bodies are compared
    kept = [{key: value for key, value in one.items() if key not in OWN_OF_A_RUN} for one in found]
    return sorted(kept, key=lambda one: (one["target"], one["path"], one["step"] != "intent"))


@pytest.mark.parametrize(("verb", "place", "press"), CASES, ids=[press.__name__ for _, _, press in CASES])
def test_a_key_and_its_command_write_the_same_lines(
    verb: str, place: str, press: Press, cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = asyncio.run(by_key(tmp_path, place, press, cluster))
    assert typed and {one["state"] for one in typed if one["step"] == "outcome"} == {"done"}
    flags = {word for word in command_of(typed) if word.startswith("--")} - OF_EVERY_COMMAND
    assert flags == SAID.get(press.__name__, set()), "a key has the defaults of its command"
    sent, cluster.sent[:] = list(cluster.sent), []
    confirmed = ("--confirm", typed[0]["target"].partition(" ")[2]) if verb == "node.drain" else ()
    code, _out, err = run(capsys, *command_of(typed), "--write", "--yes", *confirmed)
    assert code == 0, err
    commanded = lines_of(Audit())
    assert len(commanded) == len(typed)
    for one, other in zip(typed, commanded, strict=True):
        assert {key: (one[key], other[key]) for key in one if one[key] != other[key]} == {}
    assert sorted(map(without_mark, sent)) == sorted(map(without_mark, cluster.sent))


def command_of(lines: list[dict[str, Any]]) -> list[str]:
    """The command that the lines name; of many, one for all of them."""
    shells = [shlex.split(one) for one in dict.fromkeys(one["shell"] for one in lines)]
    assert {one[0] for one in shells} == {"cockpit"}
    noun, verb, _name, *more = shells[0][1:]
    return [noun, verb, *(one[3] for one in shells), *more] if len(shells) > 1 else shells[0][1:]


def without_mark(call: Call) -> str:
    """What was sent, without the mark by which a run knows its own objects."""
    body = copy.deepcopy(call.body)
    if body.get("kind") == "Lease":
        del body["spec"]["acquireTime"], body["spec"]["renewTime"]
    for key in OWN_NOTES:
        (body.get("metadata", {}).get("annotations") or {}).pop(key, None)
    if call.method == "POST":
        del body["metadata"]["annotations"][AUDIT_ANNOTATION]
    return f"{call.method} {call.path} {json.dumps(body, sort_keys=True)}"


def test_every_verb_is_a_case_or_has_a_reason() -> None:
    assert {verb for verb, _, _ in CASES} | set(NO_PLAN) == {one.id for one in VERBS}
