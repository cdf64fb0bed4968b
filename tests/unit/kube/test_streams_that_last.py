"""Streams over hours and thousands of ends: nothing is listed that is known, nothing is lost."""

import random

import pytest
from aiohttp import web

from cockpit.clock import ManualClock
from cockpit.model.batch import Phase
from tests.reliability.figures import Tell, whole
from tests.unit.kube.builders import (
    FakeServer,
    bookmark,
    event,
    listing,
    pod,
    refuse,
    reply,
    status,
    stream,
)
from tests.unit.kube.pod_history import PodHistory, begun
from tests.unit.kube.watching import INITIAL, PATH, Watcher

SECONDS = 120.0


def busiest(times: list[float], seconds: float) -> int:
    """The most of these moments within so many seconds."""
    return max(sum(first <= at <= first + seconds for at in times) for first in times)


@pytest.mark.row(1, "closes", least=1000, unit="cases")
@pytest.mark.row(1, "lists", most=0)
@pytest.mark.row(1, "rows unlike the server's", most=0)
@pytest.mark.row(1, "reconnects a second", most=1)
async def test_a_watch_that_ends_goes_on_where_it_was(
    server: FakeServer, watcher: Watcher, clock: ManualClock, figure: Tell
) -> None:
    """Half of the streams live for minutes, half end at once; each brings changes, and more come between."""
    history, rng, closes = PodHistory(1), random.Random(2), whole(1000, 100)
    times: list[float] = []
    is_long = False

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal is_long
        if is_long:
            clock.advance(400)  # the stream before lived so long
        times.append(clock.monotonic())
        stands = len(times) > closes
        response = await begun(request)
        await response.write(history.asked(request))
        for _ in range(rng.randint(0, 3)):
            version = history.version
            history.change()
            await response.write(history.since(version))
        if rng.random() < 0.5:
            history.change()  # nobody is told of it before the next stream
        is_long = rng.random() < 0.5
        if stands:
            await response.write(history.since(int(request.query["resourceVersion"])))
            await server.over.wait()
        return response

    server.on(PATH, answer)
    await watcher.until(lambda: len(times) > closes and watcher.versions == history.state(), seconds=SECONDS)
    figure("closes", len(times) - 1)
    figure("lists", sum("sendInitialEvents" in query for query in server.queries(PATH)) - 1)
    figure("rows unlike the server's", len(watcher.versions.items() ^ history.state().items()))
    figure("reconnects a second", busiest(times, 10.0) / 10.0)


@pytest.mark.row(10, "hours", least=24, unit="cases")
@pytest.mark.row(10, "compactions", least=24 * 12, unit="cases")
@pytest.mark.row(10, "relists", most=0)
async def test_bookmarks_keep_a_quiet_watch_ahead_of_compactions(
    server: FakeServer, watcher: Watcher, clock: ManualClock, figure: Tell
) -> None:
    """Nothing of this kind changes for a day; the server's version moves on, and every five minutes what is
    older than these is compacted."""
    history, lasts, compactions = PodHistory(1), whole(24, 3) * 3600.0, 0
    start = clock.monotonic()

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal compactions
        response = await begun(request)
        await response.write(history.asked(request))
        ends = clock.monotonic() + int(request.query["timeoutSeconds"])
        while clock.monotonic() < ends:
            before = clock.monotonic() // 300
            clock.advance(60)
            if clock.monotonic() // 300 > before:
                history.forgotten_version = history.version
                compactions += 1
            history.version += 10  # other kinds change
            await response.write(bookmark(str(history.version)))
            await watcher.heard_at(clock.now())
        return response

    server.on(PATH, answer)
    await watcher.until(lambda: clock.monotonic() - start >= lasts, seconds=SECONDS)
    figure("hours", (clock.monotonic() - start) // 3600)
    figure("compactions", compactions)
    figure("relists", sum("sendInitialEvents" in query for query in server.queries(PATH)) - 1)
    assert watcher.versions == history.state()


LAGS = status(
    504,
    "Timeout",
    "Too large resource version: 99, current: 10",
    causes=[{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
    retryAfterSeconds=1,
)
ROUNDS = 20


@pytest.mark.row(5, "requests in 10 s", most=3)
@pytest.mark.row(5, "lists of what is known", most=0)
@pytest.mark.parametrize("as_event", [True, False], ids=["as an event", "as a status"])
@pytest.mark.parametrize("in_pages", [True, False], ids=["pages", "streaming list"])
async def test_a_server_that_lags_is_given_time(
    server: FakeServer, watcher: Watcher, clock: ManualClock, figure: Tell, as_event: bool, in_pages: bool
) -> None:
    """First it lags behind nothing, but lists fail; then it lags behind the version that is known."""
    lags = stream(event("ERROR", LAGS)) if as_event else reply(LAGS, 504, Retry_After="1")
    times: list[float] = []
    is_known = False

    async def answer(request: web.Request) -> web.StreamResponse:
        nonlocal is_known
        times.append(clock.monotonic())
        if in_pages and "sendInitialEvents" in request.query:
            return await refuse(422, "Invalid", "no")(request)
        if len(times) <= ROUNDS or (is_known and len(times) <= 2 * ROUNDS):
            return await (reply(LAGS, 504, Retry_After="1") if "limit" in request.query else lags)(request)
        if "limit" in request.query:
            is_known = True
            return await reply(listing(pod("a"), pod("b"), version="99"))(request)
        if "sendInitialEvents" in request.query:
            is_known = True
            return await stream(*INITIAL)(request)
        return await stream(stays=True)(request)

    server.on(PATH, answer)
    await watcher.until(lambda: watcher.phase is Phase.LIVE and len(times) > 2 * ROUNDS)
    known_from = next(at for at, query in enumerate(server.queries(PATH)) if "resourceVersion" in query)
    figure("requests in 10 s", busiest(times[1 if in_pages else 0 :], 10.0))
    figure(
        "lists of what is known",
        sum("resourceVersion" not in query for query in server.queries(PATH)[known_from:]),
    )
    assert watcher.names == ["a", "b"]
    told = {b.status.message for b in watcher.batches if b.status is not None}
    assert any("is behind (Too large resource version: 99" in message for message in told)
