"""Objects that somebody else writes between the plan and the write: one key, one yes, and what is told.

On the embedded cluster, over HTTPS. Right before each of the cockpit's first writes the object is written
past it, so that the version that it names is old whatever the watch told by then.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cockpit import cli
from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.kube import calls
from cockpit.kube.resource import JOBS, PODS
from cockpit.local_state.audit import Audit, Entry
from cockpit.model.plan import Call
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless, until
from tests.tui.test_life_on_the_embedded_cluster import Cluster, batch

pytestmark = pytest.mark.waits

HERE = Path(__file__).parent
SPACE = "team-a"
MERGE = "application/merge-patch+json"
NODES_TO_COME = 2
"""When the pool is scaled from 2 to 4."""
Write = Callable[[Any, Call, int], Awaitable[None]]
"""Writes what the call is about; the number counts down."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A child process that ends with this test."""
    with embedded(tmp_path_factory.mktemp("busy"), HERE / "busy.yaml", 60) as kubeconfig:
        yield Cluster(kubeconfig)


async def its_status(session: Any, call: Call, left: int) -> None:
    """What a controller does all the time."""
    path = call.path.removesuffix("/scale")
    status: dict[str, Any] = {"ready": left + 100}
    if "/workloads/" in path:
        status = {"requeueState": {"count": left + 1}}
    elif "/machinedeployments/" in path:
        status = {"observedGeneration": left + 100}
    answer = await session.request("PATCH", f"{path}/status", body={"status": status}, content_type=MERGE)
    assert answer.status == 200, answer.message()


class Meddler:
    """In the place of `calls.perform`: what is sent is sent, after somebody else has written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._send = calls.perform
        self._write: Write = its_status
        self._left = 0
        self.sent: list[Call] = []
        monkeypatch.setattr(calls, "perform", self)

    def before(self, times: int, write: Write = its_status) -> None:
        """Write before each of the next so many writes."""
        self._write, self._left, self.sent = write, times, []

    async def __call__(self, session: Any, call: Call, *, dry_run: bool = False) -> Any:
        if not dry_run and "/leases" not in call.path:  # the hold on a pool: nobody else writes there
            self.sent.append(call)
            if self._left:
                self._left -= 1
                await self._write(session, call, self._left)
        return await self._send(session, call, dry_run=dry_run)


@pytest.fixture
def meddler(monkeypatch: pytest.MonkeyPatch) -> Meddler:
    return Meddler(monkeypatch)


def make_job(cluster: Cluster, name: str) -> str:
    """A job of one pod that runs; answers its uid."""
    made = cluster.ask("POST", JOBS.path(SPACE), batch(name, SPACE, gpus=2))
    until("it runs", lambda: True if cluster.running(SPACE, name) == 1 else None)
    return str(made["metadata"]["uid"])


class Seen(Headless):
    """The screen, and every remark since the last key: one may be gone when it is looked for."""

    def __init__(self, app: CockpitApp) -> None:
        self.app = app
        self.remarks: list[str] = []
        notify = app.notify

        def remember(message: str, **more: Any) -> None:
            self.remarks.append(message)
            notify(message, **more)

        app.notify = remember  # type: ignore[method-assign]

    def on(self, pilot: Any) -> None:
        super().__init__(self.app, pilot)

    async def until_told(self, wanted: str) -> None:
        """Until that is remarked, and nothing else was since the last one."""
        await self.until(wanted, lambda _: True if self.remarks else None)
        assert len(self.remarks) == 1 and wanted in self.remarks[0]
        self.remarks.clear()


@asynccontextmanager
async def opened(cluster: Cluster, folder: Path, place: str) -> AsyncIterator[Seen]:
    """The cockpit at that place, writes unlocked."""
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place=place, state_folder=folder))
    screen = Seen(app)
    async with app.run_test(size=(160, 45)) as pilot:
        screen.on(pilot)
        yield screen


def told(lines: list[Entry], verb: str) -> list[tuple[str, str]]:
    """Versions that were named for that verb, and what became of each."""
    return [(one.resource_version, one.state) for one in lines if one.verb == verb and one.step == "outcome"]


async def test_one_key_and_one_yes_suspend_resume_and_kill_a_job_that_is_written_meanwhile(
    cluster: Cluster, meddler: Meddler, tmp_path: Path
) -> None:
    await asyncio.to_thread(make_job, cluster, "typed")
    async with opened(cluster, tmp_path, "jobs") as screen:
        await screen.press("slash", *"typed", "enter")
        await screen.until_text(f"{SPACE}/typed", "● running", "1/1")
        for key, verb, past, state in (
            ("P", "Suspend", "Suspended", "‖ suspended"),
            ("P", "Resume", "Resumed", "● running"),
            ("K", "Kill", "Killed", " / typed"),
        ):
            meddler.before(2)
            await screen.press(key)
            await screen.until_text(f"{verb} job {SPACE}/typed", "The same from a shell")
            await screen.press("y")
            await screen.until_told(f"{past} job {SPACE}/typed")
            await screen.until_text(state, without=("The same from a shell",))
            assert len(meddler.sent) == 3
    entries = list(Audit(tmp_path / "audit.jsonl").entries())
    for verb in ("suspend", "resume", "kill"):
        (first, one), (second, other), (third, last) = told(entries, verb)
        assert (one, other, last) == ("refused", "refused", "done") and int(first) < int(second) < int(third)
        done = next(one for one in entries if (one.verb, one.state) == (verb, "done"))
        assert f"(version {second} was stale, now {third})" in done.sentence
    assert await asyncio.to_thread(until, "nothing is left", lambda: cluster.is_gone(SPACE, "typed"))


def test_one_command_kills_a_job_that_is_written_meanwhile(
    cluster: Cluster, meddler: Meddler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    make_job(cluster, "said")
    meddler.before(3)
    assert cli.main(["job", "kill", f"job/{SPACE}/said", "--write", "--yes"]) == 0
    states = [state for _, state in told(list(Audit().entries()), "kill")]
    assert states == ["refused"] * 3 + ["done"]
    assert until("nothing is left", lambda: cluster.is_gone(SPACE, "said"))


async def test_another_job_of_that_name_is_left_alone(
    cluster: Cluster, meddler: Meddler, tmp_path: Path
) -> None:
    first = await asyncio.to_thread(make_job, cluster, "twin")

    async def replaced(session: Any, call: Call, _left: int) -> None:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        answer = await session.request("DELETE", call.path, body=body)
        assert answer.status == 200, answer.message()
        answer = await session.request("POST", JOBS.path(SPACE), body=batch("twin", SPACE, gpus=2))
        assert answer.status == 201, answer.message()

    async with opened(cluster, tmp_path, "jobs") as screen:
        await screen.press("slash", *"twin", "enter")
        await screen.until_text(f"{SPACE}/twin", "● running")
        meddler.before(1, replaced)
        await screen.press("K")
        await screen.until_text(f"Kill job {SPACE}/twin", "The same from a shell")
        await screen.press("y")
        await screen.until_told("was deleted and recreated; refresh and retry")
    assert len(meddler.sent) == 1
    found = await asyncio.to_thread(cluster.ask, "GET", JOBS.path(SPACE, "twin"))
    assert found["metadata"]["uid"] != first and "deletionTimestamp" not in found["metadata"]
    await asyncio.to_thread(until, "its pod runs, and no other is left", lambda: is_alone(cluster, "twin"))


def is_alone(cluster: Cluster, name: str) -> bool | None:
    """What is held on the cluster is part of a later plan: nothing may be on its way out."""
    return True if cluster.running(SPACE, name) == len(cluster.named(PODS, SPACE, name)) == 1 else None


async def test_what_would_do_something_else_is_shown_again_with_what_changed(
    cluster: Cluster, meddler: Meddler, tmp_path: Path
) -> None:
    """Somebody else scales the pool between yes and the write: to grow it has become to shrink it."""

    async def scaled(session: Any, call: Call, _left: int) -> None:
        body = {"spec": {"replicas": 4}}
        answer = await session.request("PATCH", call.path, body=body, content_type=MERGE)
        assert answer.status == 200, answer.message()

    async with opened(cluster, tmp_path, "pools") as screen:
        await screen.until_text("gpu", "MachineDeployment")
        await screen.press("S")
        await screen.until_text("Nodes of gpu")
        await screen.press("ctrl+u", "3")
        await screen.until_text("Grow pool gpu from 2 to 3")
        await screen.press("ctrl+s")
        await screen.until_text("Grow pool gpu from 2 to 3", "The same from a shell")
        meddler.before(1, scaled)
        await screen.press("y")
        shown = await screen.until_text(
            "nothing was done: the action would now have a different effect",
            "was: Grow pool gpu from 2 to 3; now: Shrink pool gpu from 4 to 3",
            "The same from a shell",
        )
        assert "Shrink pool gpu from 4 to 3" in shown
        assert len(meddler.sent) == 1 and await replicas(cluster, meddler) == 4
        await yes_and_yes_again(screen, "Shrinking pool gpu from 4 to 3")
        assert await replicas(cluster, meddler) == 3
    lines = [one for one in Audit(tmp_path / "audit.jsonl").entries() if one.step == "outcome"]
    assert [one.state for one in lines if one.path.endswith("/scale")] == ["refused", "done"]
    held = [one.state for one in lines if "/leases" in one.path]
    assert held[:3] == ["done", "done", "done"], "taken, given back after the refusal, and taken again"


async def yes_and_yes_again(screen: Seen, wanted: str) -> None:
    """Until it is told: where a node has come between the look and the yes, it is shown again once more."""
    for _ in range(NODES_TO_COME + 1):
        before = question(screen.lines())
        await screen.press("y")
        await screen.until("told, or shown again", partial(is_answered, screen, before))
        if screen.remarks:
            break
    await screen.until_told(wanted)


def is_answered(screen: Seen, before: list[str], lines: list[str]) -> bool | None:
    now = question(lines)
    return True if screen.remarks or (now and now != before) else None


def question(lines: list[str]) -> list[str]:
    """What the dialog says of the differences; nothing where there is none."""
    begin = [at for at, line in enumerate(lines) if "nothing was done: the action would" in line]
    end = [at for at, line in enumerate(lines) if "The same from a shell" in line]
    return lines[begin[0] : end[0]] if begin and end else []


async def replicas(cluster: Cluster, meddler: Meddler) -> int:
    path = meddler.sent[0].path.removesuffix("/scale")
    tree = await asyncio.to_thread(cluster.ask, "GET", path)
    return int(tree["spec"]["replicas"])
