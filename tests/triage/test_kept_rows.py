"""Rows of *Now* that are kept from look to look are those that are built from nothing, whatever has moved."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.finding import Finding
from cockpit.model.record import Condition, Kind
from cockpit.store.store import Store
from cockpit.triage.attention import needs_human
from cockpit.triage.verdicts import RIPE_SECONDS, Verdicts
from tests.triage.night import Night, night
from tests.triage.world import store_of

STEPS, LOOKS = 50, 8
_PHASES = (Phase.LIVE, Phase.DENIED, Phase.BACKING_OFF, Phase.LIVE)
_REASONS = ("", "ContainerCreating", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError")


@pytest.fixture(scope="module")
def shift() -> Night:
    return night(5)


class Plays:
    """A cluster of many kinds of faults that comes, changes and goes by a seed."""

    def __init__(self, whole: Store, seed: int, now_seconds: float) -> None:
        self.rng = Random(seed)
        self.now_seconds = now_seconds
        self.store = Store()
        self.jobs = JobIndex(self.store)
        self.kept = Verdicts(self.store, self.jobs)
        self._whole = whole
        self._kinds = sorted({status.kind for status in whole.statuses().values()} | {Kind.POD, Kind.NODE})
        for status in whole.statuses().values():
            self.store.apply(Batch(kind=status.kind, scope=status.scope, status=status))
        for kind in self._kinds:
            self.store.apply(Batch(kind=kind, changed=tuple(whole.records(kind).values())))

    def step(self) -> None:
        kind = self.rng.choice([*self._kinds, Kind.POD, Kind.POD, Kind.NODE, Kind.WORKLOAD])
        play = self.rng.choice((self._come, self._come, self._change, self._go, self._flip))
        play(kind)
        self.jobs.update(self.store.take_delta())
        self.now_seconds += self.rng.choice((0.0, 0.5, 3.0, 9.0))

    def _some(self, records: Any) -> tuple[Any, ...]:
        every = list(records.values())
        return tuple(self.rng.sample(every, min(len(every), self.rng.choice((1, 5, 80)))))

    def _come(self, kind: str) -> None:
        """Also in the place of what was changed: it is mended, or has another owner again."""
        self.store.apply(Batch(kind=kind, changed=self._some(self._whole.records(kind))))

    def _go(self, kind: str) -> None:
        some = self._some(self.store.records(kind))[:8]
        self.store.apply(Batch(kind=kind, removed=tuple(_uid(kind, one) for one in some)))

    def _flip(self, kind: str) -> None:
        status = StreamStatus(kind=kind, phase=self.rng.choice(_PHASES), since_seconds=self.now_seconds)
        self.store.apply(Batch(kind=kind, status=status))

    def _change(self, kind: str) -> None:
        self.store.apply(
            Batch(kind=kind, changed=tuple(map(self._changed, self._some(self.store.records(kind)))))
        )

    def _changed(self, one: Any) -> Any:
        given: dict[str, Any] = {}
        fields = type(one).__struct_fields__
        if "unschedulable" in fields:
            ready = self.rng.choice(("True", "Unknown"))
            given = {"unschedulable": self.rng.random() < 0.3, "conditions": (Condition("Ready", ready),)}
        elif "waiting_reason" in fields and not one.is_finished:
            given = {"waiting_reason": self.rng.choice(_REASONS), "restarts": one.restarts + 1}
            given |= self.rng.choice(({}, {"deleting_seconds": self.now_seconds}, {"owner_uid": ""}))
        return replace(one, **given)

    def settled(self) -> tuple[Finding, ...]:
        """The kept rows, once each has had its turn."""
        self.now_seconds += RIPE_SECONDS
        for _ in range(LOOKS):
            self.now_seconds += 0.25
            found = needs_human(self.store, self.jobs, self.now_seconds, verdicts=self.kept)
        return found

    def from_nothing(self) -> tuple[Finding, ...]:
        return needs_human(self.store, self.jobs, self.now_seconds)


def _uid(kind: str, record: Any) -> str:
    return str(record.uuid if kind == Kind.GPU else record.uid)


def _shown(row: Finding) -> tuple[object, ...]:
    told = (row.sentence, row.cause, row.since_seconds, row.gpus, row.is_bad, row.others)
    return (row.key, row.root, *told, tuple(one.words for one in row.remedies))


@pytest.mark.parametrize("seed", range(2))
def test_kept_rows_are_those_built_from_nothing_after_any_changes(shift: Night, seed: int) -> None:
    whole, _ = store_of(shift.case)
    plays = Plays(whole, seed, shift.case.file.now)
    rows = 0
    for number in range(STEPS):
        plays.step()
        needs_human(plays.store, plays.jobs, plays.now_seconds, verdicts=plays.kept)
        if number % 5 == 0:
            kept, made = plays.settled(), plays.from_nothing()
            assert [_shown(row) for row in kept] == [_shown(row) for row in made], (seed, number)
            rows = max(rows, len(made))
    assert rows > 20, "changes of a cluster with much to tell"
