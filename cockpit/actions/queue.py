"""Stop and resume a queue, with what that takes off its nodes."""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from cockpit.actions.address import Lookup
from cockpit.actions.fresh import record_of
from cockpit.actions.hold import workload_version
from cockpit.actions.read import read_tree
from cockpit.actions.shell import queue_line
from cockpit.errors import BadInput
from cockpit.gangs import kueue
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.plan import Plan
from cockpit.model.record import Kind

Queue = LocalQueue | ClusterQueue


class Tables(Protocol):
    """The store, as far as queues and what they admitted are looked up."""

    def records(self, kind: str) -> Mapping[str, Any]: ...


def queue_named(store: Tables, text: str, namespace: str = "") -> Queue:
    """The one queue that `text` means: `namespace/name` or `name`, after `localqueue/` or `clusterqueue/`.

    Raises BadInput: unknown (with names that are near), or several (with all of them).
    """
    kind, _, rest = text.strip().partition("/")
    kinds = {"localqueue": (Kind.LOCAL_QUEUE,), "clusterqueue": (Kind.CLUSTER_QUEUE,)}.get(kind.lower())
    wanted = rest if kinds else text.strip()
    every: list[Queue] = [
        one
        for kind in kinds or (Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE)
        for one in store.records(kind).values()
    ]
    found = [one for one in every if wanted in (one.key, one.name) and _within(one, wanted, namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(
            f"{text!r} means several: {', '.join(sorted(map(full_name, found)))}; name one of them"
        )
    near = difflib.get_close_matches(wanted, [one.key for one in every], n=3, cutoff=0.5)
    raise BadInput(f"there is no queue {text!r}{'; near: ' + ', '.join(near) if near else ''}")


def _within(queue: Queue, wanted: str, namespace: str) -> bool:
    is_narrowed = bool(namespace) and "/" not in wanted and isinstance(queue, LocalQueue)
    return not is_narrowed or queue.namespace == namespace


def full_name(queue: Queue) -> str:
    """`localqueue/team-a/main`, `clusterqueue/research`."""
    return f"{'localqueue' if isinstance(queue, LocalQueue) else 'clusterqueue'}/{queue.key}"


async def queue_as_read(session: Any, queue: Queue, lookup: Lookup | None = None) -> Queue:
    """The queue as the server has it now. Raises Refused when it is gone or another one."""
    from cockpit.kube.decode.decoders import CLUSTER_QUEUE, LOCAL_QUEUE

    target = f"{full_name(queue).partition('/')[0]} {queue.key}"
    tree = await read_tree(session, kueue.queue_path(queue, workload_version(lookup)), target)
    decoder = LOCAL_QUEUE if isinstance(queue, LocalQueue) else CLUSTER_QUEUE
    found: Queue = record_of(decoder, tree, queue.uid, target)
    return found


def is_stopped(queue: Queue) -> bool:
    """True where resuming it would change something."""
    return queue.stop_policy not in ("", "None")


def plan_queue_stop(
    queue: Queue, store: Tables, *, drain: bool = False, lookup: Lookup | None = None, context: str = ""
) -> Plan:
    """Stop the queue for new jobs; with `drain` take off what it admitted. Raises BadInput when it is so."""
    holders = kueue.admitted_through(queue, _workloads(store))
    plan = kueue.plan_stop_queue(queue, drain=drain, version=workload_version(lookup), holders=holders)
    shell = queue_line("stop", full_name(queue), context, *(["--drain"] if drain else []))
    return msgspec.structs.replace(plan, shell=shell)


def plan_queue_resume(queue: Queue, *, lookup: Lookup | None = None, context: str = "") -> Plan:
    """Let the stopped queue admit again. Raises BadInput when it is not stopped."""
    plan = kueue.plan_resume_queue(queue, workload_version(lookup))
    return msgspec.structs.replace(plan, shell=queue_line("resume", full_name(queue), context))


def _workloads(store: Tables) -> Iterable[Any]:
    return store.records(Kind.WORKLOAD).values()
