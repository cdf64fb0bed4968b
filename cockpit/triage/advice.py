"""What would start the subject of a finding, and when it starts without that; the drain of a broken node
that it stands on, after the jobs on it or now."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from cockpit.catalogue import Cause, Trait, is_a
from cockpit.gangs.wording import short
from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.job import JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage import node_walk, wanted
from cockpit.triage.changes.offer import cockpit, node
from cockpit.triage.changes.smallest import changes_for
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import decided_by, job_behind, of_job
from cockpit.triage.expected_start import expected_start, runs_seen
from cockpit.triage.pool_walk import jobs_waiting
from cockpit.triage.wanted import job_of

_MOST_NODES: Final = 2


def drains(subject: Subject, view: ClusterView) -> tuple[Change, ...]:
    """Drains of the broken nodes that the subject is or stands on, as *Now* offers them. None is tried:
    no fit tells that a job starts elsewhere. () where the node is cordoned already or no pod on it holds a
    GPU."""
    found: list[Change] = []
    for name in list(dict.fromkeys(_nodes_under(subject, view)))[:_MOST_NODES]:
        one: Node | None = view.store.by_key(Kind.NODE, name)
        has_work = one is not None and _has_work(one, view)
        broken = node_walk.judge(one, view.store, view.now_seconds) if one is not None and has_work else None
        if broken is not None and broken.sentence:
            found.append(_drain(name, f"after its jobs ({broken.sentence})", "--after-job"))
            found.append(_drain(name, "now: the plan names every job that breaks"))
    return tuple(found)


def _drain(name: str, how: str, *more: str) -> Change:
    # what nobody makes again and what is scratch goes too, as by the key: the plan lists both
    options = (*more, "--force", "--delete-emptydir-data")
    kind, words = "drain_node_after" if more else "drain_node", f"drain node {short(name)} {how}"
    command = cockpit("node.drain", name, *options)
    return Change(kind=kind, words=words, verb="node.drain", command=command, target=node(name))


def _has_work(one: Node, view: ClusterView) -> bool:
    store = view.store
    is_going = one.unschedulable or node_stage(one, store) in (NodeStage.DRAINING, NodeStage.LEAVING)
    return not is_going and store.requests_on(one.name).gpus > 0


def _nodes_under(subject: Subject, view: ClusterView) -> Iterable[str]:
    if subject.kind == "node":
        return (subject.name,)
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        return () if pod is None else _under((pod,))
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    return () if job is None else _under(view.jobs.members(job.key))


def _under(pods: Iterable[Pod]) -> Iterable[str]:
    return (one.node for one in pods if one.node and not one.is_finished)


def advised(verdict: Finding, view: ClusterView) -> Finding:
    """The verdict with the smallest changes that start its subject, and when it starts without them; where
    none does and it stands on a broken node, or is one, with the drain of that."""
    job = job_behind(verdict.subject, view)
    is_waiting = verdict.subject.kind in ("job", "gang", "pod") and verdict.is_trouble
    if not is_waiting or (job is not None and job.state in JobState.ENDED):
        # it can be made to run again
        ran = verdict.cause == Cause.DEADLINE or is_a(verdict.cause, Trait.FINAL)
        grows = _growing(verdict.subject, view) if verdict.subject.kind == "pool" else ()
        changes = grows or (changes_for(verdict, view) if ran else drains(verdict.subject, view))
        return replace(verdict, changes=changes) if changes else verdict
    asked = replace(verdict, subject=decided_by(verdict.subject, view))
    demand = wanted.Demand(asked.subject, view)
    changes = changes_for(asked, view, demand=demand) or drains(verdict.subject, view)
    expected = expected_start(asked.subject, view, runs_seen(view), demand=demand)
    return replace(verdict, changes=changes, expected=expected)


def _growing(pool: Subject, view: ClusterView) -> tuple[Change, ...]:
    """What grows the pool so that the first of those starts that wait for it."""
    for job in jobs_waiting(pool, view):
        changes = advised(of_job(job, view), view).changes
        if found := tuple(one for one in changes if one.target == pool):
            return found
    return ()
