"""Pods that stand on a broken node: it is drained, after the jobs on it or now."""

from collections.abc import Iterable
from typing import Final

from cockpit.gangs.wording import short
from cockpit.model.finding import Change, Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.triage import node_walk
from cockpit.triage.changes.offer import cockpit, node
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.wanted import job_of

_MOST_NODES: Final = 2


def drains(subject: Subject, view: ClusterView) -> tuple[Change, ...]:
    """Drains of the broken nodes that the subject is or stands on, as *Now* offers them. None is tried:
    no fit tells that a job starts elsewhere. () where the node is cordoned already or no pod on it holds a
    GPU."""
    found: list[Change] = []
    for name in list(dict.fromkeys(_nodes(subject, view)))[:_MOST_NODES]:
        one: Node | None = view.store.by_key(Kind.NODE, name)
        why = "" if one is None or not _has_work(one, view) else _wrong(one, view)
        if why:
            found += (
                _drain(name, f"after its jobs ({why})", "--after-job"),
                _drain(name, "now: the plan names every job that breaks"),
            )
    return tuple(found)


def _drain(name: str, how: str, *more: str) -> Change:
    # what nobody makes again and what is scratch goes too, as by the key: the plan lists both
    options = (*more, "--force", "--delete-emptydir-data")
    return Change(
        kind="drain_node_after" if more else "drain_node",
        words=f"drain node {short(name)} {how}",
        verb="node.drain",
        command=cockpit("node.drain", name, *options),
        target=node(name),
    )


def _has_work(one: Node, view: ClusterView) -> bool:
    """Whether it is open and something on it holds a GPU."""
    store = view.store
    is_going = one.unschedulable or node_stage(one, store) in (NodeStage.DRAINING, NodeStage.LEAVING)
    return not is_going and store.requests_on(one.name).gpus > 0


def _wrong(one: Node, view: ClusterView) -> str:
    found = node_walk.judge(one, view.store, view.now_seconds)
    return "" if found is None else found.sentence


def _nodes(subject: Subject, view: ClusterView) -> Iterable[str]:
    if subject.kind == "node":
        return (subject.name,)
    if subject.kind == "pod":
        pod: Pod | None = view.store.by_key(Kind.POD, subject.key)
        return () if pod is None else _under((pod,))
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    return () if job is None else _under(view.jobs.members(job.key))


def _under(pods: Iterable[Pod]) -> Iterable[str]:
    return (one.node for one in pods if one.node and not one.is_finished)
