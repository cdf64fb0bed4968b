"""One cycle: the heads of the queues against the quota that is left, and what becomes of each.

Facts: kueue v0.15 pkg/scheduler/scheduler.go. A cycle looks at one head of every queue: those that need not
borrow go first, then higher priority, then who came first; each sees what was given to those before it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from cockpit.sim.actors.queue.assignment import Assigner, Assignment, Mode
from cockpit.sim.actors.queue.preemption import Held, Preemptor, Target
from cockpit.sim.actors.queue.quota import Amounts, FlavorResource, Forest, Node
from cockpit.sim.actors.queue.spec import Ask, FlavorSpec, Holding, QueueSpec


class Outcome(StrEnum):
    """What a cycle decided about one head."""

    ADMIT = "admit"
    WAIT = "wait"
    PREEMPT = "preempt"
    SKIP = "skip"


class Decision(msgspec.Struct, frozen=True):
    """The outcome for one workload, with the sentence for its condition ("" when it is admitted)."""

    ask: Ask
    outcome: Outcome
    message: str
    assignment: Assignment
    targets: tuple[Target, ...] = ()


class _Entry(msgspec.Struct, frozen=True):
    ask: Ask
    assignment: Assignment
    targets: tuple[Target, ...]


def decide(
    forest: Forest,
    specs: Mapping[str, QueueSpec],
    flavors: Mapping[str, FlavorSpec],
    held: Held,
    heads: Sequence[Ask],
) -> list[Decision]:
    """Decisions in the order in which they were made. The usage in `forest` is left as it was."""
    before = forest.saved()
    entries = [_nominated(forest, specs[ask.queue], flavors, held, ask) for ask in heads]
    entries.sort(key=lambda one: (one.assignment.borrow, -one.ask.priority, one.ask.moment, one.ask.serial))
    going: dict[tuple[str, str], Target] = {}
    try:
        return [_settled(forest, specs[entry.ask.queue], entry, going) for entry in entries]
    finally:
        forest.restore(before)


def _nominated(
    forest: Forest,
    spec: QueueSpec,
    flavors: Mapping[str, FlavorSpec],
    held: Held,
    ask: Ask,
) -> _Entry:
    preemptor = Preemptor(forest.queues, spec, ask, held)
    assignment = Assigner(spec, forest.queues[spec.name], flavors, preemptor.oracle).assign(ask)
    targets: list[Target] = []
    if assignment.mode is Mode.PREEMPT:
        targets = preemptor.targets(assignment.usage, assignment.short)
    return _Entry(ask, assignment, tuple(targets))


def _settled(
    forest: Forest, spec: QueueSpec, entry: _Entry, going: dict[tuple[str, str], Target]
) -> Decision:
    ask, assignment = entry.ask, entry.assignment
    node = forest.queues[spec.name]
    wait = Decision(ask, Outcome.WAIT, assignment.message, assignment)
    if assignment.mode is Mode.NO_FIT:
        return wait
    if assignment.mode is Mode.PREEMPT and not entry.targets:
        if spec.reclaim != "Any":
            _reserve(node, assignment)
        return wait
    if any(target.holding.key in going for target in entry.targets):
        message = "Workload has overlapping preemption targets with another workload"
        return Decision(ask, Outcome.SKIP, message, assignment)
    if not _fits(forest, node, assignment.usage, (*going.values(), *entry.targets)):
        message = "Workload no longer fits after processing another workload"
        return Decision(ask, Outcome.SKIP, message, assignment)
    for key, amount in assignment.usage.items():
        node.add(key, amount)
    if assignment.mode is Mode.FIT:
        return Decision(ask, Outcome.ADMIT, "", assignment)
    going.update({target.holding.key: target for target in entry.targets})
    message = f"{assignment.message}. Pending the preemption of {len(entry.targets)} workload(s)"
    return Decision(ask, Outcome.PREEMPT, message, assignment, entry.targets)


def _reserve(node: Node, assignment: Assignment) -> None:
    """Keep for a workload that waits for room what is free of its own quota, so that none slips in."""
    for key, amount in assignment.usage.items():
        quota, used = node.quotas.get(key), node.usage.get(key, 0)
        nominal = node.nominal(key)
        if assignment.borrow > 0:
            limit = None if quota is None else quota.borrowing_limit
            kept = amount if limit is None else min(amount, nominal + limit - used)
        else:
            kept = max(0, min(amount, nominal - used))
        node.add(key, kept)


def _fits(
    forest: Forest,
    node: Node,
    usage: Mapping[FlavorResource, int] | Amounts,
    targets: Sequence[Target],
) -> bool:
    gone: list[Holding] = [target.holding for target in targets]
    for one in gone:
        for key, amount in one.usage.items():
            forest.queues[one.queue].remove(key, amount)
    fits = all(max(0, node.free(key)) >= amount for key, amount in usage.items())
    for one in reversed(gone):
        for key, amount in one.usage.items():
            forest.queues[one.queue].add(key, amount)
    return fits
