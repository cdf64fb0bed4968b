"""A Prometheus that hangs in the middle of a round: soon told, and never called live meanwhile."""

import asyncio
from typing import Any

import pytest

from cockpit.model.batch import Batch, Phase
from cockpit.model.record import Kind
from cockpit.telemetry.faults import Unheard
from cockpit.telemetry.focus import Focus, RefreshPace
from cockpit.telemetry.history import AGAIN_SECONDS, Past
from cockpit.telemetry.poller import BESIDES_AGAIN_SECONDS, Poller
from cockpit.telemetry.prometheus import TIMEOUT_SECONDS
from cockpit.telemetry.source import MANY_CARDS, PrometheusSource
from tests.unit.telemetry.builders import NOW, A, Row, SmallCluster, card_a, family, node, pod
from tests.unit.telemetry.test_poller import Scripted

INTERVAL_SECONDS = 5.0
LOOKS = {
    "now": Focus(past=Past(key="fleet/duty", gpu_nodes=1)),
    "job": Focus(pods=("uid-team-a-w-0",), past=Past(key="job/llm", pods=(("team-a", "w-0"),))),
    "node": Focus(nodes=("gpu-1",), details=("gpu-1",), past=Past(node="gpu-1")),
    "queues": Focus(RefreshPace.SLOW),
}


class Hanging(Scripted):
    """Answers so many questions; from then on each costs the asker its patience."""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.rows: list[Row] = family(A, card_a(0))
        self.answers = answers
        self.hung_at: float | None = None
        self.given_up = 0

    def _answer(self) -> None:
        if self.answers > 0:
            self.answers -= 1
            return
        if self.hung_at is None:
            self.hung_at = self.clock.now()
        self.given_up += 1
        self.clock.advance(TIMEOUT_SECONDS)
        raise Unheard("Prometheus at test did not answer within 20 s; it may be overloaded.")

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        self._answer()
        return await super().query(promql, at_seconds)

    async def query_range(self, *asked: Any) -> list[Any]:
        self._answer()
        return []


class Beside(Scripted):
    """Answers all but the last hour, for which it never has the time."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = family(A, card_a(0))
        self.ranges = 0

    async def query(self, promql: str, at_seconds: float | None = None) -> list[Any]:
        if promql.startswith("label_replace"):
            labels = {"pod": "w-0", "namespace": "team-a", "cockpit_use": "cpu_cores"}
            return [{"metric": labels, "value": [NOW, "2.5"]}]
        return await super().query(promql, at_seconds)

    async def query_range(self, *asked: Any) -> list[Any]:
        self.ranges += 1
        self.clock.advance(TIMEOUT_SECONDS)
        raise Unheard("Prometheus at test did not answer within 20 s; it may be overloaded.")


def poller_of(
    asked: Scripted,
    look: Focus,
    told: list[tuple[float, Phase]],
    *,
    many_cards: int = MANY_CARDS,
    gone: list[str] | None = None,
) -> Poller:
    """A poller on the clock of `asked`; `told` gets the phases and when they were told, `gone` the pods whose
    use is known no more."""

    def sink(batch: Batch) -> None:
        if batch.kind == Kind.POD_USE and gone is not None:
            gone.extend(batch.removed)
        if batch.kind == Kind.GPU and batch.status is not None:
            told.append((asked.clock.now(), batch.status.phase))

    async def sleep(seconds: float) -> None:
        asked.clock.advance(seconds)
        await asyncio.sleep(0)

    return Poller(
        PrometheusSource(asked, many_cards),
        sink,
        asked.clock,
        SmallCluster([node()], [pod("w-0")]),
        interval_seconds=INTERVAL_SECONDS,
        sleep=sleep,
        looking=lambda: look,
        many_cards=many_cards,
        remember=lambda _: None,
    )


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("answers", range(16))
@pytest.mark.parametrize("many_cards", [1, MANY_CARDS], ids=["large", "small"])
async def test_a_hang_is_told_soon_wherever_in_a_round_it_begins(
    many_cards: int, answers: int, name: str
) -> None:
    asked, told = Hanging(answers), list[tuple[float, Phase]]()
    await poller_of(asked, LOOKS[name], told, many_cards=many_cards).run(most_failures=1)
    assert asked.hung_at is not None
    seconds, phase = told[-1]
    assert phase is Phase.BACKING_OFF
    # one question beside the cards, the plain pause, and the cards themselves
    assert seconds - asked.hung_at <= TIMEOUT_SECONDS + INTERVAL_SECONDS + TIMEOUT_SECONDS
    assert asked.given_up <= 2
    assert [one for one in told if one[0] > asked.hung_at + TIMEOUT_SECONDS and one[1] is Phase.LIVE] == []


async def test_an_hour_that_is_never_told_costs_no_number_of_now_and_is_asked_for_now_and_then() -> None:
    asked, told, gone = Beside(), list[tuple[float, Phase]](), list[str]()
    poller = poller_of(asked, LOOKS["job"], told, gone=gone)
    began = asked.clock.monotonic()
    pauses = []
    while asked.clock.monotonic() - began < 600.0:
        pauses.append(await poller.poll())
        asked.clock.advance(pauses[-1])
    assert {phase for _, phase in told} == {Phase.LIVE}
    assert set(pauses) == {INTERVAL_SECONDS}
    assert gone == [], "what is answered stays on the screen"
    assert 5 <= asked.ranges <= 600.0 / max(AGAIN_SECONDS, BESIDES_AGAIN_SECONDS) + 1


async def test_no_pause_is_longer_than_a_sample_stays_fresh() -> None:
    asked, told = Scripted(), list[tuple[float, Phase]]()
    asked.rows, asked.took_seconds = family(A, card_a(0)), 19.0
    assert await poller_of(asked, Focus(), told).poll() <= 60.0
