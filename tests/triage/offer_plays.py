"""Every offer of a case done, each on the cluster as the cause left it: played anew on a bed, or loaded into
an embedded cluster."""

import asyncio
import copy
import json
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cockpit.model.finding import Change
from cockpit.sim.actors.kubelet.actor import MARK
from cockpit.sim.actors.kubelet.behaviour import PREFIX
from cockpit.sim.clock import DemoClock
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.manifests import GANG_SCHEDULER
from cockpit.sim.scenarios.schema import Scenario
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request
from cockpit.sim.server.run import Embedded
from cockpit.sim.server.storage import key_of
from cockpit.triage.changes.job_edits import pod_spec_places
from tests.adapters.threaded_server import threaded
from tests.bed.api import Api, ApiError
from tests.triage.applied import STARTED, STARTED_SMALLEST, OfferGround, outcome
from tests.triage.bed_stage import BedStage, Served
from tests.triage.bed_walls import put
from tests.triage.case import Case, Tree, row_of, row_order
from tests.triage.draw import Draw
from tests.triage.judge import Judgement, judged
from tests.triage.recorder import Asked, BedGround, beds, case_of, say, version_of
from tests.triage.shared_cluster import Clash

SPEED = 5.0
MOST_OF_A_PLAY = 3
"""Offers of one script on a bed: each is a play of its own."""
NOT_IMITATED = {
    "others-not-ready": "the embedded queue waits for nobody's readiness",
    "admission-gated": "the embedded queue knows no gates",
    "config-missing": "the embedded kubelet reads no ConfigMaps",
    "volume-not-mounted": "the embedded kubelet mounts nothing",
}
"""Rows whose component the embedded cluster does not play: their offers are not done."""


@dataclass(frozen=True)
class OfferPlay:
    """One offer and what came of it. `place` is the component that played it, with its version, or
    `embedded`; `wall` the second wall of its cluster, "" without one."""

    case: str
    row: str
    words: str
    outcome: str
    place: str
    wall: str = ""

    @property
    def is_applied(self) -> bool:
        """It was done."""
        return not self.outcome.startswith("not applied")

    @property
    def is_started(self) -> bool:
        """The job then started."""
        return self.outcome in (STARTED, STARTED_SMALLEST)

    def line(self) -> str:
        """For what did not go as it should."""
        return f"{self.place}, {self.case}: {self.words}: {self.outcome}"


_COLUMNS: Mapping[str, Callable[[OfferPlay], bool]] = {
    "offered": lambda one: True,
    "carried out": lambda one: one.is_applied,
    "started": lambda one: one.is_started,
    "with a second wall": lambda one: one.is_applied and bool(one.wall),
    "one less tried": lambda one: one.outcome.startswith(("TOO MUCH", STARTED_SMALLEST)),
    "one less started it": lambda one: one.outcome.startswith("TOO MUCH"),
}


def _counts(found: Sequence[OfferPlay]) -> list[int]:
    return [sum(map(is_so, found)) for is_so in _COLUMNS.values()]


def figures(found: Sequence[OfferPlay]) -> str:
    """`offered 120, carried out 110, started 110, ...`."""
    return ", ".join(f"{name} {count}" for name, count in zip(_COLUMNS, _counts(found), strict=True))


def by(found: Sequence[OfferPlay], key: Callable[[OfferPlay], str]) -> dict[str, list[OfferPlay]]:
    """The plays of each row, place or wall."""
    groups: dict[str, list[OfferPlay]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def last_of_each(plays: Iterable[OfferPlay]) -> list[OfferPlay]:
    """All but those of cases that were played again later: they count as they came out last."""
    found: dict[tuple[str, str], list[OfferPlay]] = {}
    before: dict[str, str] = {}
    for one in plays:
        if before.get(one.place) != one.case:
            found[one.place, one.case] = []
        found[one.place, one.case].append(one)
        before[one.place] = one.case
    return [one for of_case in found.values() for one in of_case]


def page(found: Sequence[OfferPlay], seed: str) -> str:
    """Markdown: a line a place and wall, a line a row, and what was not done or did not start the job."""
    rows = by(found, lambda one: one.row)
    places = sorted(by(found, lambda one: one.place).items())
    walls = sorted(by(found, lambda one: one.wall or "none").items())
    lines = [
        "# Offers done",
        "",
        f"Written by `python -m tests.triage offers --keep`, seed {seed}.",
        "",
        "Nodes that come, or come back, are played by kwok. Members of a group that volcano let in are",
        "placed by the default scheduler: nobody plays volcano. *One less*: an offer with a number (quota,",
        "nodes, size) was done with one less of it first, by which the job must not start.",
        "",
        *_table("where", [("all", [*found]), *places]),
        "",
        *_table("second wall", walls),
        "",
        *_table("row", [(row, rows[row]) for row in sorted(rows, key=row_order)]),
        "",
        *(f"- {one.line()}" for one in found if not one.is_started),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _table(head: str, rows: Sequence[tuple[str, Sequence[OfferPlay]]]) -> Iterator[str]:
    yield f"| {head} | {' | '.join(_COLUMNS)} |"
    yield "| --- |" + " ---: |" * len(_COLUMNS)
    for name, plays in rows:
        yield f"| {name} | {' | '.join(map(str, _counts(plays)))} |"


def starting(one: Judgement) -> list[Change]:
    """Offers that are said to start the job; what only takes the first blocker away is not done."""
    return [change for change in one.verdict.changes if change.is_checked]


# ---- on a bed


def played_on_beds(asked: Sequence[tuple[Asked, str]]) -> Iterator[OfferPlay]:
    """Each script played once for each of its offers, behind a second wall where one is named."""
    with beds() as bed_for:
        for one, wall in asked:
            number, most = 0, 1
            while number < most:
                begun = time.monotonic()
                ground = bed_for(one)
                place = version_of(one.script.source, ground.programs)
                try:
                    found, most = _on_bed(one, wall, ground, number)
                except Clash:
                    break
                except (TimeoutError, ApiError) as error:
                    told = f"not applied: no play: {error}"
                    found = [OfferPlay(one.name, one.script.row, "", told, place, wall)]
                for play in found:
                    say(f"{play.line()} ({wall or 'no wall'}, {time.monotonic() - begun:.1f} s)")
                yield from found
                number += 1


def _on_bed(one: Asked, wall: str, ground: BedGround, number: int) -> tuple[list[OfferPlay], int]:
    """The offer of that number done, and how many there are."""
    draw = Draw(one.script.name, one.seed, has_second=one.has_second)
    stage = BedStage(ground.api, ground.served, draw)
    try:
        expected = one.script.play(stage)
        if wall:
            put(wall, stage, expected.subject)
        place = version_of(one.script.source, ground.programs)
        case = case_of(one.script, one.seed, expected, stage.objects(), time.time(), place)
        (verdict,) = judged([case])
        offers = starting(verdict)
        if number >= len(offers):
            return [], len(offers)
        where = OfferGround(ground.api, ground.served, ground.kubeconfig, ground.kubectl)
        told = outcome(offers[number], case.file.subject, where)
        name = f"{case.name}+{wall}" if wall else case.name
        play = OfferPlay(name, one.script.row, offers[number].words, told, place, wall)
        return [play], min(len(offers), MOST_OF_A_PLAY)
    finally:
        stage.close()


# ---- on an embedded cluster


def played_embedded(cases: Sequence[Case], wall: str = "") -> Iterator[OfferPlay]:
    """Each offer of these cases done on an embedded cluster that holds the case's objects; `wall` is the
    second wall that stands in it."""
    for one in judged(cases):
        row = row_of(one.case.file.recorded.script)
        why_not = NOT_IMITATED.get(row) or _strange_scheduler(one.case)
        for offer in starting(one):
            told = f"not applied: {why_not}"
            if not why_not:
                with embedded(one.case) as ground:
                    told = outcome(offer, one.case.file.subject, ground)
            play = OfferPlay(one.case.name, row, offer.words, told, "embedded", wall)
            say(play.line())
            yield play


@contextmanager
def embedded(case: Case) -> Iterator[OfferGround]:
    """A cluster that lives, with the objects of a case in it; its time runs faster than ours."""
    clock = DemoClock()

    @asynccontextmanager
    async def alive(server: Embedded) -> AsyncIterator[None]:
        scenario = Scenario(name="case", title=case.name, native_gangs=True)
        cluster = EmbeddedCluster(scenario, server.operations, clock, Random(1))
        cluster.install()
        _load(server.operations, case)
        await cluster.engine.start()
        clock.release(SPEED)
        turning = asyncio.create_task(cluster.engine.run())
        try:
            yield
        finally:
            turning.cancel()
            with suppress(asyncio.CancelledError):
                await turning
            await cluster.engine.stop()

    with (
        tempfile.TemporaryDirectory(prefix="cockpit-offers-") as name,
        threaded(Path(name), clock, Random(1), around=alive) as work,
    ):
        server = work.server
        api = Api(server.url, server.tokens["admin"], server.ca_file)
        yield OfferGround(api, Served(api), server.kubeconfig)


_SCHEDULERS = ("", "default-scheduler", "gang-scheduler", "volcano")


def _strange_scheduler(case: Case) -> str:
    """Why nobody would place its pods here, "" where somebody would."""
    names = {one["spec"].get("schedulerName", "") for one in case.objects.get("pods", ())}
    strange = sorted(names - {*_SCHEDULERS})
    return f"nobody plays the scheduler {strange[0]} here" if strange else ""


def _load(operations: Operations, case: Case) -> None:
    """The objects as they are, uids too; kinds that are not served here are left out. Jobs that a fixture
    wrote are created, because they lack what a server adds, and what names them names them then."""
    known = json.loads(json.dumps(case.objects))
    known.pop("events", None)
    for label in dict.fromkeys((*_FIRST, *known)):
        for one in known.get(label, ()):
            kind = operations.kinds.by_kind(one["apiVersion"], one["kind"])
            if kind is None:
                continue
            _completed(one)
            metadata = one["metadata"]
            space, name = metadata.get("namespace", ""), metadata["name"]
            if label == "jobs.batch" and "selector" not in one["spec"]:
                request = Request(resource=kind.resource, namespace=space, verb="create")
                bare = {"name": name, "namespace": space, "labels": metadata.get("labels") or {}}
                operations.create(request, {**one, "metadata": bare, "status": {}})
                stored = operations.storage.get(kind.resource, space, name)
                assert stored is not None
                text = json.dumps(known).replace(metadata["uid"], stored.tree["metadata"]["uid"])
                known.update(json.loads(text))
                continue
            operations.storage.put(kind.resource, key_of(space, name), copy.deepcopy(one))


_FIRST = ("namespaces", "jobs.batch")


def _completed(tree: Tree) -> None:
    """What this cluster's own kubelets and schedulers go by: what runs goes on. Nobody plays volcano: the
    default scheduler places the members of a group that volcano let in already."""
    if tree["kind"] == "Pod" and (tree.get("status") or {}).get("phase") == "Running":
        held = tree["metadata"].get("annotations") or {}
        tree["metadata"]["annotations"] = {**held, f"{PREFIX}duration": "forever"}
    if tree["kind"] == "Node":
        held = tree["metadata"].get("annotations") or {}
        tree["metadata"]["annotations"] = {**held, MARK: "simulated"}
    for place in pod_spec_places(tree):
        if place.spec.get("schedulerName") in _PLAYED_BY:
            dict_of(place.spec)["schedulerName"] = _PLAYED_BY[place.spec["schedulerName"]]


_PLAYED_BY = {"gang-scheduler": GANG_SCHEDULER, "volcano": "default-scheduler"}


def dict_of(tree: object) -> Tree:
    """The mapping itself, which may be written to."""
    assert isinstance(tree, dict)
    return tree
