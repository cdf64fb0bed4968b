"""Drain: whom it evicts, what a person has to know before, and how it goes on once the node is cordoned."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.actions.drain.bill import MIRROR, bill_of, pod_on_node
from cockpit.actions.drain.plan import DrainOptions, plan_drain
from cockpit.actions.drain.run import DrainRun, DrainStatus, uid_of
from cockpit.actions.drain.stop import plan_stop
from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.kubectl import kubectl_lines
from cockpit.actions.planning import Planning
from cockpit.clock import SystemClock
from cockpit.errors import BadInput, Refused, Unchanged
from cockpit.model.batch import Batch
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.plan import Call, Outcome, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.refusal import StatusCause
from cockpit.model.scheduling import Traits
from cockpit.pools.drain_mark import DrainMark, mark_of, progress
from cockpit.store.store import Store
from tests.reliability.figures import Tell
from tests.unit.actions.builders import Lines, Reply, job, refused, store_of

HERE, THERE = "gpu-0", "gpu-1"
OWNERS = ("", "ReplicaSet", "Job", "StatefulSet", "MPIJob", "DaemonSet", "Node")
BUSY = {"reason": "DisruptionBudget", "message": "The disruption budget api needs 2 healthy pods and has 2"}


class Site:
    """A cluster of few nodes: the objects as the server has them, and the store that shows them."""

    def __init__(self, pods: Iterable[dict[str, Any]], jobs: Iterable[Job] = ()) -> None:
        self.context, self.server, self.user, self.read_only = "prod", "https://prod.example", "ann", False
        self.acts_as: None = None
        self.pods = {one["metadata"]["uid"]: one for one in pods}
        self.budgets: dict[str, dict[str, Any]] = {}
        self.node: dict[str, Any] = {
            "metadata": {"name": HERE, "uid": "n0", "resourceVersion": "1", "annotations": {}},
            "spec": {},
        }
        self.jobs = {one.key: one for one in jobs}
        self.store: Store = store_of()
        self.clock = Ticks()
        self.evicted: list[str] = []
        self.tried: list[str] = []
        self.happens: dict[int, Callable[[], None]] = {}
        self.look()

    # ---- as the cockpit sees it

    def look(self) -> None:
        pods = tuple(record(one) for one in self.pods.values())
        gone = tuple(uid for uid in self.store.records(Kind.POD) if uid not in self.pods)
        self.store.apply(Batch(kind=Kind.POD, changed=pods, removed=gone))
        self.store.apply(Batch(kind=Kind.NODE, changed=(self.known,)))

    @property
    def known(self) -> Node:
        meta = self.node["metadata"]
        return Node(
            uid="n0", name=HERE, resource_version=meta["resourceVersion"],
            annotations=tuple(sorted(meta["annotations"].items())),
            unschedulable=bool(self.node["spec"].get("unschedulable")),
        )  # fmt: skip

    @property
    def planning(self) -> Planning:
        session: Any = self
        return Planning(self.store, session, lambda *_: None, "prod", self.jobs, at_seconds=1e9)

    # ---- as the server has it

    async def request(self, method: str, path: str, **_query: Any) -> Reply:
        assert method == "GET"
        if path == "/api/v1/pods":
            return Reply(200, {"items": list(self.pods.values())})
        if "poddisruptionbudgets" in path:
            return Reply(200, {"items": [*{id(one): one for one in self.budgets.values()}.values()]})
        return Reply(200, self.node)

    async def perform(self, _session: Any, call: Call, /, *, dry_run: bool = False) -> Reply:
        if call.method == "PATCH":
            meta = self.node["metadata"]
            for key, value in call.body["metadata"].get("annotations", {}).items():
                meta["annotations"] = {**meta["annotations"], key: value}
                if value is None:
                    del meta["annotations"][key]
            self.node["spec"] = {**self.node["spec"], **call.body.get("spec", {})}
            self.look()
            return Reply(200, self.node)
        uid = uid_of(call)
        self.tried.append(uid)
        budget = self.budgets.get(uid)
        if budget is not None and not budget["status"]["disruptionsAllowed"]:
            raise refused(429, "TooManyRequests", "no", causes=(StatusCause(**BUSY),))
        self.evicted.append(uid)
        self.pods.pop(uid, None)
        self.look()
        return Reply(201, {})

    async def sleep(self, seconds: float) -> None:
        self.clock.seconds += seconds
        happens = self.happens.pop(int(self.clock.seconds), None)
        if happens is not None:
            happens()
            self.look()
        assert self.clock.seconds < 1000, "it never ends"

    async def drains(self, plan: Plan, audit: Lines | None = None) -> tuple[Outcome, list[DrainStatus]]:
        """Cordon it and go on to the end."""
        session: Any = self
        first = await carry_out(plan, session, audit or Lines(), self.clock, perform=self.perform)
        assert first.goes_on is not None, first.sentence
        told: list[DrainStatus] = []
        run = DrainRun(
            first.goes_on, session=session, store=self.store, audit=audit or Lines(), clock=self.clock,
            told=told.append, perform=self.perform, sleep=self.sleep,
        )  # fmt: skip
        return await run.go(), told


class Ticks(SystemClock):
    """A clock that goes on by sleeping alone."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def cluster_now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds


def tree(
    name: str,
    *,
    node: str = HERE,
    owner: str = "ReplicaSet",
    phase: str = "Running",
    gpus: int = 0,
    scratch: bool = False,
    mirror: bool = False,
    ending: bool = False,
    space: str = "team-a",
) -> dict[str, Any]:
    """A pod as the API server writes it; `gpus` is for its record."""
    meta: dict[str, Any] = {
        "name": name,
        "namespace": space,
        "uid": f"uid-{name}",
        "labels": {"app": name[:3]},
    }
    meta["annotations"] = {MIRROR: "x"} if mirror else {}
    if owner:
        meta["ownerReferences"] = [{"kind": owner, "name": "owner", "uid": "o", "controller": True}]
    if ending:
        meta["deletionTimestamp"] = "2026-01-27T14:00:00Z"
    volumes = [{"name": "scratch", "emptyDir": {}}] if scratch else []
    spec = {"nodeName": node, "volumes": volumes}
    return {"metadata": meta, "spec": spec, "status": {"phase": phase}, "gpus": gpus}


def record(one: Mapping[str, Any]) -> Pod:
    meta = one["metadata"]
    owner = (meta.get("ownerReferences") or [{}])[0]
    return Pod(
        uid=meta["uid"], name=meta["name"], namespace=meta["namespace"], node=one["spec"]["nodeName"],
        phase=one["status"]["phase"], gpus=one["gpus"], owner_kind=owner.get("kind", ""),
        deleting_seconds=1.0 if "deletionTimestamp" in meta else None,
        traits=Traits(labels=tuple(meta["labels"].items())),
    )  # fmt: skip


def gang(*nodes: str, name: str = "llm") -> tuple[list[dict[str, Any]], Job]:
    pods = [tree(f"{name}-{at}", node=node, owner="MPIJob", gpus=8) for at, node in enumerate(nodes)]
    return pods, job(name, pod_uids=tuple(one["metadata"]["uid"] for one in pods))


def planned(site: Site, **how: Any) -> Plan:
    return asyncio.run(plan_drain(site.planning, site.known, **{"force": True, "takes_scratch": True, **how}))


# ---- whom, whatever is there


@st.composite
def sites(draw: st.DrawFn) -> Site:
    pods = [
        tree(
            f"p{at}",
            node=draw(st.sampled_from((HERE, THERE, ""))),
            owner=draw(st.sampled_from(OWNERS)),
            phase=draw(st.sampled_from(("Running", "Pending", "Succeeded", "Failed"))),
            gpus=draw(st.sampled_from((0, 0, 8))),
            scratch=draw(st.booleans()),
            mirror=draw(st.integers(0, 9)) == 0,
            ending=draw(st.integers(0, 9)) == 0,
        )
        for at in range(draw(st.integers(0, 12)))
    ]
    uids = [one["metadata"]["uid"] for one in pods]
    jobs = [
        job(f"j{at}", pod_uids=tuple(draw(st.lists(st.sampled_from(uids), max_size=4, unique=True))))
        for at in range(draw(st.integers(0, 3)))
        if uids
    ]
    site = Site(pods, jobs)
    for uid in uids:
        if draw(st.integers(0, 3)) == 0:
            site.budgets[uid] = {
                "metadata": {"name": uid, "namespace": "team-a"},
                "spec": {"selector": {"matchLabels": {"app": uid.removeprefix("uid-")[:3]}}},
                "status": {"disruptionsAllowed": draw(st.integers(0, 1)), "expectedPods": 1},
            }
    return site


@settings(deadline=None, max_examples=150, derandomize=True)
@given(sites(), st.booleans())
def test_whatever_is_there_only_pods_of_the_node_go_and_no_gang_before_it_was_named(
    site: Site, after_job: bool
) -> None:
    before = dict(site.pods)
    try:
        plan = planned(site, after_job=after_job, longest_seconds=20.0)
    except (BadInput, Refused):
        assert not site.tried
        return
    broken = {
        uid
        for one in site.jobs.values()
        for uid in one.pod_uids
        if uid in {uid_of(call) for call in (plan.goes_on.evictions if plan.goes_on else ())}
        and sum(other in before and _lives(before[other]) for other in one.pod_uids) > 1
        and _lives(before[uid])
    }
    assert bool(broken) <= bool(plan.typed), "a gang would break, and no name is asked for"
    asyncio.run(site.drains(plan))
    for uid in site.tried:
        one = before[uid]
        owner = (one["metadata"].get("ownerReferences") or [{}])[0].get("kind", "")
        assert one["spec"]["nodeName"] == HERE
        assert owner not in ("DaemonSet", "Node") and MIRROR not in one["metadata"]["annotations"]
    if after_job and plan.goes_on is not None:
        waited = {uid for one in plan.goes_on.after for uid in one.pod_uids}
        assert not waited & set(site.tried), "the jobs that it waits for have not ended"
        assert not site.tried or not waited


def _lives(one: Mapping[str, Any]) -> bool:
    ended = one["status"]["phase"] in ("Succeeded", "Failed")
    return not ended and "deletionTimestamp" not in one["metadata"]


def test_what_kubectl_refuses_is_refused_with_its_flag() -> None:
    site = Site([tree("bare", owner=""), tree("db-0", owner="StatefulSet", scratch=True)])
    with pytest.raises(BadInput, match=r"team-a/bare \(--force\).*team-a/db-0 \(--delete-emptydir-data\)"):
        planned(site, force=False, takes_scratch=False)
    done = Site([tree("bare", owner="", phase="Succeeded", scratch=True)])
    assert "1 pod (1 finished) is evicted" in planned(done, force=False, takes_scratch=False).lines[0]


# ---- what is shown


def test_the_line_of_kubectl_says_what_the_plan_does() -> None:
    def line(**how: Any) -> str:
        site = Site([tree("web", owner="ReplicaSet")])
        return kubectl_lines(planned(site, **how))[0]

    plain = "kubectl drain --ignore-daemonsets"
    assert line(force=False, takes_scratch=False) == f"{plain} gpu-0"
    told = line(force=True, takes_scratch=True, grace_seconds=30, longest_seconds=600.0)
    assert told == f"{plain} --force --delete-emptydir-data --grace-period=30 --timeout=600s gpu-0"


def test_every_gang_that_breaks_is_named_with_what_idles_elsewhere() -> None:
    (pods, llm), (more, two) = gang(HERE, THERE), gang(HERE, HERE, name="tts")
    site = Site([*pods, tree("api-1"), tree("fluentd", owner="DaemonSet")], [llm])
    plan = planned(site)
    assert plan.warnings == (
        "breaks gang team-a/llm (MPIJob, 8 GPUs here): 8 GPUs on 1 other node would idle",
    )
    assert (plan.typed, plan.is_destructive) == ("llm", True)
    assert plan.lines == (
        "cordoned at once; 2 pods are evicted",
        "made again elsewhere: 1 of ReplicaSet team-a/owner",
        "stay: 1 of DaemonSets",
    )
    both = planned(Site([*pods, *more], [llm, two]))
    assert both.typed == HERE and len(both.warnings) == 2


def test_a_job_of_one_pod_is_told_and_takes_the_name_of_the_node() -> None:
    pods, one = gang(HERE, name="nb")
    plan = planned(Site(pods, [one]))
    assert plan.warnings == ("interrupts team-a/nb (MPIJob, 8 GPUs here): what it has not saved is lost",)
    assert plan.typed == HERE and plan.is_destructive


def test_after_the_job_nothing_of_it_is_lost() -> None:
    pods, llm = gang(HERE, THERE)
    plan = planned(Site([*pods, tree("api-1")], [llm]), after_job=True)
    assert (plan.title, plan.typed, plan.warnings) == (f"Drain node {HERE} after team-a/llm", HERE, ())
    assert plan.goes_on is not None and [uid_of(one) for one in plan.goes_on.evictions] == ["uid-api-1"]
    with pytest.raises(BadInput, match="no job with GPUs runs on node gpu-0"):
        planned(Site([tree("api-1")]), after_job=True)


def test_a_drained_node_is_left_alone() -> None:
    site = Site([tree("fluentd", owner="DaemonSet")])
    site.node["spec"]["unschedulable"] = True
    with pytest.raises(Unchanged, match="no pod is left on it"):
        planned(site)


def test_a_pod_that_the_tables_do_not_know_is_not_judged() -> None:
    site = Site([tree("api-1")])
    site.pods["uid-new"] = tree("new")
    with pytest.raises(Refused, match="pods came to it a moment ago"):
        planned(site)


@pytest.mark.parametrize("field", ["grace", "within"])
def test_a_time_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(BadInput, match=f"--{field}: 'soon' is no time; write for example 90s or 10m"):
        DrainOptions(grace="soon") if field == "grace" else DrainOptions(within="soon")


# ---- how it goes


def budget(site: Site, name: str, allowed: int) -> dict[str, Any]:
    """A budget of the pods api-1 and api-2."""
    made: dict[str, Any] = {
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"selector": {"matchLabels": {"app": "api"}}},
        "status": {"disruptionsAllowed": allowed, "expectedPods": 2},
    }
    site.budgets = {"uid-api-1": made, "uid-api-2": made}
    return made


@pytest.mark.row(18, "evictions while a budget allows none", most=0)
async def test_a_budget_delays_and_is_named_and_the_audit_stays_short(figure: Tell) -> None:
    site, audit = Site([tree("api-1"), tree("api-2"), tree("web-1")]), Lines()
    held = budget(site, "api", 0)
    plan = await plan_drain(site.planning, site.known)
    assert plan.warnings == ("budget team-a/api: 0 of 2 may be disrupted: 2 pods here have to wait",)
    site.happens[14] = lambda: held["status"].update(disruptionsAllowed=2)
    outcome, told = await site.drains(plan, audit)
    assert (outcome.state, outcome.sentence) == ("done", "Drained node gpu-0: 3 pods evicted")
    said = [one.sentence for one in told]
    assert "1 of 3 pods gone; waits for budget team-a/api: 0 of 2 may be disrupted" in said
    figure("evictions while a budget allows none", len(site.tried) - len(site.evicted))
    assert site.evicted == ["uid-web-1", "uid-api-1", "uid-api-2"]
    steps = [(one.verb, one.step, one.target, one.uid) for one in audit.entries]
    assert steps[:4] == [
        ("drain", "intent", "node gpu-0", "n0"),
        ("drain", "outcome", "node gpu-0", "n0"),
        ("drain", "intent", "pod team-a/web-1", "uid-web-1"),
        ("drain", "outcome", "pod team-a/web-1", "uid-web-1"),
    ]
    assert len(steps) == 8


async def test_who_gives_up_is_told_what_holds_it_and_what_stays() -> None:
    site = Site([tree("api-1"), tree("api-2")])
    budget(site, "api", 0)
    outcome, _ = await site.drains(await plan_drain(site.planning, site.known, longest_seconds=10.0))
    assert outcome.state == "refused" and not site.evicted
    assert outcome.sentence == (
        "Drain of node gpu-0 stopped: not done within 10 s;"
        " waits for budget team-a/api: 0 of 2 may be disrupted; 2 pods stay on it"
    )
    assert progress(site.known, msgspec.structs.replace(mark(site), pods=2), site.store) == "draining 0/2"


async def test_it_waits_for_the_job_and_begins_when_that_has_ended() -> None:
    pods, llm = gang(HERE, THERE)
    site = Site([*pods, tree("api-1")], [llm])
    plan = await plan_drain(site.planning, site.known, after_job=True)
    assert progress(site.known, DrainMark(id="x", after=("team-a/llm",)), site.store) != "drained"
    seen: list[str] = []

    def ends() -> None:
        seen.extend(site.tried)
        site.pods["uid-llm-0"]["status"]["phase"] = "Succeeded"

    site.happens[120] = ends
    outcome, _ = await site.drains(plan)
    assert outcome.is_done and seen == [] and site.evicted == ["uid-api-1"]
    assert site.node["spec"]["unschedulable"] is True


async def test_called_off_elsewhere_it_ends_and_evicts_nobody() -> None:
    pods, llm = gang(HERE, THERE)
    site = Site([*pods, tree("api-1")], [llm])
    plan = await plan_drain(site.planning, site.known, after_job=True)
    site.happens[30] = lambda: site.node["spec"].update(unschedulable=None)
    outcome, _ = await site.drains(plan)
    assert outcome.state == "refused" and "it was called off" in outcome.sentence
    assert not site.tried


async def test_another_drain_of_the_node_ends_this_one() -> None:
    site = Site([tree("api-1"), tree("api-2")])
    budget(site, "api", 0)
    other = DrainMark(id="other", by="bob@bastion", at="2026-01-27T14:02:00Z").annotations()
    site.happens[8] = lambda: site.node["metadata"].update(annotations=other)
    outcome, _ = await site.drains(await plan_drain(site.planning, site.known))
    assert "another drain of it was begun by bob@bastion at 14:02 UTC" in outcome.sentence


# ---- its end


def mark(site: Site) -> DrainMark:
    found = mark_of(site.known)
    assert found is not None
    return found


@pytest.mark.parametrize("was_cordoned", [False, True])
async def test_called_off_it_uncordons_only_what_it_cordoned(was_cordoned: bool) -> None:
    site = Site([tree("api-1"), tree("api-2")])
    budget(site, "api", 0)
    if was_cordoned:
        site.node["spec"]["unschedulable"] = True
        site.look()
    await site.drains(await plan_drain(site.planning, site.known, longest_seconds=5.0))
    assert mark(site).has_cordoned is not was_cordoned
    # a drain that goes on in another session knows who cordoned the node before the first
    await site.drains(await plan_drain(site.planning, site.known, longest_seconds=5.0))
    assert mark(site).has_cordoned is not was_cordoned
    plan = plan_stop(site.known, site.store)
    session: Any = site
    outcome = await carry_out(plan, session, Lines(), site.clock, perform=site.perform)
    assert outcome.is_done and site.node["metadata"]["annotations"] == {}
    assert bool(site.node["spec"]["unschedulable"]) is was_cordoned
    told = "it stays cordoned" if was_cordoned else "uncordoned"
    assert outcome.sentence == f"Stopped the drain of node gpu-0: 2 pods stay, {told}"
    with pytest.raises(Unchanged, match="node gpu-0 is in no drain"):
        plan_stop(site.known, site.store)


def test_the_pods_of_other_nodes_are_no_part_of_the_bill() -> None:
    bill = bill_of(HERE, map(pod_on_node, (tree("a"), tree("b", node=THERE), tree("c", ending=True))))
    assert ([one.name for one in bill.evicted], [one.name for one in bill.ending]) == (["a"], ["c"])
