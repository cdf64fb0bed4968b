"""Growths of the real Karpenter as they were watched (`tests.bed.record_growth`), through decoders, store and
ladder: after each message the stamps are those of the objects, and no step is told before it was reached."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.record import Kind
from cockpit.pools.failures import failures_of
from cockpit.pools.index import pool_named
from cockpit.pools.ladder import Ladder, Rung, growth
from cockpit.pools.owner import FailureClass
from cockpit.pools.sightings import Sightings, kept_events
from cockpit.store.store import Store
from tests.triage.world import streams

RECORDINGS = Path(__file__).parent / "recordings"
Tree = dict[str, Any]
Message = Tree
"""{at, collection, type, object}."""


def messages(story: str) -> list[Message]:
    file = RECORDINGS / f"karpenter-{story}.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class Replay:
    """The store after each message, as the feed fills it, and the raw objects beside it."""

    def __init__(self, story: str) -> None:
        self.messages = messages(story)
        self.store, self.seen = Store(), Sightings()
        self.objects: dict[str, dict[str, Tree]] = {}
        self.gpus_at: dict[str, float] = {}
        """Arrival of the first message in which a node, by uid, has GPUs: no object dates that."""
        self._decoders = streams({one["collection"]: [one["object"]] for one in self.messages})
        for collection in {one["collection"] for one in self.messages}:
            kind = self._decoders[collection].kind
            status = StreamStatus(kind=kind, phase=Phase.LIVE, since_seconds=self.messages[0]["at"])
            self.store.apply(Batch(kind=kind, scope=self._scope(collection), status=status))

    def _scope(self, collection: str) -> str:
        gathered = (Kind.POOL, Kind.POD_GROUP, Kind.MACHINE)
        return collection if self._decoders[collection].kind in gathered else ""

    def steps(self) -> Iterator[float]:
        """Epoch seconds of each message, once it is in the store."""
        for one in self.messages:
            collection, tree = one["collection"], one["object"]
            decoder, uid = self._decoders[collection], tree["metadata"]["uid"]
            there = self.objects.setdefault(collection, {})
            if one["type"] == "DELETED":
                there.pop(uid, None)
                batch = Batch(kind=decoder.kind, scope=self._scope(collection), removed=(uid,))
            else:
                there[uid] = tree
                if collection == "nodes" and tree["status"]["allocatable"].get("nvidia.com/gpu"):
                    self.gpus_at.setdefault(uid, one["at"])
                record = decoder.from_json(json.dumps(tree).encode())
                assert record is not None
                batch = Batch(kind=decoder.kind, scope=self._scope(collection), changed=(record,))
            self.store.apply(batch)
            if decoder.kind == Kind.EVENT and (kept := kept_events(batch, self.store)) is not None:
                self.store.apply(kept)  # as the attachment does
            self.seen.note(self.store.records(Kind.NODE).values(), one["at"])
            yield one["at"]

    def ladder(self, pool: str, now_seconds: float) -> Ladder | None:
        return growth(pool_named(self.store, pool), self.store, now_seconds, seen=self.seen)

    def claim(self, name: str) -> Tree | None:
        trees = self.objects.get("nodeclaims.karpenter.sh", {}).values()
        return next((one for one in trees if one["metadata"]["name"] == name), None)

    def node(self, provider_id: str) -> Tree | None:
        trees = self.objects.get("nodes", {}).values()
        return next((one for one in trees if one["spec"].get("providerID", "") == provider_id), None)

    def expected(self, claim: Tree) -> dict[Rung, float | None]:
        """The steps that the objects say were reached, by the times that they carry."""
        said = {one["type"]: one for one in claim.get("status", {}).get("conditions") or []}

        def since(condition: str) -> float | None:
            one = said.get(condition, {})
            return seconds(one["lastTransitionTime"]) if one.get("status") == "True" else None

        found: dict[Rung, float | None] = {Rung.ACCEPTED: seconds(claim["metadata"]["creationTimestamp"])}
        if since("Launched") is not None:
            found[Rung.LAUNCHED] = since("Launched")
        node = self.node(claim.get("status", {}).get("providerID", "none yet"))
        if node is None:
            return found
        found[Rung.JOINED] = seconds(node["metadata"]["creationTimestamp"])
        conditions = {one["type"]: one for one in node["status"].get("conditions") or []}
        if conditions.get("Ready", {}).get("status") == "True":
            found[Rung.READY] = seconds(conditions["Ready"]["lastTransitionTime"])
        if Rung.READY in found and int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)):
            found[Rung.GPUS_UP] = max(since("Initialized") or 0.0, self.gpus_at[node["metadata"]["uid"]])
        return found


def checked(replay: Replay, pool: str) -> dict[Rung, float]:
    """Every ladder of the story held against the objects; when each step was first told, by arrival."""
    first: dict[Rung, float] = {}
    for now in replay.steps():
        if not replay.store.records(Kind.POOL):
            continue
        told = replay.ladder(pool, now)
        for machine in told.machines if told is not None else ():
            claim = replay.claim(machine.name)
            assert claim is not None, "a ladder of a machine that is gone"
            expected = replay.expected(claim)
            for step in (Rung.ACCEPTED, Rung.LAUNCHED, Rung.JOINED, Rung.READY, Rung.GPUS_UP):
                later = [one for one in expected if list(Rung).index(one) >= list(Rung).index(step)]
                assert machine.has(step) == bool(later), (step, now)
                stamp = expected.get(step)
                if stamp is not None:
                    assert machine.at(step) == stamp, (step, now)
                if machine.has(step):
                    first.setdefault(step, now)
    return first


def test_demand_makes_one_machine_come_and_go() -> None:
    replay = Replay("by-demand")
    first = checked(replay, "burst")
    in_order = [Rung.ACCEPTED, Rung.LAUNCHED, Rung.JOINED, Rung.READY, Rung.GPUS_UP]
    times = [first[step] for step in in_order]
    assert times == sorted(times)
    assert first[Rung.GPUS_UP] - first[Rung.READY] >= 2, "the driver's gap is a stage of its own"
    assert not replay.store.records(Kind.NODE) and not replay.store.records(Kind.MACHINE)


def test_a_scaled_pool_is_stamped_machine_by_machine() -> None:
    replay = Replay("by-scale")
    most = 0
    for now in replay.steps():
        if replay.store.records(Kind.POOL) and (told := replay.ladder("steady", now)) is not None:
            most = max(most, told.wanted)
    assert most == 2
    first = checked(again := Replay("by-scale"), "steady")
    assert first[Rung.GPUS_UP] - first[Rung.READY] >= 1, "initialized is not the same as having GPUs here"
    assert len(again.store.records(Kind.NODE)) == 1


def test_a_stockout_outlives_the_claims_that_failed() -> None:
    replay = Replay("sold-out")
    seen = {}
    for now in replay.steps():
        if not replay.store.records(Kind.POOL):
            continue
        pool = pool_named(replay.store, "scarce")
        for one in failures_of(pool, replay.store, now):
            seen[one.kind] = one
    assert FailureClass.STOCKOUT in seen
    assert seen[FailureClass.STOCKOUT].sentence and seen[FailureClass.STOCKOUT].remedy


@pytest.mark.parametrize("story", ["by-demand", "by-scale", "sold-out"])
def test_a_recording_holds_what_nobody_edited(story: str) -> None:
    found = messages(story)
    assert [one["at"] for one in found] == sorted(one["at"] for one in found)
    assert not any("managedFields" in one["object"]["metadata"] for one in found)
