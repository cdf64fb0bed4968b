"""How often a failing stream knocks: never more than 0.25 requests a second, by the reader's own clock.

The naps of the reflector move a manual clock, which the proxy reads too: an hour passes in a second.
"""

from dataclasses import dataclass

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.backoff import LONGEST_SECONDS
from cockpit.kube.reflector import DENIED_SECONDS
from cockpit.kube.resource import PODS
from cockpit.model.batch import Phase
from cockpit.sim.faults.exchange import Fault, SeenRequest
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract import faults
from tests.contract.asking import in_space
from tests.contract.conftest import Connect
from tests.contract.faults import PROTOBUF_STREAM
from tests.contract.following import following
from tests.contract.mirror import eventually, truth
from tests.contract.shapes import pod
from tests.reliability.figures import Tell

HOUR = 3600.0
PER_SECOND = 0.25
FIRST_RETRIES = 5
"""In the first 10 s, when a hiccup is likelier than an outage."""
SOON = pytest.mark.row(2, "requests in the first 10 s", most=FIRST_RETRIES)
LATER = pytest.mark.row(2, "requests a second after that", most=PER_SECOND)

PERSISTENT: dict[str, Fault] = {
    "dropped before the answer": faults.refuse(),
    "closed at once": faults.empty_stream(PROTOBUF_STREAM),
    "cut after the head": faults.cut(0),
    "cut in the middle": faults.cut(900),
    "ended in the middle": faults.cut(900, orderly=True),
    "400": faults.status(400, reason="BadRequest"),
    "401": faults.status(401, reason="Unauthorized"),
    "403": faults.status(403, reason="Forbidden"),
    "404": faults.status(404, reason="NotFound"),
    "410": faults.status(410, reason="Expired"),
    "410 as an event": faults.error_event(410, "Expired", "too old resource version"),
    "422": faults.status(422, reason="Invalid"),
    "429 with a wait of 1 s": faults.status(429, retry_after_seconds=1),
    "500": faults.status(500),
    "500 as an event": faults.error_event(500, "InternalError", "etcdserver: no leader"),
    "503 with a wait of 0 s": faults.status(503, retry_after_seconds=0),
    "504": faults.status(504),
    "log-in page": faults.html(),
    "garbage": faults.bare(200, b"\x00\x00\x00\x04\xff\xff\xff\xff" * 50, PROTOBUF_STREAM),
}


@dataclass
class Counted:
    """Times of requests since the first, in seconds of the manual clock."""

    times: list[float]

    @classmethod
    def of(cls, seen: list[SeenRequest]) -> "Counted":
        return cls([one.at_seconds - seen[0].at_seconds for one in seen])

    def between(self, start: float, end: float) -> int:
        return sum(start <= one < end for one in self.times)

    def busiest(self, window: float) -> int:
        """The most requests in any window of that length after the first 10 s."""
        return max((self.between(start, start + window) for start in self.times if start >= 10), default=0)

    def check(self, figure: Tell) -> None:
        figure("requests in the first 10 s", self.between(0, 10))
        figure("requests a second after that", self.between(10, HOUR) / (HOUR - 10))
        # Any minute may hold the first retries once more, but no more than that.
        assert self.busiest(60) <= PER_SECOND * 60 + FIRST_RETRIES


@SOON
@LATER
@pytest.mark.parametrize("name", PERSISTENT)
async def test_a_list_that_always_fails_keeps_the_pace(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str, figure: Tell
) -> None:
    for number in range(3):
        admin.create(in_space(space, "pods"), pod(f"p{number}"))
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    proxy.clock = clock
    proxy.plan(PERSISTENT[name], times=None, path="/pods")
    async with following(session, PODS, namespace=space, clock=clock) as one:
        await one.naps.hold_after(HOUR)
        asked = proxy.requests("/pods")
        assert len(asked) >= (HOUR // DENIED_SECONDS if name == "403" else 20), "it keeps trying"
        Counted.of(asked).check(figure)
        phases = (Phase.BACKING_OFF, Phase.DENIED, Phase.ABSENT, Phase.NOT_LOGGED_IN)
        assert one.mirror.phase in phases
        assert one.mirror.message
        assert one.mirror.lists_ended == 0, "what was not read whole is not called complete"
        proxy.heal()
        one.naps.hold_after_seconds = None
        one.naps.gate.set()
        await one.mirror.until_equal(truth(admin, in_space(space, "pods")))


@SOON
@LATER
@pytest.mark.parametrize("name", [name for name in PERSISTENT if "in the middle" not in name])
async def test_a_watch_that_always_fails_keeps_the_pace(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str, figure: Tell
) -> None:
    """Lists work, watches do not: where a version is lost each round costs a list, and both are counted."""
    for number in range(3):
        admin.create(in_space(space, "pods"), pod(f"p{number}"))
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    proxy.clock = clock
    proxy.plan(PERSISTENT[name], times=None, path="/pods", watch=True)
    async with following(session, PODS, namespace=space, clock=clock, streaming_list=False) as one:
        await one.naps.hold_after(HOUR)
        Counted.of(proxy.requests("/pods")).check(figure)
        assert len(one.mirror.rows) == 3, "the rows of the lists stand"
        assert one.mirror.phase is not Phase.LIVE
        assert one.mirror.broken == []


@pytest.mark.parametrize("name", ["410", "500", "dropped before the answer", "log-in page"])
async def test_a_last_page_that_always_fails_keeps_the_pace(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, name: str
) -> None:
    """The pages before it are requests too."""
    for number in range(8):
        admin.create(in_space(space, "pods"), pod(f"p{number}"))
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    proxy.clock = clock
    proxy.plan(PERSISTENT[name], times=None, only=lambda seen: _page(seen, proxy) >= 3)
    async with following(
        session, PODS, namespace=space, clock=clock, streaming_list=False, page_objects=2
    ) as one:
        await one.naps.hold_after(HOUR)
        counted = Counted.of(proxy.requests("/pods"))
        assert counted.between(60, HOUR) <= PER_SECOND * (HOUR - 60)
        assert one.mirror.lists_ended == 0


def _page(seen: SeenRequest, proxy: FaultProxy) -> int:
    """Pages since the newest first page, this one included."""
    if "continue" not in seen.query:
        return 1
    pages = [one for one in proxy.seen if "limit" in one.query]
    starts = [at for at, one in enumerate(pages) if "continue" not in one.query]
    return len(pages) - starts[-1]


async def test_naps_grow_to_eight_seconds(space: str, connect: Connect, proxy: FaultProxy) -> None:
    session = await connect("viewer", through=proxy)
    proxy.plan(faults.status(500), times=None, path="/pods")
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.naps.hold_after(600)
        assert 0.8 <= one.naps.taken[0] <= 1.6
        assert max(one.naps.taken) <= 2 * LONGEST_SECONDS
        assert min(one.naps.taken[-5:]) >= LONGEST_SECONDS


async def test_a_back_off_tells_when_it_tries_again(space: str, connect: Connect, proxy: FaultProxy) -> None:
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    proxy.plan(faults.status(500, message="etcdserver: request timed out"), times=None, path="/pods")
    async with following(session, PODS, namespace=space, clock=clock) as one:
        one.naps.gate.clear()
        await eventually(lambda: one.naps.waiting, "the first nap")
        told = one.mirror.status
        assert told is not None
        assert told.phase is Phase.BACKING_OFF
        assert "etcdserver: request timed out" in told.message
        assert told.retry_seconds == pytest.approx(clock.now() + one.naps.taken[-1])
        assert told.since_seconds == clock.now()


async def test_phases_of_a_stream_that_fails_and_recovers(
    space: str, connect: Connect, proxy: FaultProxy
) -> None:
    session = await connect("viewer", through=proxy)
    proxy.plan(faults.status(503), times=2, path="/pods")
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        proxy.plan(faults.status(500), times=2, path="/pods")
        proxy.cut_all()
        await eventually(lambda: len(proxy.requests("/pods")) == 6, "recovered twice")
        await one.mirror.until_live()
        assert one.mirror.phases[0] is Phase.LISTING
        assert one.mirror.phases.count(Phase.BACKING_OFF) >= 2
        assert one.mirror.phases[-1] is Phase.LIVE
        assert one.mirror.message == "", "what is over is not said any more"
        assert one.mirror.status is not None
        assert one.mirror.status.retry_seconds is None


@pytest.mark.row(16, "requests inside the window", most=0)
@pytest.mark.row(16, "longest wait, of what the server asked", most=1.2, least=1.0)
@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming list", "pages"])
async def test_the_servers_wait_is_kept(
    space: str, connect: Connect, proxy: FaultProxy, code: int, streaming: bool, figure: Tell
) -> None:
    """Also when it asks for it again and again."""
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    proxy.clock = clock
    proxy.plan(faults.status(code, retry_after_seconds=17), times=4, path="/pods")
    async with following(session, PODS, namespace=space, clock=clock, streaming_list=streaming) as one:
        await one.mirror.until_live()
        at = [seen.at_seconds for seen in proxy.requests("/pods")]
        windows = at[:4]
        figure(
            "requests inside the window",
            sum(start < other < start + 17 for start in windows for other in at),
        )
        figure(
            "longest wait, of what the server asked",
            max(later - start for start, later in zip(windows, at[1:], strict=False)) / 17.0,
        )


@pytest.mark.row(17, "lists", most=0)
@pytest.mark.row(17, "refusals", least=4)
@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_a_busy_server_is_not_asked_for_a_list_again(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, code: int, figure: Tell
) -> None:
    """A watch that is put off goes on from its version."""
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=ManualClock()) as one:
        await one.mirror.until_live()
        rule = proxy.plan(faults.status(code, retry_after_seconds=1), times=4, path="/pods")
        proxy.cut_all()
        await eventually(lambda: rule.used == 4 and len(proxy.requests("/pods")) >= 6, "the sixth request")
        admin.create(in_space(space, "pods"), pod("late"))
        await one.mirror.until_equal(truth(admin, in_space(space, "pods")))
        figure("refusals", rule.used)
        figure("lists", len(proxy.requests("/pods", listing=True)) - 1)


async def test_minutes_of_health_forget_the_failures(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy
) -> None:
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    proxy.plan(faults.status(500), times=6, path="/pods")
    async with following(session, PODS, namespace=space, clock=clock) as one:
        await one.mirror.until_live()
        # The minutes count from when the stream is read, not from when the proxy has answered.
        admin.create(in_space(space, "pods"), pod("seen"))
        await one.mirror.until_equal(truth(admin, in_space(space, "pods")))
        assert one.naps.taken[-1] >= LONGEST_SECONDS
        clock.advance(300)
        one.naps.taken.clear()
        rule = proxy.plan(faults.status(500), times=1, path="/pods")
        proxy.cut_all()
        await eventually(lambda: rule.used == 1 and proxy.answering == 1, "back again")
        assert max(one.naps.taken) <= 3.2, "two naps of the shortest kind"


async def test_a_stream_that_dies_young_is_not_called_healthy(
    space: str, connect: Connect, proxy: FaultProxy
) -> None:
    """A proxy that lets each stream live for 5 s: every life ends in a longer nap, not in a hot loop."""
    clock = ManualClock()
    session = await connect("viewer", through=proxy)
    async with following(session, PODS, namespace=space, clock=clock) as one:
        for lives in range(8):
            while len(proxy.requests("/pods")) <= lives:
                await proxy.arrival()
            await eventually(lambda: proxy.answering == 1, "a life")
            await one.mirror.until_live()
            clock.advance(5)
            proxy.cut_all()
        await eventually(lambda: len(one.naps.taken) >= 8, "eight naps")
        assert sum(one.naps.taken[4:8]) > sum(one.naps.taken[:4])


async def test_two_failing_streams_do_not_knock_in_step(
    space: str, connect: Connect, proxy: FaultProxy
) -> None:
    """Jitter: streams that were cut together come back apart."""
    session = await connect("viewer", through=proxy)
    proxy.plan(faults.status(500), times=None, path="/pods")
    async with (
        following(session, PODS, namespace=space, clock=ManualClock(), seed=1) as first,
        following(session, PODS, namespace=space, clock=ManualClock(), seed=2) as second,
    ):
        await first.naps.hold_after(300)
        await second.naps.hold_after(300)
        together = zip(first.naps.taken, second.naps.taken, strict=False)
        assert all(abs(one - other) > 0.001 for one, other in together)
