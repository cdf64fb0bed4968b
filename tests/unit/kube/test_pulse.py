"""One probe for all streams: what it costs, how soon it tells, and what it gives up."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from cockpit.clock import ManualClock
from cockpit.errors import NoConnection
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.pulse import (
    ALIVE_SECONDS,
    DARK_ANSWER_SECONDS,
    DARK_SECONDS,
    SPREAD_SECONDS,
    Pulse,
    within,
)
from tests.reliability.figures import Tell

THERE = ApiAnswer(200, "application/json", b"{}")


class Server:
    """Answers as `answer` says; `sleep` moves the clock, and gives every other task a turn first."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.asked: list[tuple[float, bool]] = []
        self.answer: Callable[[bool], Awaitable[ApiAnswer]] = self.there
        self.pulse = Pulse(self._ask, self.clock, sleep=self.sleep)
        self._dues: list[float] = []
        self._moves = 0

    async def there(self, _is_fresh: bool) -> ApiAnswer:
        return THERE

    async def refused(self, _is_fresh: bool) -> ApiAnswer:
        raise NoConnection("refused")

    async def never(self, _is_fresh: bool) -> ApiAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    async def _ask(self, seconds: float, is_fresh: bool) -> ApiAnswer:
        self.asked.append((self.clock.monotonic(), is_fresh))
        answering = asyncio.ensure_future(self.answer(is_fresh))
        if not await within(seconds, answering, self.sleep):
            answering.cancel()
            raise NoConnection("late")
        return answering.result()

    async def sleep(self, seconds: float) -> None:
        """Until the clock, which moves when all tasks wait, has come so far: the earliest sleeper first."""
        due = self.clock.monotonic() + seconds
        self._dues.append(due)
        self._moves += 1
        try:
            while self.clock.monotonic() < due:
                moves = self._moves
                for _ in range(20):
                    await asyncio.sleep(0)
                if moves == self._moves and due == min(self._dues) and self.clock.monotonic() < due:
                    self.clock.advance(due - self.clock.monotonic())
        finally:
            self._dues.remove(due)
            self._moves += 1

    async def run(self, seconds: float) -> None:
        """Probe for so long."""
        end = self.clock.monotonic() + seconds
        over = asyncio.Event()

        def look() -> None:
            if self.clock.monotonic() >= end:
                over.set()

        task = asyncio.create_task(self.pulse.run(look))
        await over.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.row(20, "probes", most=0.25, unit="/s")
async def test_a_server_that_answers_is_asked_every_five_seconds(figure: Tell) -> None:
    server = Server()
    await server.run(3600)
    assert len(server.asked) == 3600 / ALIVE_SECONDS + 1
    figure("probes", len(server.asked) / 3600)
    assert not server.pulse.is_dark


async def test_a_dead_server_costs_one_probe_at_a_time_whatever_waits_for_it() -> None:
    server = Server()
    server.answer = server.refused
    await server.run(400)
    times = [at - server.asked[0][0] for at, _ in server.asked]
    assert sum(at > 8 for at in times) <= (400 - 8) / DARK_SECONDS + 1
    assert server.pulse.is_dark


@pytest.mark.parametrize("gone_seconds", [5, 30])
async def test_a_server_that_returns_is_seen_within_a_round(gone_seconds: float) -> None:
    server = Server()
    back_at = server.clock.monotonic() + gone_seconds

    async def later(_is_fresh: bool) -> ApiAnswer:
        if server.clock.monotonic() < back_at:
            raise NoConnection("refused")
        return THERE

    server.answer = later
    seen: list[float] = []

    async def wait() -> None:
        await server.pulse.returned()
        seen.append(server.clock.monotonic() - back_at)

    waiting = asyncio.create_task(wait())
    await server.run(gone_seconds + 2 * DARK_SECONDS)
    await waiting
    assert 0 <= seen[0] <= DARK_SECONDS


@pytest.mark.parametrize(
    "answer",
    [
        ApiAnswer(502, "text/html", b"<html>"),
        ApiAnswer(503, "application/json", b"{}"),
        ApiAnswer(200, "text/html", b"<html>log in</html>"),
    ],
)
async def test_what_a_gateway_says_is_no_answer_of_the_server(answer: ApiAnswer) -> None:
    server = Server()

    async def gateway(_is_fresh: bool) -> ApiAnswer:
        return answer

    server.answer = gateway
    await server.pulse.beat()
    assert server.pulse.is_dark


async def test_a_refusal_is_an_answer() -> None:
    server = Server()

    async def forbidden(_is_fresh: bool) -> ApiAnswer:
        return ApiAnswer(403, "application/json", b"{}")

    server.answer = forbidden
    await server.pulse.beat()
    assert not server.pulse.is_dark


async def test_reads_that_heard_nothing_through_an_outage_are_given_up_and_no_others() -> None:
    server = Server()
    ends: dict[str, str] = {}
    loop = asyncio.get_running_loop()

    async def read(name: str) -> None:
        try:
            async with server.pulse.flying() as flight:
                if name == "fast":
                    flight.heard_at = loop.time() + 3600
                await asyncio.Event().wait()
        except TimeoutError:
            ends[name] = "given up"

    reads = [asyncio.create_task(read(name)) for name in ("quiet", "fast")]
    await asyncio.sleep(0)
    server.answer = server.refused
    await server.pulse.beat()
    assert ends == {}
    server.answer = server.there
    await server.pulse.beat()
    await reads[0]
    assert ends == {"quiet": "given up"}
    reads[1].cancel()


async def test_a_half_open_connection_is_told_from_a_slow_server() -> None:
    """Only the fresh connection is answered: what was kept is dead, and quiet reads with it."""
    server = Server()

    async def half(is_fresh: bool) -> ApiAnswer:
        return await (server.there(True) if is_fresh else server.never(False))

    server.answer = half
    ended = asyncio.Event()

    async def read() -> None:
        try:
            async with server.pulse.flying():
                await asyncio.Event().wait()
        except TimeoutError:
            ended.set()

    reading = asyncio.create_task(read())
    waiting = asyncio.create_task(server.pulse.returned())
    await asyncio.sleep(0)
    began = server.clock.monotonic()
    await server.pulse.beat()
    await reading
    assert ended.is_set()
    async with asyncio.timeout(20):
        await waiting  # whoever has failed over a dead connection already goes on
    assert not server.pulse.is_dark
    assert server.clock.monotonic() - began + ALIVE_SECONDS <= 10


async def test_a_black_hole_is_noticed_within_one_round_of_patience() -> None:
    server = Server()
    server.answer = server.never
    began = server.clock.monotonic()
    await server.pulse.beat()
    assert server.pulse.is_dark
    assert server.clock.monotonic() - began <= 10
    began = server.clock.monotonic()
    await server.pulse.beat()
    assert server.clock.monotonic() - began <= DARK_ANSWER_SECONDS + 0.01


def test_streams_return_apart_from_each_other_wherever_the_turn_stands() -> None:
    pulse = Server().pulse
    for _ in range(100):
        places = [pulse.place_seconds() for _ in range(5)]
        assert min(places) >= 0
        assert max(places) <= SPREAD_SECONDS
        assert max(places) - min(places) >= 1.0
    assert DARK_SECONDS + SPREAD_SECONDS < 5.0, "all are back within 5 s of the server's return"
