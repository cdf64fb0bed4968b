"""The plan of a resize: the calls of the pool's owner, and what a person reads before "yes"."""

from collections.abc import Sequence

from cockpit.errors import BadInput, Unchanged
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import gpus_per_node
from cockpit.pools.node_patches import own_cordon_call, taint_call
from cockpit.pools.owner import Ownership
from cockpit.pools.shrink import (
    SETTLE_SECONDS,
    Shrinking,
    most_at_once,
    shrink_of,
    typed_for,
)
from cockpit.pools.truth import gpus_allocated, nodes_of

LARGEST_REPLICAS = 10_000
MOST_ADDED = 1_000
_MOST_DIGITS = 8
_LONGEST_SHOWN = 24
"""Nodes that come at once: more is a slip of the finger."""


def plan_scale(
    pool: Pool,
    owner: PoolObject | None,
    replicas: int,
    store: StoreReader,
    *,
    now_seconds: float,
    asked_seconds: float | None = None,
    at_once: int | None = None,
) -> Plan:
    """The plan that sets the pool to `replicas` nodes; `at_once` of them may go unasked, None: a tenth.

    Where nodes that go still take pods its calls cordon these, with the time when it was asked for (None:
    now), and `later` is what removes them. Raises BadInput with the reason when it may not be.
    """
    if pool.why_not:
        raise BadInput(f"pool {pool.name} cannot be resized from here: {pool.why_not}")
    if owner is None or owner.replicas is None:
        raise BadInput(
            f"pool {pool.name} cannot be resized from here: its owner has not been read yet; try again"
        )
    _refuse(pool, owner.replicas, replicas)
    now = owner.replicas
    word = "Grow" if replicas > now else "Shrink"
    found = None if replicas > now else shrink_of(pool, owner, replicas, store, now_seconds)
    _refuse_below_busy(pool, replicas, store)
    lines, expects = (
        (gain_lines(pool, replicas - now, store), ()) if found is None else _shrink(now, replicas, found)
    )
    warnings = () if found is None else _at_once(now, replicas, at_once)
    if owner.status_replicas is not None and owner.status_replicas != now:
        expects = (
            f"a resize is in progress: {now} requested, {owner.status_replicas} present; this replaces it",
            *expects,
        )
    bounds = _bounds(pool)
    sizer = registry.sizer(owner)
    sizes = () if sizer is None else sizer.resize_calls(owner, replicas)
    done = f"{'Growing' if word == 'Grow' else 'Shrinking'} pool {pool.name} from {now} to {replicas}"
    calls, later = sizes, tuple[Call, ...]()
    if found is not None:
        calls = (*map(taint_call, found.victims), *found.calls, *sizes)
    if found is not None and found.open:
        at_seconds = now_seconds if asked_seconds is None else asked_seconds
        calls = tuple(own_cordon_call(one, pool, at_seconds) for one in found.open)
        later = (*found.calls, *sizes)
        done = f"Cordoned {_names(found.open)} of pool {pool.name}; checking again in {SETTLE_SECONDS:g} s"
    return Plan(
        verb="scale",
        title=f"{word} pool {pool.name} from {now} to {replicas}",
        done=done,
        calls=calls,
        later=later,
        lines=(f"{owner.kind} {owner.key}: from {now} to {replicas} nodes{bounds}", *lines),
        expects=expects,
        warnings=warnings,
        is_destructive=replicas < now,
        typed="" if found is None else typed_for(pool, now, replicas, at_once),
    )


def _refuse(pool: Pool, now: int, replicas: int) -> None:
    if replicas < 0:
        raise BadInput(f"pool {pool.name}: {replicas} nodes are too few, at least 0")
    if replicas > LARGEST_REPLICAS:
        raise BadInput(f"pool {pool.name}: {replicas} nodes are too many, at most {LARGEST_REPLICAS}")
    if pool.maximum is not None and replicas > pool.maximum:
        raise BadInput(
            f"pool {pool.name}: {replicas} is above its maximum of {pool.maximum}: give that or fewer,"
            f" or raise it first (M, cockpit pool limit {pool.name} --max COUNT)"
        )
    if pool.minimum is not None and replicas < pool.minimum:
        raise BadInput(
            f"pool {pool.name}: {replicas} is below its minimum of {pool.minimum}: give that or more"
        )
    if replicas - now > MOST_ADDED:
        raise BadInput(
            f"pool {pool.name}: {replicas - now} nodes more at once are too many, at most {MOST_ADDED}:"
            f" scale it to {now + MOST_ADDED} or fewer first"
        )
    if replicas == now:
        raise Unchanged(f"pool {pool.name} is already set to {replicas}; nothing was changed")


def _refuse_below_busy(pool: Pool, replicas: int, store: StoreReader) -> None:
    """Nodes that run GPU work are not taken away by a size."""
    busy = sum(bool(gpus_allocated(store, name)) for name in pool.node_names)
    if replicas < busy:
        raise BadInput(
            f"pool {pool.name}: {replicas} is below the {busy} of its nodes that run GPU work:"
            " drain them or end that work first"
        )


def size_of(pool: Pool) -> int:
    """Nodes that stand or were asked for."""
    return max(pool.nodes_now, pool.target or 0)


def above_maximum(pool: Pool, more: int, says: Ownership) -> str:
    """Why that many more nodes are too many, and the remedy; "" where they are not."""
    size = size_of(pool)
    if pool.maximum is None or size + more <= pool.maximum:
        return ""
    way = f"raise it first (M, cockpit pool limit {pool.name} --max COUNT)"
    if says.may_limit.may is False:
        way = f"it cannot be raised from here: {says.may_limit.why_not}"
    return f"{size} + {more} nodes are above its maximum of {pool.maximum}: {way}"


def nodes_named(store: StoreReader, pool: Pool) -> list[Node]:
    """The nodes of the pool."""
    names = frozenset(pool.node_names)
    return [one for one in nodes_of(store) if one.name in names]


def _bounds(pool: Pool) -> str:
    if pool.minimum is None and pool.maximum is None:
        return ""
    lowest = "?" if pool.minimum is None else pool.minimum
    highest = "?" if pool.maximum is None else pool.maximum
    return f" (allowed {lowest} to {highest})"


def gain_lines(pool: Pool, more: int, store: StoreReader) -> tuple[str, ...]:
    """What so many more nodes bring."""
    each = gpus_per_node(pool, store)
    nodes = f"+ {more} node{'s' * (more != 1)}"
    if each is None:
        return (f"{nodes}; how many GPUs each adds is not known yet",)
    machine = f" of {pool.machine}" if pool.machine else ""
    model = f" {pool.gpu_model}" if pool.gpu_model else ""
    if not each:
        return (f"{nodes}{machine} without GPUs",)
    gpus, all_gpus = (f"{count} GPU{'s' * (count != 1)}" for count in (each, more * each))
    return (f"{nodes}{machine} x {gpus}{model} = + {all_gpus}",)


def _shrink(now: int, replicas: int, found: Shrinking) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Which nodes go, and what is told beside that: the counts of a pool move while a person reads, and a
    shrink is another one only where other nodes would go."""
    less, there = now - replicas, len(found.empty) + len(found.busy) + len(found.kept)
    gone = f"{found.going} of {there} present will be removed, {len(found.empty)} empty"
    if not found.going:
        gone = f"not in the cluster, {there} present stay"
    lines, expects = list[str](), [f"- {less} node{'s' * (less != 1)}: {gone}"]
    if found.victims and found.calls:
        lines.append(f"chosen, all empty: {_names(found.victims)}")
    elif found.going and found.busy:
        lines.append(f"its owner takes empty nodes first: {_names(found.first)}")
    elif found.empty:
        (lines if found.victims else expects).append(f"empty: {_names(found.empty)}")
    if found.open:
        lines.append(
            f"cordoned first: {_names(found.open)}; removed {SETTLE_SECONDS:g} s later if still empty,"
            " else uncordoned"
        )
    elif found.going and not found.victims:
        lines.append("its owner chooses which: a pod scheduled there meanwhile may be evicted")
    free = sum(one.gpu_allocatable or 0 for one in (*found.empty, *found.busy))
    if free:
        expects.append(f"GPUs of the pool: {free} now")
    return tuple(lines), tuple(expects)


def _at_once(now: int, replicas: int, at_once: int | None) -> tuple[str, ...]:
    """A warning for more of the pool than goes unasked."""
    less = now - replicas
    if less <= most_at_once(now, at_once):
        return ()
    return (f"{less} of {now} nodes is {100 * less // now}% of the pool at once",)


def _names(nodes: Sequence[Node], most: int = 4) -> str:
    shown = ", ".join(one.name for one in nodes[:most])
    return shown if len(nodes) <= most else f"{shown} and {len(nodes) - most} more"


def read_replicas(text: str) -> int:
    """The wanted number of nodes behind a form field or `--to`. Raises BadInput."""
    text = text.strip()
    digits = text.removeprefix("-")
    shown = repr(text) if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]!r}…"
    if not text:
        raise BadInput("no number of nodes was given: write one in digits, such as 4")
    if not (digits.isascii() and digits.isdigit()):  # nor +3, which reads as three more
        raise BadInput(f"{shown} is not a whole number of nodes: write it in digits, such as 4")
    if len(digits) > _MOST_DIGITS:
        raise BadInput(f"{shown} is too large a number of nodes: write a smaller one, such as 4")
    return int(text)
