"""A server that is gone, for seconds or for a day, and links that swallow everything, in leaping time."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import ManualClock
from cockpit.kube.pulse import DARK_SECONDS
from cockpit.model.batch import Phase
from cockpit.model.record import Kind
from tests.adapters.leaping_time import LeapingTime, leaping
from tests.bench.returns import Link
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import FakeServer, event, kubeconfig, pod, reply, serving
from tests.unit.kube.pod_history import begun
from tests.unit.kube.test_discovery import aggregated, entry, group
from tests.unit.kube.test_feed import CORE_PATHS, END

KINDS = (Kind.NODE, Kind.POD, Kind.JOB, Kind.EVENT, Kind.NAMESPACE)
SETTLED_SECONDS = 60.0
DAY = 24 * 3600.0


@dataclass
class Core:
    """An API server of the core kinds behind a link that can break; when each watch of it began."""

    server: FakeServer
    link: Link
    time: LeapingTime
    attachment: Attachment
    task: "asyncio.Task[Any]"
    begun_at: dict[str, list[float]] = field(default_factory=dict)
    lists: int = 0
    late: bytes = b""
    """What a watch of pods gets that begins now."""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        is_list = "sendInitialEvents" in request.query
        self.lists += is_list
        self.begun_at.setdefault(request.path, []).append(self.time.seconds)
        response = await begun(request)
        await response.write(END if is_list else self.late if request.path == "/api/v1/pods" else b"")
        await self.server.over.wait()
        return response

    def are_live(self) -> bool:
        """Whether a watch stands for every kind."""
        told = [self.attachment.store.status(kind) for kind in KINDS]
        return all(status is not None and status.phase is Phase.LIVE for status in told)

    def has_noticed(self, since_seconds: float) -> bool:
        """Whether it is told that something is not live, or a stream has begun again since."""
        return (
            self.attachment.unanswered_since_seconds is not None
            or not self.are_live()
            or max(times[-1] for times in self.begun_at.values()) > since_seconds
        )


@asynccontextmanager
async def core(folder: Path, seed: int, *, calm_seconds: float = 20.0) -> AsyncIterator[Core]:
    """Attached, all lists in, and some seconds later."""
    clock, rng = ManualClock(), random.Random(seed)
    async with serving(FakeServer()) as server, leaping(clock) as time:
        link = Link(int(server.url.rsplit(":", 1)[1]))
        await link.open()
        path = kubeconfig(folder, f"http://127.0.0.1:{link.own_port}")
        attachment = Attachment(AttachOptions(kubeconfig=path), clock, rng, lambda: None)
        task = asyncio.create_task(attachment.run())
        made = Core(server, link, time, attachment, task)
        for core_path in CORE_PATHS:
            server.on(core_path, made.answer)
        server.on("/api", reply(aggregated(group("", v1=[entry("pods", "Pod")]))))
        server.on("/apis", reply(aggregated()))
        try:
            await opened(attachment)
            await time.until(made.are_live, seconds=SETTLED_SECONDS)
            await time.passes(calm_seconds * (1.0 + rng.random()))
            yield made
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await link.kill()


async def opened(attachment: Attachment) -> None:
    """Files are read in a thread, which no leap waits for."""
    for _ in range(200_000):
        if attachment.session is not None:
            return
        await asyncio.sleep(0)
    raise TimeoutError("no session")


@pytest.mark.row(6, "outages", least=30, unit="cases")
@pytest.mark.row(6, "fresh after the return", most=5, unit="s")
@pytest.mark.row(6, "kinds spread over", least=1, unit="s")
@pytest.mark.row(6, "relists", most=0)
async def test_all_streams_are_back_soon_but_not_together(tmp_path: Path, figure: Tell) -> None:
    """The server is killed for 5, 30 and 120 s; each time it returns at another moment between two probes."""
    rounds, relists = whole(30, 3), 0
    for number in range(rounds):
        async with core(tmp_path, number) as here:
            before = here.lists
            await here.link.kill()
            await here.time.passes((5, 30, 120)[number % 3] + DARK_SECONDS * random.Random(number).random())
            here.late = event("ADDED", pod("late", version="12"))
            await here.link.open()
            back = here.time.seconds
            await here.time.until(
                lambda: here.are_live() and here.attachment.store.by_key(Kind.POD, "team-a/late"), seconds=30
            )
            figure("fresh after the return", here.time.seconds - back)
            first = [times[-1] - back for times in here.begun_at.values()]
            assert min(first) >= 0
            figure("kinds spread over", max(first) - min(first))
            relists += here.lists - before
    figure("outages", rounds)
    figure("relists", relists)


@pytest.mark.row(7, "hours", least=24, unit="cases")
@pytest.mark.row(7, "exits", most=0)
@pytest.mark.row(7, "age error", most=1, unit="s")
async def test_a_server_that_is_gone_for_a_day_ends_nothing(tmp_path: Path, figure: Tell) -> None:
    async with core(tmp_path, 1) as here:
        here.server.on("/version", reply({"gitVersion": "v1.36.0"}))
        await here.link.kill()
        killed, attachment = here.time.seconds, here.attachment
        ages = {kind: attachment.store.status(kind) for kind in KINDS}
        await here.time.passes(whole(24, 1) * 3600.0)
        figure("hours", (here.time.seconds - killed) // 3600)
        figure("exits", int(here.task.done()) + len(attachment.faults))
        silent = attachment.unanswered_since_seconds
        assert silent is not None
        figure("age error", abs(attachment.clock.now() - silent - (here.time.seconds - killed)))
        for kind, before in ages.items():
            status = attachment.store.status(kind)
            assert status is not None and before is not None
            assert status.phase is Phase.BACKING_OFF
            assert status.heard_seconds == before.heard_seconds, "the age is that of the last word"
        await here.link.open()
        await here.time.until(here.are_live, seconds=30)


@pytest.mark.row(8, "noticed after", most=90, unit="s")
@pytest.mark.parametrize("is_hole", [False, True], ids=["connections that stand", "new ones too"])
@pytest.mark.parametrize("is_probing", [True, False], ids=["with the probe", "by silence alone"])
async def test_a_link_that_swallows_everything_is_noticed(
    tmp_path: Path, figure: Tell, is_hole: bool, is_probing: bool
) -> None:
    async with core(tmp_path, 3, calm_seconds=0.0) as here:
        session = here.attachment.session
        assert session is not None
        if not is_probing:
            probes = [one for one in asyncio.all_tasks() if one.get_name() == "pulse"]
            assert probes
            for probe in probes:
                probe.cancel()
        held = here.time.seconds
        here.link.hold()
        here.link.holds_new = is_hole
        figure("noticed after", await here.time.until(lambda: here.has_noticed(held), seconds=400))
