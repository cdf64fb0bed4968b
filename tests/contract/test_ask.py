"""Nodes asked for by demand: made on a server, seen by another cockpit, refused twice, and withdrawn."""

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest

from cockpit.actions.ask import AskTerms, ask_as_now, withdraw_as_now
from cockpit.actions.demand_reads import read_standing
from cockpit.actions.execute.run_verb import conduct
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, Unchanged
from cockpit.kube.decode.decoders import JOB, pool_decoder
from cockpit.kube.decode.times import from_text
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch
from cockpit.model.job import JobObject
from cockpit.model.plan import Plan
from cockpit.model.pod import POOL_MARK
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.capacity import PRIORITY, PRIORITY_CLASS, demand_name, priority_class
from cockpit.store.store import Store
from tests.bed.api import Api, Tree
from tests.contract.conftest import defined
from tests.contract.mirror import eventually
from tests.contract.test_pool_holds import Yes
from tests.contract.verb_objects import KINDS, loose
from tests.unit.actions.builders import Lines

NOW = 1_790_000_000.0
GPUS = "karpenter.k8s.aws/instance-gpu-count"


@pytest.fixture(scope="module")
def nodepools(admin: Api) -> Iterator[Resource]:
    with defined(admin, loose(KINDS["nodepools"])) as (resource,):
        yield resource


class Ground:
    """A dynamic NodePool at zero on the server, and cockpits that plan for it."""

    def __init__(self, admin: Api, space: str, kind: Resource) -> None:
        self.admin, self.space, self.kind, self.name = admin, space, kind, f"spot-{space}"
        template = {"metadata": {"labels": {GPUS: "8"}}, "spec": {}}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": self.name}}
        admin.create(kind.path(), {**body, "spec": {"template": template}})

    @property
    def ask(self) -> str:
        return demand_name(
            Pool(name=self.name, owner_group=self.kind.group, owner_kind="NodePool", owner_key=self.name)
        )

    def planning(self, session: ApiSession, who: str) -> Planning:
        store = Store()
        tree = self.admin.get(self.kind.path(name=self.name))
        record = pool_decoder(self.kind).from_json(msgspec.json.encode(tree))
        store.apply(Batch(kind=Kind.POOL, changed=(record,)))
        return Planning(store, session, lambda *_: None, "prod", pools=PoolTerms(self.space, NOW, who))

    async def conducted(self, session: ApiSession, who: str, nodes: int) -> Plan:
        """From the plan to its end: `nodes` 0 withdraws."""
        planning = self.planning(session, who)

        async def make(*, reads: bool = False) -> Plan:
            again = replace(planning, reads=reads)
            if not nodes:
                return await withdraw_as_now(again, self.name)
            return await ask_as_now(again, self.name, AskTerms(nodes=nodes))

        plan = await make()
        outcome = await conduct(plan, make, session, Lines, ManualClock(NOW), asker=Yes())
        assert outcome is not None and outcome.is_done, outcome
        return plan

    def jobs(self) -> list[Tree]:
        found: list[Tree] = self.admin.get(f"/apis/batch/v1/namespaces/{self.space}/jobs")["items"]
        return [one for one in found if not one["metadata"].get("deletionTimestamp")]


@pytest.fixture
def ground(admin: Api, space: str, nodepools: Resource) -> Iterator[Ground]:
    made = Ground(admin, space, nodepools)
    yield made
    admin.request("DELETE", nodepools.path(name=made.name))


async def test_placeholders_are_made_seen_refused_twice_and_withdrawn(
    ground: Ground, session: ApiSession
) -> None:
    await ground.conducted(session, "ada@one", 2)
    (job,) = ground.jobs()
    assert job["metadata"]["name"] == ground.ask
    spec = job["spec"]
    assert (spec["parallelism"], spec["completionMode"], spec["backoffLimitPerIndex"]) == (2, "Indexed", 0)
    pod = spec["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8"}
    assert pod["nodeSelector"] == {"karpenter.sh/nodepool": ground.name}
    record = JOB.from_json(msgspec.json.encode({"apiVersion": "batch/v1", "kind": "Job", **job}))
    assert isinstance(record, JobObject)
    assert (POOL_MARK, ground.ask) in record.labels, "by this it is no row of the jobs"
    assert pod["priorityClassName"] == PRIORITY_CLASS
    made = ground.admin.get(f"{priority_class().path}/{PRIORITY_CLASS}")
    assert (made["value"], made["preemptionPolicy"]) == (PRIORITY, "Never")

    read = await read_standing(session, lambda *_: None, ground.ask)
    (one,) = read.found
    begun = (job.get("status") or {}).get("startTime") or job["metadata"]["creationTimestamp"]
    assert (one.nodes, one.by, read.trouble) == (2, "ada@one", "")
    assert one.until_seconds is not None and one.until_seconds >= (from_text(begun) or 0.0) + 3_600

    with pytest.raises(BadInput, match="2 nodes are asked for already by ada@one"):
        await ask_as_now(ground.planning(session, "ada@one"), ground.name, AskTerms(nodes=1))
    assert len(ground.jobs()) == 1

    await ground.conducted(session, "ada@one", 0)
    await eventually(lambda: not ground.jobs(), "the placeholders are gone")
    with pytest.raises(Unchanged, match="nothing of the cockpit asks"):
        await withdraw_as_now(ground.planning(session, "ada@one"), ground.name)
