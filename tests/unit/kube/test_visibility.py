"""Places in line: how often they are asked for, and what a failure costs."""

from typing import Any

import pytest

from cockpit.clock import ManualClock
from cockpit.kube.session import ApiSession
from cockpit.kube.visibility import ABSENT_SECONDS, LONGEST_SECONDS, QueuePlaces
from cockpit.model.batch import Batch
from tests.unit.kube.builders import FakeServer, refuse, reply

ROOT = "/apis/visibility.kueue.x-k8s.io"
PATH = ROOT + "/{version}/clusterqueues/{queue}/pendingworkloads"


def placed(session: ApiSession, clock: ManualClock, queues: dict[str, int], sink: list[Batch]) -> QueuePlaces:
    lines: dict[str, dict[tuple[str, str], str]] = {
        queue: {("team", f"{queue}-{at}"): f"{queue}-{at}" for at in range(count)}
        for queue, count in queues.items()
    }
    return QueuePlaces(session, lambda: lines, sink.append, clock, path=PATH, versions=("v1",))


def line(queue: str) -> Any:
    item = {"metadata": {"namespace": "team", "name": f"{queue}-0"}, "positionInClusterQueue": 0}
    return reply({"items": [item]})


@pytest.mark.parametrize("queues", [1, 3, 40])
async def test_a_queue_is_asked_about_every_15_seconds_and_all_together_every_four(
    server: FakeServer, session: ApiSession, clock: ManualClock, queues: int
) -> None:
    names = [f"q{at:02}" for at in range(queues)]
    for name in names:
        server.on(PATH.format(version="v1", queue=name), line(name))
    batches: list[Batch] = []
    places = placed(session, clock, dict.fromkeys(names, 1), batches)
    start = clock.monotonic()
    while clock.monotonic() - start < 600:
        clock.advance(await places.step())
    counts = [server.count(PATH.format(version="v1", queue=name)) for name in names]
    assert max(counts) <= 600 / 15 + 1
    assert sum(counts) <= 600 * 0.25 + 1
    assert min(counts) >= 1, "none is forgotten"
    known = {place.uid for batch in batches for place in batch.changed}
    assert known == {f"{name}-0" for name in names}


async def test_a_failure_is_followed_by_longer_and_longer_pauses(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    server.on(
        PATH.format(version="v1", queue="q"), *[refuse(503, "ServiceUnavailable", "later")] * 7, line("q")
    )
    batches: list[Batch] = []
    places = placed(session, clock, {"q": 1}, batches)
    pauses: list[float] = []
    while not batches:
        pauses.append(await places.step())
        clock.advance(pauses[-1])
    failed = [pause for pause in pauses if pause > 4.0]
    assert failed == [8.0, 16.0, 32.0, 64.0, LONGEST_SECONDS, LONGEST_SECONDS, LONGEST_SECONDS]


async def test_a_page_of_html_is_a_failure_and_no_end(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    server.on(
        PATH.format(version="v1", queue="q"),
        reply("<html>log in</html>", content_type="text/html"),
        line("q"),
    )
    batches: list[Batch] = []
    places = placed(session, clock, {"q": 1}, batches)
    while not batches:
        clock.advance(await places.step())
    assert [place.position for place in batches[0].changed] == [1]


async def test_what_is_not_served_is_asked_for_once_a_minute(
    server: FakeServer, session: ApiSession, clock: ManualClock
) -> None:
    server.on(PATH.format(version="v1", queue="q"), refuse(404, "NotFound", "no such path"))
    assert await placed(session, clock, {"q": 1}, []).step() == ABSENT_SECONDS
