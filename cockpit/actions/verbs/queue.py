"""Stop a queue, for new jobs or for all, and let it admit again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.gang import ClusterQueue, LocalQueue
    from cockpit.model.plan import Plan
    from cockpit.model.right import Right, Ways


@dataclass(frozen=True, slots=True)
class StopOptions:
    """`drain`: evict what it admitted, too."""

    drain: bool = False


async def _as_now(planning: "Planning", queue: "LocalQueue | ClusterQueue") -> "LocalQueue | ClusterQueue":
    from cockpit.actions.queue import queue_as_read

    if not planning.reads or _no_verbs(queue):
        return queue
    return await queue_as_read(planning.session, queue, planning.lookup)


async def plan_to_stop(
    planning: "Planning", queue: "LocalQueue | ClusterQueue", options: StopOptions
) -> "Plan":
    """Stop it for new jobs; with `drain` for all."""
    from cockpit.actions.queue import plan_queue_stop

    return plan_queue_stop(
        await _as_now(planning, queue),
        planning.store,
        drain=options.drain,
        lookup=planning.lookup,
        context=planning.context,
    )


async def plan_to_resume(planning: "Planning", queue: "LocalQueue | ClusterQueue", _options: Any) -> "Plan":
    """Let it admit again."""
    from cockpit.actions.queue import plan_queue_resume

    now = await _as_now(planning, queue)
    return plan_queue_resume(now, planning.store, lookup=planning.lookup, context=planning.context)


def _no_verbs(queue: "LocalQueue | ClusterQueue") -> str:
    from cockpit.actions.queue import no_verbs

    return no_verbs(queue)


def _needs(planning: "Planning", queue: "LocalQueue | ClusterQueue") -> "tuple[Right, ...]":
    from cockpit.actions.queue import queue_path
    from cockpit.actions.verbs.rights import right_on

    if _no_verbs(queue):
        return ()
    return (right_on("patch", queue_path(queue, planning.lookup)),)


def _needs_any(planning: "Planning", queues: "Sequence[LocalQueue | ClusterQueue]") -> "Ways":
    """The dialog offers the queue itself and the cluster queue behind it."""
    from cockpit.actions.queue import behind

    return tuple(_needs(planning, one) for queue in queues for one in behind(queue, planning.store))


STOP = Verb(
    name="stop",
    kind="queue",
    key="P",
    opener="stop queue",
    words=Words("stop", "stopped", "stop a queue from admitting jobs", "Stop the queue, or resume it"),
    options=StopOptions,
    flags=(Flag("--drain", "drain", "also evict the jobs it has admitted", is_switch=True),),
    plan=plan_to_stop,
    why_not=_no_verbs,
    needs=_needs,
    needs_any=_needs_any,
    takes_many=False,
)
RESUME = Verb(
    name="resume",
    kind="queue",
    key="P",
    opener="stop queue",
    words=Words("resume", "resumed", "resume a stopped queue"),
    weighs_others=True,
    plan=plan_to_resume,
    why_not=_no_verbs,
    needs=_needs,
    needs_any=_needs_any,
    takes_many=False,
)
