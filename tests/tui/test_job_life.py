"""The life of a job by keys, on the scripted estate: what is planned, shown, sent, and told."""

import asyncio
import getpass
import json
import socket
import string
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cockpit_widgets import ConfirmDialog, Form
from textual.pilot import Pilot

from cockpit.errors import NoConnection
from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.answer import ApiAnswer
from cockpit.model.gang import LocalQueue
from cockpit.model.job import Job, JobState
from cockpit.model.record import Kind
from cockpit.screens.clone import CloneScreen
from cockpit.screens.job import JobScreen
from cockpit.screens.resize import ResizeScreen
from cockpit.screens.results import ResultsScreen
from cockpit.screens.table_place import TablePlace
from tests.reliability.figures import Tell
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle, until
from tests.tui.estate import Estate
from tests.tui.looking import flat


class Wire:
    """Stands for the session's requests: remembers writes, answers reads with the object of that path."""

    def __init__(self, app: ScriptedApp) -> None:
        self._app = app
        self.writes: list[tuple[str, str, Any]] = []
        self.refused: set[str] = set()
        self.told: list[str] = []
        self.is_held = False
        self.rehearsed: list[str] = []
        self.dry_answers: dict[str, tuple[int, str]] = {}  # by name: what a dry run meets
        self.dry_gate: asyncio.Event | None = None  # a server that takes its time
        self.is_deaf = False  # a dry run has no answer

    async def request(self, method: str, path: str, **more: Any) -> ApiAnswer:
        if method == "GET":
            if "/workloads/" in path:
                return self._answer(200, {"metadata": {}})
            tree = self._tree(path.rsplit("/", 1)[1])
            return self._answer(404, {}, "not found") if tree is None else self._answer(200, tree)
        name = path.rsplit("/", 1)[1]
        if ("dryRun", "All") in more.get("query", ()):
            self.rehearsed.append(path)
            if self.dry_gate is not None:
                await self.dry_gate.wait()
            if self.is_deaf:
                raise NoConnection("no answer from the cluster")
            status, said = self.dry_answers.get(name, (201, ""))
            return self._answer(status, {}, said)
        if name in self.refused:
            return self._answer(403, {}, f'cannot {method.lower()} resource "mpijobs" in "{name}"')
        self.writes.append((method, path, more.get("body")))
        return self._answer(200, {})

    def _answer(self, status: int, tree: Any, message: str = "") -> ApiAnswer:
        said = tree if status < 300 else {"kind": "Status", "code": status, "message": message}
        return ApiAnswer(status, "application/json", json.dumps(said).encode())

    def _tree(self, name: str) -> dict[str, Any] | None:
        """The job of that name; None for what else a session asks for, such as the holds of pools."""
        jobs = self._app.attachment.jobs.jobs.values()
        if (job := next((one for one in jobs if one.name == name), None)) is None:
            return None
        values = {"name": job.name, "namespace": job.namespace, "image": "r.example/hvd:1"}
        tree = render(load_library().templates["mpijob"], {**values, "workers": "2", "gpus": "8"})
        tree["metadata"] |= {"uid": job.uid, "resourceVersion": "7"}
        if self.is_held:
            tree["spec"]["runPolicy"]["suspend"] = True
        return tree


@asynccontextmanager
async def jobs(
    tmp_path: Path, size: tuple[int, int] = (120, 40)
) -> AsyncIterator[tuple[ScriptedApp, Pilot[Any], Wire]]:
    """The jobs place, writes unlocked, with a wire that remembers."""
    app = ScriptedApp(Estate(), write=True, place="jobs", state_folder=tmp_path)
    wire = Wire(app)
    tell = app.notify

    def remember(message: str, **more: Any) -> None:
        wire.told.append(message)
        tell(message, **more)

    app.notify = remember  # type: ignore[method-assign]
    app.attachment.session.request = wire.request  # type: ignore[union-attr, method-assign]
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot, wire


def table(app: ScriptedApp) -> Any:
    assert isinstance(app.screen, TablePlace)
    return app.screen.table


def named(app: ScriptedApp, kind: str = "MPIJob", **wanted: Any) -> Job:
    """A job of that kind whose fields are these."""
    for job in app.attachment.jobs.jobs.values():
        if job.kind == kind and all(getattr(job, key) == value for key, value in wanted.items()):
            return job
    raise AssertionError(f"no {kind} with {wanted}")


async def on(app: ScriptedApp, pilot: Pilot[Any], job: Job) -> None:
    table(app).move_to(job.key)
    await settle(pilot)


async def shown(app: ScriptedApp, pilot: Pilot[Any]) -> str:
    """The text of the confirmation that stands now."""
    await until(app, pilot, lambda: isinstance(app.screen, ConfirmDialog))
    return flat(app)


async def done(app: ScriptedApp, pilot: Pilot[Any]) -> None:
    """Yes, and what follows."""
    await pilot.press("y")
    await until(app, pilot, lambda: not [one for one in app.workers if one.group == "commands"])


async def test_a_job_of_kueue_is_suspended_and_resumed_through_its_workload(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        job = named(app, engine="Kueue", state=JobState.RUNNING)
        await on(app, pilot, job)
        await pilot.press("P")
        text = await shown(app, pilot)
        assert f"Suspend mpijob {job.namespace}/{job.name}" in text
        assert "become free" in text and "cockpit job suspend" in text
        await done(app, pilot)
        ((method, path, body),) = wire.writes
        assert method == "PATCH" and "/workloads/" in path
        assert body["spec"] == {"active": False} and body["metadata"]["uid"]
        assert [one["verb"] for one in audit_lines(tmp_path)] == ["suspend", "suspend"]


def audit_lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(one) for one in (folder / "audit.jsonl").read_text().splitlines()]


async def test_an_audit_line_by_key_says_who_sits_here(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, _wire):
        await on(app, pilot, named(app, state=JobState.RUNNING))
        await pilot.press("K")
        await shown(app, pilot)
        await done(app, pilot)
        await pilot.press("home", "space", "down", "space", "K")
        await shown(app, pilot)
        await done(app, pilot)
    lines = audit_lines(tmp_path)
    assert len(lines) >= 6
    assert {one.get("local_user") for one in lines} == {f"{getpass.getuser()}@{socket.gethostname()}"}


@pytest.mark.row(57, "writes by every capital key while read-only", most=0)
async def test_keys_that_change_are_gone_while_read_only(tmp_path: Path, figure: Tell) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        app.attachment.session.lock()  # type: ignore[union-attr]
        app.redraw()
        await settle(pilot)
        for key in string.ascii_uppercase:
            await pilot.press(key)
        await settle(pilot)
        assert not isinstance(app.screen, ConfirmDialog)
        figure("writes by every capital key while read-only", len(wire.writes))
        listed = {entry.keys for entry in app.screen.help_entries()}  # type: ignore[attr-defined]
        assert not listed & set("PTCZIK")


async def test_many_marked_jobs_are_killed_under_one_confirmation(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        await pilot.press("home")
        count = 4
        for _ in range(count):
            await pilot.press("space", "down")
        await settle(pilot)
        marked = table(app).marked
        gpus = sum(one.gpus_allocated for key, one in app.attachment.jobs.jobs.items() if key in marked)
        await pilot.press("K")
        text = await shown(app, pilot)
        assert f"Kill {count} jobs" in text
        assert f"{gpus} GPUs become free" in text or "no GPU is allocated" in text
        assert "volume claims and their data are kept" in text
        await done(app, pilot)
        assert len(wire.writes) >= count
        assert {method for method, _path, _body in wire.writes} == {"DELETE"}
        assert table(app).marked == frozenset()
        assert not isinstance(app.screen, ResultsScreen)


async def _by_filter(app: ScriptedApp, pilot: Pilot[Any]) -> None:
    first = min(table(app).marked)
    await pilot.press("slash", *first.rpartition("/")[2], "enter")


async def _by_namespace(_app: ScriptedApp, pilot: Pilot[Any]) -> None:
    await pilot.press("ctrl+n", *"team-b", "enter")


async def _by_place(_app: ScriptedApp, pilot: Pilot[Any]) -> None:
    await pilot.press("3")
    await settle(pilot)
    await pilot.press("2")


async def _by_context(app: ScriptedApp, _pilot: Pilot[Any]) -> None:
    """The other cluster has jobs of the same names, and they are there at once."""
    app._start = lambda: None  # type: ignore[method-assign]
    app.reattach(context="staging")
    app.fill(Estate(), write=True)


@pytest.mark.row(55, "targets that were not on the screen", most=0)
@pytest.mark.row(55, "marks that outlive a switch of place, namespace or context", most=0)
@pytest.mark.row(55, "ways of hiding marked rows", least=4)
async def test_no_target_of_a_verb_is_one_that_was_hidden(tmp_path: Path, figure: Tell) -> None:
    """Rows are marked, then hidden by a filter, another namespace, another place and another context."""
    unseen = outlived = ways = 0
    for hide in (_by_filter, _by_namespace, _by_place, _by_context):
        async with jobs(tmp_path / hide.__name__) as (app, pilot, wire):
            await pilot.press("home")
            for _ in range(3):
                await pilot.press("space", "down")
            await settle(pilot)
            assert len(table(app).marked) == 3
            await hide(app, pilot)
            await settle(pilot)
            outlived += len(table(app).marked) if hide is not _by_filter else 0
            app.attachment.session.request = wire.request  # type: ignore[union-attr, method-assign]
            source = table(app).source
            seen = {source.key(at) for at in range(len(source))}
            await pilot.press("K")
            await shown(app, pilot)
            await done(app, pilot)
            members = {uid for key in seen for uid in app.attachment.jobs.jobs[key].pod_uids}
            names = {key.rpartition("/")[2] for key in seen}
            names |= {app.attachment.store.records(Kind.POD)[uid].name for uid in members}
            assert wire.writes
            unseen += sum(path.rpartition("/")[2] not in names for _, path, _ in wire.writes)
            ways += 1
    figure("targets that were not on the screen", unseen)
    figure("marks that outlive a switch of place, namespace or context", outlived)
    figure("ways of hiding marked rows", ways)


async def test_what_was_refused_of_many_is_told_by_name(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        await pilot.press("home", "space", "down", "space", "down", "space")
        await settle(pilot)
        chosen = [app.attachment.jobs.job(key) for key in table(app).marked]
        victim = next(job for job in chosen if job is not None and job.kind != "Pod")
        wire.refused.add(victim.name)
        await pilot.press("K")
        await shown(app, pilot)
        await done(app, pilot)
        assert isinstance(app.screen, ResultsScreen)
        text = looking.text(app)
        assert f"× {victim.kind.lower()} {victim.namespace}/{victim.name}: " in text
        assert text.count(f"{victim.namespace}/{victim.name}") == 1, "its subject is named once"
        assert text.count("✓") == 2


async def test_clone_opens_the_form_with_everything_in_it(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        job = named(app, state=JobState.RUNNING)
        await on(app, pilot, job)
        await pilot.press("C")
        await until(app, pilot, lambda: isinstance(app.screen, CloneScreen))
        values = app.screen.query_one("#fields", Form).values
        assert values["name"] == f"{job.name}-r2" and values["namespace"] == job.namespace
        assert values["workers"] == "2" and values["gpus"] == "8"
        assert values["command"] == "python /app/train.py", "what the ranks run, not the workers' sshd"
        app.screen.query_one("#fields", Form).set_value("command", "python /app/other.py --lr 0.1")
        await settle(pilot)
        await pilot.press("ctrl+s")
        assert f"Clone mpijob {job.namespace}/{job.name} as" in await shown(app, pilot)
        await done(app, pilot)
        ((method, path, body),) = wire.writes
        assert method == "POST" and path.endswith("/mpijobs")
        assert body["metadata"]["name"] == f"{job.name}-r2"
        launcher, worker = (
            body["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]
            for role in ("Launcher", "Worker")
        )
        assert launcher["args"][-4:] == ["python", "/app/other.py", "--lr", "0.1"]
        assert launcher["args"][:4] == ["mpirun", "--allow-run-as-root", "-np", "16"]
        assert worker["command"] == ["/usr/sbin/sshd", "-De", "-p", "22"]
        assert isinstance(app.screen, JobScreen)


async def test_resize_shows_what_it_means_and_sends_the_new_size(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        job = named(app, state=JobState.RUNNING)
        wire.is_held = True  # while it is admitted its size is fixed
        await on(app, pilot, job)
        await pilot.press("Z")
        await until(app, pilot, lambda: isinstance(app.screen, ResizeScreen))
        await pilot.press("ctrl+u", "4")
        await settle(pilot)
        text = looking.text(app)
        assert "from 2 to 4 workers" in text and "requests 16 more GPUs" in text
        await pilot.press("ctrl+s")
        await shown(app, pilot)
        await done(app, pilot)
        ((method, _path, body),) = wire.writes
        assert method == "PATCH"
        assert body["spec"] == {"mpiReplicaSpecs": {"Worker": {"replicas": 4}}}
        assert not isinstance(app.screen, ResizeScreen)


async def test_what_cannot_be_is_said_and_nothing_is_sent(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        job = named(app, state=JobState.RUNNING)
        await on(app, pilot, job)
        await pilot.press("T")
        await until(app, pilot, lambda: "has not failed" in "".join(wire.told))
        assert wire.writes == []


async def test_a_queue_is_stopped_with_what_it_takes_off(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        await pilot.press("4", "home", "P")
        await settle(pilot)
        text = looking.text(app)
        assert "stop LocalQueue" in text and "drain ClusterQueue" in text
        await pilot.press("down", "enter")
        text = await shown(app, pilot)
        assert "spec.stopPolicy becomes HoldAndDrain" in text
        queue = next(
            one
            for one in app.attachment.store.records(Kind.LOCAL_QUEUE).values()
            if isinstance(one, LocalQueue) and f"localqueue/{one.key}" in text
        )
        await done(app, pilot)
        ((method, path, body),) = wire.writes
        assert (method, body["spec"]) == ("PATCH", {"stopPolicy": "HoldAndDrain"})
        assert path.endswith(f"/localqueues/{queue.name}")


async def test_prune_stands_in_the_palette(tmp_path: Path) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        await pilot.press("colon")
        await settle(pilot)
        await pilot.press(*"prune", "enter")
        await settle(pilot)
        assert "older than a day" in looking.text(app)
        await pilot.press("enter")
        await until(app, pilot, lambda: "no job ended more than" in "".join(wire.told))


@pytest.mark.parametrize("key", ["P", "T", "Z", "C", "I", "K"])
async def test_every_verb_without_a_job_says_so(tmp_path: Path, key: str) -> None:
    async with jobs(tmp_path) as (app, pilot, wire):
        await pilot.press("slash", *"nothing-has-this-name", "enter")
        await settle(pilot)
        await pilot.press(key)
        await until(app, pilot, lambda: "no job under the cursor" in "".join(wire.told))
        assert wire.writes == []
