"""A recorded situation in the product's own store and job rows, by the decoders that the feed uses."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cockpit.catalogue import Permanence, lasts
from cockpit.gangs.kueue.verdict import verdict
from cockpit.gangs.standing import GangStanding, GangState
from cockpit.jobs.index import JobIndex
from cockpit.jobs.row import workload_of
from cockpit.kube.decode import decoders
from cockpit.model.batch import Batch, ListMark
from cockpit.model.gang import Workload
from cockpit.model.job import Job
from cockpit.model.record import Record
from cockpit.store.store import Store
from cockpit.triage.verdicts import Verdicts

RECORDED = Path(__file__).parent / "recorded"
DECODERS = {
    "workloads": decoders.WORKLOAD,
    "localqueues": decoders.LOCAL_QUEUE,
    "clusterqueues": decoders.CLUSTER_QUEUE,
    "jobs": decoders.JOB,
    "mpijobs": decoders.MPIJOB,
    "pods": decoders.POD,
    "nodes": decoders.NODE,
    "events": decoders.EVENT,
}

BLOCKED = "blocked"


def told_state(found: GangStanding) -> str:
    """The state; BLOCKED for one in line that waiting alone never helps."""
    if found.state == GangState.QUEUED and lasts(found.why) is not Permanence.PASSES:
        return BLOCKED
    return found.state


LATER_SECONDS = 4e9
"""Long after anything that was recorded."""


class World(NamedTuple):
    """`job` and `verdict` take the name of a job."""

    store: Store
    jobs: JobIndex

    def job(self, name: str) -> Job:
        return next(one for one in self.jobs.jobs.values() if one.name == name)

    def why(self, name: str) -> str:
        return Verdicts(self.store, self.jobs).of(self.job(name), LATER_SECONDS).sentence

    def workloads(self, name: str) -> tuple[Workload, ...]:
        return self.store.workloads_of(self.job(name).uid)

    def verdict(self, name: str) -> GangStanding:
        found = workload_of(self.store, self.job(name).uid)
        assert found is not None, f"no workload of {name}"
        return verdict(found, self.store)


@cache
def world(generation: str, situation: str) -> World:
    """What the controllers of that generation left behind."""
    trees = json.loads((RECORDED / generation / f"{situation}.json").read_text())
    store = Store()
    jobs = JobIndex(store)
    for name, decoder in DECODERS.items():
        made = [decoder.from_json(json.dumps(tree).encode()) for tree in trees.get(name, ())]
        records: tuple[Record, ...] = tuple(one for one in made if one is not None)
        store.apply(Batch(kind=decoder.kind, scope=name, mark=ListMark.BEGIN))
        store.apply(Batch(kind=decoder.kind, scope=name, changed=records))
        store.apply(Batch(kind=decoder.kind, scope=name, mark=ListMark.END))
    jobs.update(store.take_delta())
    return World(store, jobs)
