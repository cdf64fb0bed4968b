"""Stop and resume a queue, with what that takes off its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from cockpit.actions.address import Lookup
from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.read import read_tree
from cockpit.actions.rights import right_on
from cockpit.actions.shell import queue_line
from cockpit.actions.store_overlay import record_of
from cockpit.actions.suspend import served_version
from cockpit.errors import BadInput, NotFound
from cockpit.gangs import registry
from cockpit.gangs.engine import Queue, QuotaQueues
from cockpit.gangs.queue_line import waiting
from cockpit.kube.decode.decoders import engine_decoder
from cockpit.model.contender import Contender
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.model.right import Right, Ways
from cockpit.model.session import Reader
from cockpit.model.store_reader import StoreReader
from cockpit.nearest import nearest_words


def queue_named(store: StoreReader, text: str, namespaces: Namespaces = EVERY) -> Queue:
    """The one queue that `text` means: `namespace/name` or `name`, after `localqueue/` or `clusterqueue/`, or
    `ENGINE:NAME` where the engine has a scheduler of its own.

    Raises BadInput: unknown (with names that are near), or several (with all of them).
    """
    kind, _, rest = text.strip().partition("/")
    kinds = {"localqueue": LocalQueue, "clusterqueue": ClusterQueue}.get(kind.lower())
    wanted = rest if kinds else text.strip()
    every = registry.every_queue(store)
    if kinds is not None:
        every = [one for one in every if type(one) is kinds]
    found = [
        one
        for one in every
        if wanted in (one.key, one.name, full_name(one)) and _within(one, wanted, namespaces)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(
            f"{text!r} is ambiguous: {', '.join(sorted(map(full_name, found)))}; choose one of them"
        )
    raise NotFound(f"queue {text!r}", nearest_words(wanted, (queue.key for queue in every)))


def _within(queue: Queue, wanted: str, namespaces: Namespaces) -> bool:
    is_narrowed = "/" not in wanted and isinstance(queue, LocalQueue)
    return not is_narrowed or queue.namespace in namespaces


def full_name(queue: Queue) -> str:
    """`localqueue/team-a/main`, `clusterqueue/research`, `ENGINE:NAME`: as no other queue is called."""
    return registry.queue_name(queue)


def no_verbs(queue: Queue) -> str:
    """Why the queue is neither stopped nor resumed here, "" where it is."""
    why = registry.engine_of_queue(queue).queues.no_verbs
    return f"queue {full_name(queue)}: {why}" if why else ""


def behind(queue: Queue, store: StoreReader) -> tuple[Queue, ...]:
    """The queue, and the cluster queue behind it where that is known."""
    if isinstance(queue, ClusterQueue):
        return (queue,)
    table = registry.engine_of_queue(queue).queues.cluster
    every = store.records(table).values() if table else ()
    return (queue, *(one for one in every if one.name == queue.cluster_queue))


def table_of(queue: Queue) -> str:
    """The store's table with the queue, "" where no engine has such queues."""
    queues = registry.engine_of_queue(queue).queues
    return queues.local if isinstance(queue, LocalQueue) else queues.cluster


def queue_path(queue: Queue, lookup: Lookup | None = None) -> str:
    """Where the queue lives below the API server. Raises BadInput for one that is not stopped here."""
    quota = _quota(queue)
    return quota.path(queue, served_version(quota.kind, lookup))


def _quota(queue: Queue) -> QuotaQueues:
    quota = registry.engine_of_queue(queue).quota_queues
    if quota is None:
        raise BadInput(no_verbs(queue))
    return quota


async def queue_as_read(session: Reader, queue: Queue, lookup: Lookup | None = None) -> Queue:
    """The queue as the server has it now. Raises Refused when it is gone or another one."""
    target = f"{full_name(queue).partition('/')[0]} {queue.key}"
    engine = registry.engine_of_queue(queue)
    tree = await read_tree(session, queue_path(queue, lookup), target)
    kind = next(one for one in engine.watched if one.kind == table_of(queue))
    found: Queue = record_of(engine_decoder(kind), tree, queue.uid, target)
    return found


def plan_queue_stop(
    queue: Queue, store: StoreReader, *, drain: bool = False, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """Stop the queue for new jobs; with `drain` take off what it admitted. Raises BadInput when it is so."""
    quota = _quota(queue)
    plan = quota.plan_stop(
        queue, drain, served_version(quota.kind, lookup), store.records(Kind.WORKLOAD).values()
    )
    shell = queue_line("stop", full_name(queue), context, *(["--drain"] if drain else []))
    return msgspec.structs.replace(plan, shell=shell)


def plan_queue_resume(
    queue: Queue, store: StoreReader, *, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """Let the stopped queue admit again. Raises BadInput when it is not stopped."""
    quota, engine = _quota(queue), registry.engine_of_queue(queue)
    plan = quota.plan_resume(queue, served_version(quota.kind, lookup))
    contends = tuple(
        Contender(
            name=one.job,
            engine=engine.name,
            workload_uid=one.workload_uid,
            opens=queue.uid,
        )
        for one in waiting(store, queue)
    )
    return msgspec.structs.replace(
        plan, shell=queue_line("resume", full_name(queue), context), contends=contends
    )


@dataclass(frozen=True, slots=True)
class StopOptions:
    """`drain`: evict what it admitted, too."""

    drain: bool = False


async def _as_now(planning: Planning, queue: Queue) -> Queue:
    if not planning.reads or no_verbs(queue):
        return queue
    return await queue_as_read(planning.session, queue, planning.lookup)


async def plan_to_stop(planning: Planning, queue: Queue, options: StopOptions) -> Plan:
    """Stop it for new jobs; with `drain` for all."""
    now = await _as_now(planning, queue)
    store, lookup, context = planning.store, planning.lookup, planning.context
    return plan_queue_stop(now, store, drain=options.drain, lookup=lookup, context=context)


async def plan_to_resume(planning: Planning, queue: Queue, _options: Any) -> Plan:
    """Let it admit again."""
    now = await _as_now(planning, queue)
    return plan_queue_resume(now, planning.store, lookup=planning.lookup, context=planning.context)


def _needs(planning: Planning, queue: Queue) -> tuple[Right, ...]:
    return () if no_verbs(queue) else (right_on("patch", queue_path(queue, planning.lookup)),)


def _needs_any(planning: Planning, queues: Sequence[Queue]) -> Ways:
    """The dialog offers the queue itself and the cluster queue behind it."""
    return tuple(_needs(planning, own) for queue in queues for own in behind(queue, planning.store))


STOP = Planner(options=StopOptions, plan=plan_to_stop, needs=_needs, needs_any=_needs_any)
RESUME = Planner(plan=plan_to_resume, needs=_needs, needs_any=_needs_any)
