"""Give back nodes that nobody uses: cordon them, look again, and have just these go.

Two steps, each a plan of its own. The first cordons and marks what is idle: no new pod comes from then on.
The second is made of what the server says then: a marked node that is still empty goes, by its owner's way
and behind the hold of the pool; one that somebody uses is given back to the scheduler. Nothing is remembered
here: the mark on the node is what a second step, another session or the undo go by.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import msgspec

from cockpit.actions.cordon import back_line
from cockpit.actions.planner import Planner, of_flag
from cockpit.actions.planning import Planning
from cockpit.actions.pool_lease import take, take_briefly
from cockpit.actions.pool_reads import machines_as_read, pool_nodes_as_read, refuse_paused
from cockpit.actions.rights import right_of
from cockpit.actions.rollback import roll_back
from cockpit.actions.shell import scale_line, words_line
from cockpit.actions.verbs import pool as verbs
from cockpit.errors import BadInput, Unchanged
from cockpit.gangs.sentence import counted
from cockpit.kube.resource import NODES
from cockpit.model.duration import parse_duration
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.model.remembered import Reclaim
from cockpit.model.right import Right
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.idle import IDLE_SECONDS, IdleNode, idle_nodes, users_of
from cockpit.pools.index import pool_again, pool_object
from cockpit.pools.node_patches import (
    is_marked,
    machines_by_node,
    may_be_going,
    own_cordon_call,
    refuse_while_shrinking,
    taint_call,
    uncordon_calls,
)
from cockpit.pools.owner import RemovesNodes, TakesEmptyFirst
from cockpit.pools.plan import read_replicas
from cockpit.pools.price import nodes_hourly, types_unpriced
from cockpit.pools.shrink import (
    SETTLE_SECONDS,
    kept_empty,
    most_at_once,
    refuse_kept,
    taken_first,
    unmarking_calls,
)
from cockpit.pools.truth import nodes_of
from cockpit.triage.idle_jobs import minutes_words

_MOST_TOLD: Final = 6


class ReclaimTerms(NamedTuple):
    """How long a node has to be idle, how many may go at once (None: as many as a shrink takes unasked), and
    whether also those of which nobody knows since when they are idle."""

    idle_for_seconds: float = IDLE_SECONDS
    most: int | None = None
    includes_unknown: bool = False

    @property
    def leaves_unknown(self) -> bool:
        """Whether a node stays because nobody knows since when it is idle."""
        return self.idle_for_seconds > 0 and not self.includes_unknown

    def is_due(self, one: IdleNode, now_seconds: float) -> bool:
        """Whether the node has been idle for long enough."""
        return one.is_due(now_seconds, self.idle_for_seconds, includes_unknown=self.includes_unknown)


class NodeStep(NamedTuple):
    """What is to be done to nodes now. `removes` were marked before, `comes_back` are marked and in use."""

    cordons: tuple[IdleNode, ...] = ()
    removes: tuple[IdleNode, ...] = ()
    comes_back: tuple[Node, ...] = ()
    settling: tuple[IdleNode, ...] = ()
    kept: tuple[IdleNode, ...] = ()
    unknown: tuple[IdleNode, ...] = ()  # since when they are idle is not known
    waits: int = 0  # idle, and not yet for so long
    beyond: int = 0  # idle ones that are more than may go at once


def next_step(pool: Pool, store: StoreReader, planning: Planning, terms: ReclaimTerms) -> NodeStep:
    """What a reclaim of the pool's nodes would do now, by the tables alone."""
    now = planning.pools.at_seconds
    found = idle_nodes(pool, store, now, planning.watched_since)
    kept = tuple(one for one in found if one.why_kept)
    open_ = [one for one in found if not one.why_kept]
    marked = [one for one in open_ if one.reclaimed_seconds is not None]
    ripe = [one for one in marked if now - (one.reclaimed_seconds or 0.0) >= SETTLE_SECONDS]
    fresh = [one for one in open_ if one.reclaimed_seconds is None and not one.node.unschedulable]
    due = [one for one in fresh if terms.is_due(one, now)]
    most = _most(pool, terms, planning.pools.shrink_at_once)
    room = max(0, most - len(marked))
    idle = {one.node.name for one in found}
    back = tuple(
        one
        for one in nodes_of(store)
        if one.name in pool.node_names and one.name not in idle and is_marked(one, pool)
    )
    return NodeStep(
        cordons=tuple(due[:room]),
        removes=tuple(ripe[:most]),
        comes_back=back,
        settling=tuple(one for one in marked if one not in ripe),
        kept=kept,
        unknown=tuple(one for one in fresh if one.since_seconds is None and terms.leaves_unknown),
        waits=sum(one.since_seconds is not None and not terms.is_due(one, now) for one in fresh),
        beyond=len(due[room:]),
    )


def _most(pool: Pool, terms: ReclaimTerms, at_once: int | None) -> int:
    """Never below the pool's minimum."""
    most = terms.most if terms.most is not None else most_at_once(pool.nodes_now, at_once)
    size = pool.nodes_now if pool.target is None else pool.target
    return max(0, min(most, size - (pool.minimum or 0)))


async def plan_nodes(planning: Planning, pool: Pool, terms: ReclaimTerms) -> Plan:
    """The next step: remove what was marked and is still empty, else mark what is idle.

    Raises BadInput where it cannot be, Unchanged where there is nothing to do.
    """
    store = planning.store
    await refuse_paused(planning.session, pool, store)
    step = next_step(pool, store, planning, terms)
    if step.removes or step.comes_back:
        store = await pool_nodes_as_read(
            planning, pool, (*(one.node for one in step.removes), *step.comes_back)
        )
        if planning.reads:  # a mark of ours may be on them since
            names = [one.node.name for one in step.removes] + [one.name for one in step.comes_back]
            store = await machines_as_read(planning.session, store, names)
        pool = pool_again(store, pool)
        return await _removal(planning, pool, store, next_step(pool, store, planning, terms))
    if step.cordons:
        if planning.reads:
            store = await pool_nodes_as_read(planning, pool, tuple(one.node for one in step.cordons))
            pool = pool_again(store, pool)
            step = next_step(pool, store, planning, terms)
        if step.cordons:
            return _cordoning(planning, pool, store, step)
    raise Unchanged(_nothing(pool, store, step))


def needs_of(store: StoreReader, pool: Pool) -> tuple[Right, ...]:
    """The rights of the step that a reclaim is at: cordon, and once nodes are marked what removes them."""
    patch = Right("patch", "", "nodes")
    found = (store.by_key(Kind.NODE, name) for name in pool.node_names)
    marked = [one for one in found if isinstance(one, Node) and is_marked(one, pool)]
    used = [one for one in marked if users_of(one.name, store)]
    empty = [IdleNode(one, None) for one in marked if one not in used]
    with suppress(BadInput):
        back = [call for one in used for call in uncordon_calls(one, pool, store)]
        removal = _removal_calls(pool, pool_object(store, pool), empty, store) if empty else ()
        return tuple(
            dict.fromkeys(
                (patch, *(right_of(one) for one in (*back, *removal) if not (_is_node(one) or one.via)))
            )
        )
    return (patch,)


def removal_rights(store: StoreReader, pool: Pool) -> tuple[Right, ...]:
    """What it takes to have nodes of the pool go, whichever: they are cordoned and tainted, their machines
    marked. () where the pool has no node that could."""
    found = (store.by_key(Kind.NODE, name) for name in pool.node_names)
    node = next((one for one in found if isinstance(one, Node)), None)
    if node is None:
        return ()
    calls: tuple[Call, ...] = ()
    with suppress(BadInput):
        calls = tuple(_removal_calls(pool, pool_object(store, pool), [IdleNode(node, None)], store))
    needed = (right_of(one) for one in calls if not (_is_node(one) or one.via))
    any_name = (msgspec.structs.replace(one, name="") for one in needed)
    return tuple(dict.fromkeys((Right("patch", "", "nodes"), *any_name)))


def _is_node(call: Call) -> bool:
    return call.path.startswith(NODES.path())


# ---- the first step


def _cordoning(planning: Planning, pool: Pool, store: StoreReader, step: NodeStep) -> Plan:
    nodes = [one.node for one in step.cordons]
    owner = pool_object(store, pool)
    try:
        way = _removal_calls(pool, owner, step.cordons, store)
    except BadInput as error:
        raise BadInput(f"pool {pool.name}: {error.sentence}") from None
    calls = tuple(own_cordon_call(one, pool, planning.pools.at_seconds) for one in nodes)
    gpus = sum(one.gpu_allocatable or 0 for one in nodes)
    lines = [
        f"cordon {counted(len(nodes), 'idle node')} ({counted(gpus, 'GPU')}): {_names(nodes)}",
        f"nothing is removed yet: reclaim it again in {SETTLE_SECONDS:g} s, and what is still empty goes",
        f"removal: {way[-1].method} {way[-1].path}" if len(way) == 1 else f"removal: {_targets(way)}",
        f"undo: {back_line([one.name for one in nodes], planning.context)}",
    ]
    return Plan(
        verb="reclaim",
        title=f"Reclaim {counted(len(nodes), 'idle node')} of pool {pool.name}: cordon",
        done=f"Cordoned {counted(len(nodes), 'idle node')} of pool {pool.name}; reclaim again to remove them",
        calls=calls,
        lines=tuple(lines),
        expects=tuple(_idle_lines(planning, pool, step.cordons)),
        warnings=tuple(_left(step)),
    )


# ---- the second step


async def _removal(planning: Planning, pool: Pool, store: StoreReader, step: NodeStep) -> Plan:
    """Remove what is still empty on the server, give back what is in use by now."""
    if step.comes_back:
        refuse_while_shrinking(pool, store)
    back = tuple(one for node in step.comes_back for one in uncordon_calls(node, pool, store))
    lines = [f"uncordon {one.name}: {_use(one, store)}" for one in step.comes_back]
    warnings = list(_left(step))
    hold, calls = None, back
    expects: tuple[str, ...] = ()
    if step.removes:
        owner = pool_object(store, pool)
        try:
            removal = _removal_calls(pool, owner, step.removes, store)
        except BadInput as error:
            names = _names([one.node for one in step.removes])
            raise BadInput(f"pool {pool.name}: {error.sentence}; cordoned until then: {names}") from None
        now = pool.nodes_now if pool.target is None else pool.target
        to = now - len(step.removes)
        taking = await take(planning.session, pool, planning.pools, now=now, to=to)
        warnings += taking.lacks
        held = () if taking.call is None else (taking.call,)
        hold = taking.hold
        still = tuple(taint_call(one.node) for one in step.removes)
        calls = (*held, *still, *back, *(one for one in removal if one not in back))
        nodes = [one.node for one in step.removes]
        gpus = sum(one.gpu_allocatable or 0 for one in nodes)
        lines.append(f"remove {counted(len(nodes), 'empty node')} ({counted(gpus, 'GPU')}): {_names(nodes)}")
        if pool.target is not None:
            lines.append(f"size of {_object_of(owner, pool)}: from {now} to {to} nodes")
            lines.append(f"undo: {scale_line(pool, now, planning.context)}")
        expects = (*taking.replaces, *_idle_lines(planning, pool, step.removes))
    elif any(may_be_going(one, pool, store) for one in step.comes_back):
        taking = await take_briefly(planning, pool)
        hold, calls = taking.hold, back if taking.call is None else (taking.call, *back)
    if not calls:
        raise Unchanged(_nothing(pool, store, step))
    what = counted(len(step.removes), "empty node") if step.removes else counted(len(back), "node")
    word = "Reclaim" if step.removes else "Give back"
    return Plan(
        verb="reclaim",
        title=f"{word} {what} of pool {pool.name}",
        done=f"{'Removing' if step.removes else 'Gave back'} {what} of pool {pool.name}",
        calls=calls,
        lines=tuple(lines),
        expects=expects,
        warnings=tuple(warnings),
        hold=hold,
        is_destructive=bool(step.removes),
        gives_back=tuple(_given_back(one, pool, planning.pools.at_seconds) for one in step.removes),
    )


def _given_back(one: IdleNode, pool: Pool, now_seconds: float) -> Reclaim:
    since, gpus = one.since_seconds, one.node.gpu_allocatable or 0
    hours = None if since is None else (now_seconds - since) / 3_600.0 * gpus
    return Reclaim(pool.key, f"node {one.node.name}", now_seconds, hours)


def _removal_calls(
    pool: Pool, owner: PoolObject | None, nodes: Sequence[IdleNode], store: StoreReader
) -> tuple[Call, ...]:
    """What has just these nodes go. Raises BadInput where the owner takes no choice."""
    if owner is None:
        raise BadInput(pool.why_not or "no object of this cluster removes its nodes")
    if pool.why_not and owner.replicas is not None:
        raise BadInput(pool.why_not)
    holder = registry.holder(owner, ())
    if not isinstance(holder, RemovesNodes):
        raise BadInput(
            f"{holder.traits.name} cannot be told which nodes to remove; shrink it instead, empty nodes only:"
            f" cockpit pool scale {pool.name} --to COUNT"
        )
    if owner.replicas is not None and isinstance(holder, TakesEmptyFirst):  # it is lowered, and it chooses
        refuse_kept(holder, kept_empty(pool, store))
        taken_first(holder, [one.node for one in nodes], len(nodes), store)
    machines = machines_by_node(owner, store)
    chosen = [machines[one.node.name] for one in nodes if one.node.name in machines]
    removal = holder.removal_calls(owner, [one.node for one in nodes], store)
    return (*unmarking_calls(owner, chosen, store), *removal)


# ---- words


def _use(node: Node, store: StoreReader) -> str:
    users = users_of(node.name, store)
    if not users:
        return "it is in use"
    more = f" and {len(users) - 1} more" if len(users) > 1 else ""
    return f"{users[0].key}{more} came onto it"


def _idle_lines(planning: Planning, pool: Pool, nodes: Sequence[IdleNode]) -> Iterator[str]:
    """How long each has idled and who knows it, and what their going saves."""
    now = planning.pools.at_seconds
    for one in nodes[:_MOST_TOLD]:
        yield f"{one.node.name}: {idle_words(one, now)}"
    if len(nodes) > _MOST_TOLD:
        yield f"and {len(nodes) - _MOST_TOLD} more"
    gpus = sum(one.node.gpu_allocatable or 0 for one in nodes)
    known = planning.pools.known()
    hourly = nodes_hourly((one.node for one in nodes), known.prices)
    what = f"saves {counted(gpus, 'GPU-hour')} an hour"
    if hourly is None:
        missing = types_unpriced(pool, known.prices)
        yield f"{what}; money not known: the setting prices has no price for {missing}"
    else:
        yield f"{what}, {known.prices.money(hourly)} an hour"


def idle_words(one: IdleNode, now_seconds: float) -> str:
    """`8 GPUs, idle for 42 min (seen empty by this cockpit)`."""
    gpus = counted(one.node.gpu_allocatable or 0, "GPU")
    if one.since_seconds is None:
        return f"{gpus}, empty now; since when is not known"
    return f"{gpus}, idle for {minutes_words(now_seconds - one.since_seconds)} ({one.vouched})"


def _targets(calls: Sequence[Call]) -> str:
    return _listed(list(dict.fromkeys(f"{one.method} {one.target}" for one in calls)))


def _object_of(owner: PoolObject | None, pool: Pool) -> str:
    """Its object as a person calls it."""
    return f"pool {pool.name}" if owner is None else f"{owner.kind.lower()} {owner.key}"


def _left(step: NodeStep) -> list[str]:
    """What is left alone, and why."""
    found = [f"{one.node.name} is kept: annotation {one.why_kept}" for one in step.kept[:4]]
    if step.unknown:
        names = _names([one.node for one in step.unknown])
        found.append(f"since when is not known, left out: {names}; --include-unknown takes them")
    if step.waits:
        found.append(f"{counted(step.waits, 'node')} idle for less than was asked")
    if step.beyond:
        found.append(
            f"{counted(step.beyond, 'more idle node')} left for the next reclaim;"
            " --most takes more at once, down to the pool's minimum"
        )
    return found


def _nothing(pool: Pool, store: StoreReader, step: NodeStep) -> str:
    if step.settling:
        return (
            f"pool {pool.name}: {_names([one.node for one in step.settling])} cordoned a moment ago;"
            f" nothing is removed for {SETTLE_SECONDS:g} s"
        )
    nothing, left = f"pool {pool.name} has no node to reclaim", _left(step)
    if left:
        return f"{nothing} ({'; '.join(left)})"
    is_free = any(not users_of(name, store) for name in pool.node_names)
    if not pool.nodes_now or not pool.is_use_known or is_free:
        return nothing
    where = "its one node" if pool.nodes_now == 1 else f"each of its {pool.nodes_now} nodes"
    free = f"; {counted(pool.gpus_idle, 'GPU')} there {'is' if pool.gpus_idle == 1 else 'are'} free"
    return f"{nothing}: pods run on {where}{free if pool.gpus_idle else ''}"


def _names(nodes: Sequence[Node], most: int = 4) -> str:
    return _listed([one.name for one in nodes], most)


def _listed(names: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


# ---- the verb


@dataclass(frozen=True, slots=True)
class ReclaimOptions:
    """Which idle nodes go, as it was typed: `idle_for` "" for half an hour, `most` "" for the setting
    `shrink-at-once`, else a tenth of the pool."""

    idle_for: str = ""
    most: str = ""
    include_unknown: bool = False

    def __post_init__(self) -> None:
        self.terms()

    def terms(self) -> ReclaimTerms:
        """The same as values. Raises BadInput."""
        with of_flag("--idle-for"):
            seconds = parse_duration(self.idle_for) if self.idle_for else IDLE_SECONDS
        with of_flag("--most"):
            most = read_replicas(self.most) if self.most else None
        if most is not None and most < 1:
            raise BadInput(f"--most: {most} is too few; write 1 or more")
        return ReclaimTerms(seconds, most, self.include_unknown)


async def _plan(planning: Planning, pool: Pool, options: ReclaimOptions) -> Plan:
    plan = await plan_nodes(planning, pool, options.terms())
    if plan.is_destructive or not planning.watched_since:
        return plan
    # a command has seen nothing before: what this session knows is unknown to it
    more = verbs.RECLAIM.option_words(replace(options, include_unknown=True))
    shell = words_line((*verbs.RECLAIM.subcommand, pool.name, *more), planning.context)
    return msgspec.structs.replace(plan, shell=shell)


def _needs(planning: Planning, pool: Pool) -> tuple[Right, ...]:
    return needs_of(planning.store, pool)


RECLAIM = Planner(options=ReclaimOptions, plan=_plan, back=roll_back, needs=_needs)
