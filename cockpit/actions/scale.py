"""Scale: the plan of `cockpit.pools`, the hold on the pool, who would start, and the command for the same."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from cockpit.actions.kubectl import place_of
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.pool_lease import take, take_briefly
from cockpit.actions.pool_reads import machines_as_read, nodes_as_read, owner_as_read, refuse_paused
from cockpit.actions.shell import ask_line, scale_line, words_line
from cockpit.actions.surroundings import Needs, ask_surroundings
from cockpit.actions.verbs.node import back_line
from cockpit.errors import BadInput, Refused, Unchanged
from cockpit.fit.scheduling_context import Surroundings
from cockpit.gangs.sentence import counted
from cockpit.kube.resource import NODES
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.plan import Call, Plan
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.forecast import cost_line, forecast, time_line
from cockpit.pools.idle import RECLAIM, users_of
from cockpit.pools.index import gpus_per_node, pool_again, pool_named, pool_object
from cockpit.pools.next_nodes import nodes_to_come
from cockpit.pools.node_patches import (
    is_marked,
    is_taint_call,
    may_be_going,
    refuse_while_shrinking,
    uncordon_calls,
    untaint_calls,
)
from cockpit.pools.plan import MOST_ADDED, nodes_named, plan_scale
from cockpit.pools.shrink import shrink_of
from cockpit.triage.starters import Starters, spaces_with_claims, starters

MOST_ASKED = MOST_ADDED
"""Nodes that are asked for at once, where their number cannot be set."""
_MOST_NAMED = 4
_MOST_SPACES = 4
"""Namespaces whose claims are read for who would start."""
_MOST_DIGITS = 8
_LONGEST_SHOWN = 24


def plan_pool_scale(
    pool: Pool, replicas: int, store: StoreReader, *, terms: PoolTerms, context: str = ""
) -> Plan:
    """The plan that sets the pool to `replicas` nodes. Raises BadInput with the reason when it may not be."""
    owner = pool_object(store, pool)
    if pool.grows_by_demand:
        raise BadInput(_instead(pool, owner, replicas, store, context))
    plan = plan_scale(
        pool,
        owner,
        replicas,
        store,
        now_seconds=terms.lease_seconds,
        asked_seconds=terms.at_seconds,
        at_once=terms.shrink_at_once,
    )
    return msgspec.structs.replace(plan, shell=scale_line(pool, replicas, context))


def _instead(pool: Pool, owner: PoolObject | None, replicas: int, store: StoreReader, context: str) -> str:
    """Why a pool that grows by demand has no number to set, and the command that does what was meant."""
    more, way = replicas - pool.nodes_now, ""
    if 0 < more <= MOST_ASKED:
        way = f"; ask for {counted(more, 'more node')}: {ask_line(pool, more, (), context)}"
    elif more < 0 and registry.ownership(owner, nodes_named(store, pool), store).may_remove.may is True:
        words = ("cockpit", "pool", "reclaim", pool.name)
        way = f"; give idle nodes back: {words_line(words, context)}"
    return f"pool {pool.name} cannot be resized from here: {pool.why_not}{way}"


async def scale_as_now(planning: Planning, name: str, replicas: int) -> Plan:
    """The plan for the pool of that name, with the hold that keeps other cockpits from it; with
    `planning.reads` on its owner as the server has it now.

    Raises BadInput with the reason when it may not be, or when another cockpit has the pool; Refused when the
    owner is gone or another one.
    """
    pool, store = await pool_as_now(planning, name)
    await refuse_paused(planning.session, pool, store)
    store = await _with_victims(planning, pool, replicas, store)
    pool = pool_again(store, pool)
    plan = plan_pool_scale(pool, replicas, store, terms=planning.pools, context=planning.context)
    foreseen = await _expected(planning, pool, replicas)
    plan = msgspec.structs.replace(plan, expects=(*plan.expects, *foreseen))
    return await _held(planning, pool, replicas, plan)


async def _with_victims(planning: Planning, pool: Pool, replicas: int, store: StoreReader) -> StoreReader:
    """The tables with the nodes that a smaller number takes, and their pods, as the server has them now: the
    tables may lag behind what came onto a node."""
    owner, read = pool_object(store, pool), set[str]()
    if owner is None or owner.replicas is None or replicas >= owner.replicas or pool.why_not:
        return store
    while True:
        try:
            victims = shrink_of(pool, owner, replicas, store, planning.pools.lease_seconds).victims
        except BadInput:  # the plan says it
            return store
        fresh = [one for one in victims if one.name not in read]
        if not fresh:
            return store
        read.update(one.name for one in fresh)
        store = await nodes_as_read(planning.session, store, fresh)
        if planning.reads:  # a mark of ours may be on them since
            store = await machines_as_read(planning.session, store, [one.name for one in fresh])


async def give_back_as_now(planning: Planning, name: str, shown: Plan) -> Plan:
    """Take back what `shown` did to nodes before it was to remove them: uncordon those that it cordoned until
    they had settled, and open those that it closed as far as they were open before; our marks on their
    machines go, too. `expects` tells what came onto them.

    Raises Unchanged where there is none, BadInput while the owner has yet to take nodes away (it would take
    another one for each that is given back) or another cockpit is at it.
    """
    cordoned = {place_of(one.path).name for one in shown.calls if shown.later and _cordons(one)}
    closed = {place_of(one.path).name for one in shown.calls if is_taint_call(one)}
    if not (cordoned or closed):
        raise Unchanged("no node is cordoned by it")
    pool, store = await pool_as_now(planning, name)
    refuse_while_shrinking(pool, store)
    back, told, calls, is_closed = list[str](), list[str](), list[Call](), False
    for one in [found for found in nodes_named(store, pool) if found.name in cordoned | closed]:
        with suppress(Refused):  # gone, or another one of its name; a node goes with its machine
            store = await nodes_as_read(planning.session, store, (one,))
            store = await machines_as_read(planning.session, store, (one.name,))
            node = store.by_key(Kind.NODE, one.name)
            if not isinstance(node, Node):
                continue
            is_closed = is_closed or may_be_going(node, pool, store)
            if node.name not in cordoned:
                calls += untaint_calls(node, pool, store)
                continue
            calls += uncordon_calls(node, pool, store)
            if is_marked(node, pool):
                back.append(node.name)
                told += [
                    f"{pod.key} was scheduled onto {node.name}" for pod in users_of(node.name, store)[:1]
                ]
    if not calls:
        raise Unchanged("no node is cordoned by it")
    taking = await take_briefly(planning, pool) if is_closed else None
    if taking is not None and taking.call is not None:
        calls.insert(0, taking.call)
    done = f"uncordoned {', '.join(back)}" if back else f"left as it was: {', '.join(sorted(closed))}"
    return Plan(
        verb="scale",
        title=f"Give nodes of pool {pool.name} back: {done}",
        done=done,
        calls=tuple(calls),
        expects=tuple(told),
        shell=back_line(back or sorted(closed), planning.context),
        hold=None if taking is None else taking.hold,
    )


def _cordons(call: Call) -> bool:
    notes = call.body.get("metadata", {}).get("annotations", {}) if isinstance(call.body, dict) else {}
    return call.path.startswith(NODES.path()) and RECLAIM in notes


async def pool_as_now(planning: Planning, name: str) -> tuple[Pool, StoreReader]:
    """The pool of that name and the tables that know it: one outside the cluster is read, with
    `planning.reads` one inside, too. Raises Refused where its owner is gone or another one."""
    store = planning.store
    pool = pool_named(store, name)
    outside = planning.pools.outside
    if outside is not None and await outside.read(pool, is_fresh=planning.reads):
        pool = pool_again(store, pool)
    owner = pool_object(store, pool)
    if planning.reads and owner is not None and owner.reach is None:
        store = store.with_record(Kind.POOL, await owner_as_read(planning.session, owner))
        pool = pool_again(store, pool)
    return pool, store


async def _held(planning: Planning, pool: Pool, replicas: int, plan: Plan) -> Plan:
    """The same plan behind the hold of the pool."""
    taking = await take(
        planning.session,
        pool,
        planning.pools,
        now=pool.target,
        to=replicas,
    )
    calls = plan.calls if taking.call is None else (taking.call, *plan.calls)
    warnings, expects = (*taking.lacks, *plan.warnings), (*taking.replaces, *plan.expects)
    held = (f"other cockpits are kept out by {taking.hold.target}",) if taking.call is not None else ()
    lines = (*plan.lines, *held)
    return msgspec.structs.replace(
        plan, calls=calls, hold=taking.hold, warnings=warnings, expects=expects, lines=lines
    )


async def _expected(planning: Planning, pool: Pool, replicas: int) -> tuple[str, ...]:
    more = replicas - (pool.target if pool.target is not None else pool.nodes_now)
    return await expected_of_growth(planning, pool, more) if more > 0 else ()


async def expected_of_growth(planning: Planning, pool: Pool, more: int) -> tuple[str, ...]:
    """What so many more nodes are good for: who would start, what they cost, how long they usually take."""
    store, jobs = planning.store, tuple(planning.jobs.values())
    around: dict[str, Surroundings] = {}
    for space in spaces_with_claims(store, jobs)[:_MOST_SPACES]:
        around[space] = await ask_surroundings(planning.session, Needs(claims_in=space))
    nodes = nodes_to_come(store, pool, pool_object(store, pool), more, gpus_per_node(pool, store))
    return (
        *starter_lines(starters(store, jobs, nodes, around), is_known=bool(nodes)),
        *forecast_lines(planning, pool, more),
    )


def forecast_lines(planning: Planning, pool: Pool, more: int) -> Iterator[str]:
    """What so many more nodes cost, and how long they usually take."""
    known = planning.pools.known()
    found = forecast(pool, more, known, has_gpus=bool(gpus_per_node(pool, planning.store)))
    yield cost_line(pool, more, found, known)
    yield time_line(pool, found)


def starter_lines(found: Starters, *, is_known: bool) -> Iterator[str]:
    """Who would start, in a line or two."""
    if not is_known:
        yield "who would start is not known: nothing tells what a node of this pool offers"
        return
    if found.jobs:
        free = f"; {found.idle_gpus} GPUs stay free" if found.idle_gpus else ""
        yield f"would start: {_named(found.jobs)}{free}"
    else:
        yield "no job that waits now would start on them"
    more = []
    if found.held:
        more.append(f"{found.held} wait{'s' * (found.held == 1)} for quota or a gate, not for nodes")
    if found.unjudged:
        more.append(f"{found.unjudged} cannot be judged here")
    if more:
        yield "not counted: " + "; ".join(more)


def _named(jobs: Sequence[Job]) -> str:
    shown = [f"{one.namespace}/{one.name}" + _asks(one) for one in jobs[:_MOST_NAMED]]
    more = len(jobs) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _asks(job: Job) -> str:
    return f" ({job.gpus_wanted} GPUs)" if job.gpus_wanted else ""


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
