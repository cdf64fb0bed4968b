"""Another writer changes the object, or puts another one in its place, at any moment of a verb of ours.

The server here guards nothing by itself: like the real one it refuses a stale uid or version only where the
write names one, so that a write that named none would be counted.
"""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.replan import Differs, carry_replanned
from cockpit.actions.execute.run_verb import Intent, Tried, What, carry_verb
from cockpit.actions.planner import NoOptions
from cockpit.actions.planning import Make, Planning
from cockpit.actions.verbs.job import KILL
from cockpit.clock import ManualClock
from cockpit.errors import CockpitError
from cockpit.kube.answer import ApiAnswer
from cockpit.model.job import Job
from cockpit.model.plan import Call, Plan
from tests.reliability.figures import Tell, whole
from tests.unit.actions.builders import Line, Lines, Reply, job, newer, refused, store_of
from tests.unit.actions.busy import VERBS, Busy, Tree

RACES = whole(10_000, 600)
FEW_WRITES, MANY_WRITES = 0.3, 0.9


def guard_of(call: Call) -> dict[str, str]:
    """The uid and version that a write names, as far as it names any."""
    found: dict[str, str] = (call.body or {}).get("preconditions") or (call.body or {}).get("metadata") or {}
    return found


class Racing(Busy):
    """Another writer is at it before each request of ours; counts what of its work ours went over."""

    def __init__(self, objects: dict[str, Tree], rng: random.Random) -> None:
        super().__init__(objects, writes=0)
        self.rng = rng
        self.often = rng.choice((FEW_WRITES, MANY_WRITES))
        self.known = {path: self._at(path) for path in self.objects}  # as our tables have them
        self.lost: list[str] = []

    def _at(self, path: str) -> tuple[str, str]:
        about = self.objects[path]["metadata"]
        return about["uid"], about["resourceVersion"]

    def _interfere(self, path: str) -> None:
        if path not in self.objects or self.rng.random() > self.often:
            return
        tree = self.objects[path]
        about = tree["metadata"]
        about["resourceVersion"] = str(int(about["resourceVersion"]) + 1)
        if self.rng.random() < 0.1:
            about["uid"] += "-of-another"
        elif self.rng.random() < 0.3 and isinstance(tree.get("spec", {}).get("replicas"), int):
            tree["spec"]["replicas"] += 1
        else:
            tree.setdefault("status", {})["seen"] = about["resourceVersion"]

    async def request(self, method: str, path: str, **more: Any) -> Any:
        self._interfere(path)
        if method == "GET" and path in self.objects:
            self.known[path] = self._at(path)
        return await super().request(method, path, **more)

    async def __call__(self, _session: Any, call: Call, *, dry_run: bool = False) -> None:
        path = call.path.removesuffix("/scale")
        self._interfere(path)
        uid, version = self._at(path)
        guard = guard_of(call)
        if guard.get("uid", uid) != uid:
            raise refused(409, "Conflict", f"Precondition failed: UID {guard['uid']}", path=call.path)
        if guard.get("resourceVersion", version) != version:
            raise newer()
        is_group = "/podgroups/" in path  # known by its uid: its scheduler writes it all the time
        if self.known[path][0] != uid or (self.known[path][1] != version and not is_group):
            self.lost.append(f"{call.method} {path}: known {self.known[path]}, was {(uid, version)}")
        self.done.append(call)


@pytest.mark.row(53, "lost updates", most=0)
@pytest.mark.row(53, "races", least=10_000, unit="cases")
@pytest.mark.row(53, "races that were lost and told", least=0.2)
def test_no_write_of_another_between_read_and_write_is_lost(figure: Tell) -> None:
    ends: Counter[str] = Counter()
    lost: list[str] = []
    names = list(VERBS)

    async def run(seed: int) -> None:
        make_of, objects = VERBS[names[seed % len(names)]]
        cluster = Racing(objects, random.Random(f"races/{seed}"))
        make: Make = make_of(cluster)
        shown = None
        try:
            shown = await make()
            outcome = await carry_replanned(shown, make, cluster, Lines(), ManualClock(0.0), perform=cluster)
            ends[outcome.state] += 1
        except Differs as error:
            assert error.changes, "what is different is told"
            ends["asked again"] += 1
        except CockpitError:
            ends["refused"] += 1
        lost.extend(cluster.lost)

    async def everything() -> None:
        for seed in range(RACES):
            await run(seed)

    asyncio.run(everything())
    figure("lost updates", len(lost))
    figure("races", sum(ends.values()))
    figure("races that were lost and told", (ends["refused"] + ends["asked again"]) / RACES)
    assert min(ends[one] for one in ("done", "refused", "asked again")) > 0, ends


# ---- another object of the same name


class Swapping(Line):
    """The server of one job, which is deleted and created again under its name at a moment that is drawn."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self.rng = rng
        self.uid = "uid-llm"
        self.seen_uid = self.uid  # as the watch has told by now
        self.moment = rng.randrange(8)
        self.is_seen_at_once = rng.random() < 0.5
        self.deleted: list[str] = []

    def pass_by(self) -> None:
        """One more moment is over."""
        self.moment -= 1
        if self.moment == 0:
            self.uid = "uid-of-another"
        if self.is_seen_at_once or self.rng.random() < 0.5:
            self.seen_uid = self.uid

    async def request(self, method: str, path: str, **more: Any) -> Any:
        self.pass_by()
        if "/mpijobs/" not in path:
            return await super().request(method, path, **more)
        about = {"name": "llm", "namespace": "team-a", "uid": self.uid, "resourceVersion": "41"}
        return ApiAnswer(200, "application/json", msgspec.json.encode({"kind": "MPIJob", "metadata": about}))

    async def perform(self, _session: Any, call: Call, *, dry_run: bool = False) -> Reply:
        self.pass_by()
        if guard_of(call).get("uid", self.uid) != self.uid:
            raise refused(409, "Conflict", "Precondition failed: UID in precondition", path=call.path)
        if not dry_run:
            self.deleted.append(self.uid)
        return Reply(200, {"kind": "Status", "status": "Success"})

    def job(self) -> Job:
        return job(uid=self.seen_uid, pod_uids=())


class Reader:
    """Reads what stands there, takes a while, and says yes; keeps whom it means."""

    asks_again = True

    def __init__(self, server: Swapping) -> None:
        self.server = server
        self.meant: set[str] = set()

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        self.server.pass_by()
        tried = await trial
        self.server.pass_by()
        if not tried.may_go_on:
            return None
        self.meant.update(guard_of(call)["uid"] for call in tried.face.calls)
        return tried


@pytest.mark.row(54, "wrong deletes", most=0)
@pytest.mark.row(54, "races", least=10_000, unit="cases")
@pytest.mark.row(54, "deletes of what was meant", least=1)
def test_what_took_the_name_of_a_job_is_never_deleted_for_it(
    figure: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: Counter[str] = Counter()
    wrong: list[tuple[int, str]] = []

    async def run(seed: int) -> None:
        server = Swapping(random.Random(f"names/{seed}"))
        reader = Reader(server)
        monkeypatch.setattr("cockpit.kube.calls.perform", server.perform)

        def fresh(*, reads: bool = False) -> Planning:
            found = server.job()
            return Planning(store_of(), server, lambda *_: None, "prod", {found.key: found}, reads=reads)

        first = server.job()
        wish = Intent(KILL, (first,), NoOptions())
        told = ""
        with contextlib.suppress(CockpitError):
            done = await carry_verb(wish, fresh, Lines, ManualClock(0.0), asker=reader)
            told = "" if done is None else done.outcome.state
        wrong.extend((seed, uid) for uid in server.deleted if uid != first.uid or uid not in reader.meant)
        ends["deleted" if server.deleted else told or "not done"] += 1

    async def everything() -> None:
        for seed in range(RACES):
            await run(seed)

    asyncio.run(everything())
    figure("wrong deletes", len(wrong))
    figure("races", sum(ends.values()))
    figure("deletes of what was meant", ends["deleted"])
    assert ends["deleted"] > RACES // 20 and RACES - ends["deleted"] > RACES // 20, ends
