"""An unexpected error in any one task: a report and a row, the others go on, and the task begins anew."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from cockpit.attach import Attachment, AttachOptions, Link
from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.kube.reflector import Reflector
from cockpit.local_state.crashes import Crashes
from cockpit.model.batch import Phase
from cockpit.model.record import Kind
from cockpit.supervise import CALM_SECONDS, GOES_ON_SECONDS, PAUSE_SECONDS, kept_up
from tests.bed.pki import make_ca, make_server
from tests.unit.kube.builders import (
    FakeServer,
    bookmark,
    kubeconfig,
    refuse,
    reply,
    server_side,
    serving,
    stream,
)

TASKS = ("feed", "places", "pulse", "telemetry", "alerts", "rights")


class OddError(Exception):
    """Nobody expects this."""


class Tried(Attachment):
    """One of its tasks fails at its first beginning; which ones began, how often."""

    failing = ""

    def tasks(self, session: Any) -> dict[str, Callable[[], Awaitable[object]]]:
        self.begun: dict[str, int] = {}

        def tried(name: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[object]]:
            async def run() -> None:
                self.begun[name] = self.begun.get(name, 0) + 1
                if name == self.failing and self.begun[name] == 1:
                    raise OddError("hunter2")
                await work()

            return run

        return {name: tried(name, work) for name, work in super().tasks(session).items()}


def made(server: FakeServer, folder: Path, moved: asyncio.Event) -> Tried:
    clock = ManualClock()
    for path in (
        "/api/v1/nodes",
        "/api/v1/pods",
        "/apis/batch/v1/jobs",
        "/api/v1/events",
        "/api/v1/namespaces",
    ):
        server.on(path, stream(bookmark("9", ends_list=True), stays=True))

    async def sleep(_seconds: float) -> None:
        await asyncio.sleep(0)

    options = AttachOptions(kubeconfig=kubeconfig(folder, server.url))
    crashes = Crashes(folder, clock)
    return Tried(options, clock, random.Random(1), moved.set, note=crashes.note, sleep=sleep)


async def until(moved: asyncio.Event, holds: Callable[[], bool], task: "asyncio.Task[None]") -> None:
    async with asyncio.timeout(20):
        while not holds():
            assert not task.done(), "the attachment ended"
            moved.clear()
            async with asyncio.timeout(20):
                await moved.wait()


def test_the_tasks_are_these() -> None:
    one = Attachment(AttachOptions(), ManualClock(), random.Random(1), lambda: None)
    session: Any = None
    assert tuple(one.tasks(session)) == TASKS


@pytest.mark.parametrize("name", TASKS)
async def test_an_error_in_one_task_costs_no_other(name: str, tmp_path: Path) -> None:
    moved = asyncio.Event()
    async with serving(FakeServer()) as server:
        attachment = made(server, tmp_path, moved)
        attachment.failing = name
        task = asyncio.create_task(attachment.run())
        try:
            await until(
                moved,
                lambda: (
                    attachment.begun.get(name) == 2 and attachment.is_settled((Kind.NODE, Kind.POD))
                    if hasattr(attachment, "begun")
                    else False
                ),
                task,
            )
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert attachment.link is Link.ATTACHED
    (report,) = (tmp_path / "crashes").iterdir()
    assert attachment.faults == {name: f"internal error in {name} (OddError): report at {report}"}
    assert "hunter2" not in report.read_text()
    assert set(attachment.begun) == set(TASKS)


async def test_a_start_under_a_wrong_certificate_goes_on_once_the_file_is_right(
    tmp_path: Path,
) -> None:
    ca = make_ca(tmp_path, "ours")
    own = make_server(tmp_path, "own", ca, ("127.0.0.1",))
    tls = (str(own.certificate_file), str(own.key_file))
    moved, naps = asyncio.Event(), list[float]()
    authority = tmp_path / "ca.crt"
    authority.write_bytes(make_ca(tmp_path, "stranger").certificate_file.read_bytes())
    async with serving(FakeServer(), ssl_context=server_side(tls)) as server:
        attachment = made(server, tmp_path, moved)
        path = kubeconfig(tmp_path, server.url, {"certificate-authority": str(authority)})
        attachment.options = AttachOptions(kubeconfig=path)

        async def sleep(seconds: float) -> None:
            if attachment.link is Link.WAITING:
                naps.append(seconds)
                assert "not trusted" in attachment.sentence
            if len(naps) == 3:
                authority.write_bytes(ca.certificate_file.read_bytes())
            await asyncio.sleep(0)

        attachment._sleep = sleep
        task = asyncio.create_task(attachment.run())
        try:
            await until(moved, lambda: attachment.is_settled((Kind.NODE, Kind.POD)), task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert naps == [1.0, 2.0, 4.0]


async def test_an_error_in_telemetry_is_the_status_of_the_gpus(tmp_path: Path) -> None:
    moved = asyncio.Event()
    async with serving(FakeServer()) as server:
        attachment = made(server, tmp_path, moved)
        attachment.failing = "telemetry"
        told: list[tuple[Phase, str]] = []
        sink = attachment.sink

        def listening(batch: Any) -> None:
            if batch.kind == Kind.GPU and batch.status is not None:
                told.append((batch.status.phase, batch.status.message))
            sink(batch)

        attachment.sink = listening  # type: ignore[method-assign]
        task = asyncio.create_task(attachment.run())
        try:
            await until(moved, lambda: bool(told), task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    phase, message = told[0]
    assert phase is Phase.BACKING_OFF
    assert message.startswith("internal error in telemetry (OddError): report at ")


async def test_an_error_in_one_watch_costs_no_other_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: dict[str, int] = {}
    run = Reflector.run

    async def odd(self: Reflector) -> Any:
        plural = self.resource.plural
        runs[plural] = runs.get(plural, 0) + 1
        if plural == "pods" and runs[plural] == 1:
            raise OddError("hunter2")
        await run(self)

    monkeypatch.setattr(Reflector, "run", odd)
    moved = asyncio.Event()
    async with serving(FakeServer()) as server:
        attachment = made(server, tmp_path, moved)
        task = asyncio.create_task(attachment.run())
        try:
            kinds = (Kind.NODE, Kind.POD, Kind.JOB)
            await until(moved, lambda: runs.get("pods") == 2 and attachment.is_settled(kinds), task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert list(attachment.faults) == ["watch of pods"]
    assert runs["nodes"] == runs["pods"] - 1 == 1


async def test_pauses_grow_and_begin_anew_after_a_calm_time() -> None:
    clock, pauses, told = ManualClock(), list[float](), list[str]()
    times = [0.0] * 6 + [CALM_SECONDS + 1.0, 0.0]

    async def work() -> None:
        if not times:
            return
        clock.advance(times.pop(0))
        raise OddError

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    await kept_up(
        "x",
        work,
        lambda error, name: f"{name} {error!r}",
        told.append,
        monotonic=clock.monotonic,
        sleep=sleep,
    )
    longest = PAUSE_SECONDS[-1]
    assert pauses == [*PAUSE_SECONDS, *[longest] * (6 - len(PAUSE_SECONDS)), *PAUSE_SECONDS[:2]]
    assert longest + GOES_ON_SECONDS <= 10.0, "the return after a fault"
    assert told == ["x OddError()"] * 8


async def test_a_cancelled_part_of_the_work_is_an_error_and_an_expected_failure_is_its_sentence() -> None:
    rounds, told = list[int](), list[str]()

    async def work() -> None:
        rounds.append(1)
        if len(rounds) == 1:
            part = asyncio.ensure_future(asyncio.Event().wait())
            asyncio.get_running_loop().call_soon(part.cancel)
            await part
        if len(rounds) == 2:
            raise Refused("The server's answer is not JSON.")
        if len(rounds) == 3:
            async with asyncio.TaskGroup() as several, asyncio.TaskGroup() as parts:
                several.create_task(fails(Refused("One of several is not JSON.")))
                parts.create_task(fails(Refused("A part is not JSON.")))
        if len(rounds) == 4:
            raise ExceptionGroup("", [Refused("Expected."), OddError("hunter2")])

    async def fails(error: Exception) -> None:
        raise error

    async def sleep(_seconds: float) -> None: ...

    await kept_up(
        "x",
        work,
        lambda error, name: f"{name}: {type(error).__name__}",
        told.append,
        monotonic=ManualClock().monotonic,
        sleep=sleep,
    )
    assert told[:2] == ["x: CancelledError", "The server's answer is not JSON."]
    assert told[2] in ("One of several is not JSON.", "A part is not JSON.")
    assert told[3:] == ["x: ExceptionGroup"]


async def test_cancelling_ends_it() -> None:
    task = asyncio.create_task(
        kept_up("x", asyncio.Event().wait, lambda error, name: name, print, monotonic=ManualClock().monotonic)
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancelling_ends_it_whatever_the_work_makes_of_that() -> None:
    """A group whose part fails in the same moment raises that part's error."""

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise OSError("broken") from None

    told = list[str]()
    task = asyncio.create_task(
        kept_up("x", work, lambda error, name: name, told.append, monotonic=ManualClock().monotonic)
    )
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(20):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told == []


async def test_a_start_that_was_refused_goes_on_once_the_server_knows_the_user(tmp_path: Path) -> None:
    """A 401, or the page of a proxy that wants its own login: neither needs a key here."""
    moved, waited = asyncio.Event(), list[str]()
    async with serving(FakeServer()) as server:
        attachment = made(server, tmp_path, moved)
        page = reply("<html>log in</html>", content_type="text/html")
        server.on("/version", refuse(401, "Unauthorized", "no"), page, reply({"major": "1"}))

        async def sleep(_seconds: float) -> None:
            if attachment.link is Link.WAITING:
                waited.append(attachment.sentence)
            await asyncio.sleep(0)

        attachment._sleep = sleep
        task = asyncio.create_task(attachment.run())
        try:
            await until(moved, lambda: attachment.is_settled((Kind.NODE, Kind.POD)), task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
    assert ["(401)" in one for one in waited] == [True, False]
