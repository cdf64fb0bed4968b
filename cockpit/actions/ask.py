"""Ask for nodes where their number cannot be set: the demand that brings them, and how it is withdrawn."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from cockpit.actions.demand_reads import read_standing
from cockpit.actions.planner import Planner, of_flag
from cockpit.actions.planning import Planning, PoolTerms
from cockpit.actions.pool_lease import take
from cockpit.actions.pool_reads import pool_as_now
from cockpit.actions.read import read_tree
from cockpit.actions.scale import expected_of_growth
from cockpit.actions.shell import ask_line, withdraw_line
from cockpit.errors import BadInput, Refused, Unchanged
from cockpit.gangs.sentence import counted
from cockpit.kube.resource import segment
from cockpit.local_state.audit import local_user
from cockpit.model.duration import parse_duration
from cockpit.model.node import Taint
from cockpit.model.plan import Call, Plan
from cockpit.model.pool import Pool, PoolObject, StandingDemand
from cockpit.model.right import Right
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.capacity import (
    API_KINDS,
    MOST_MACHINES,
    PRIORITY_CLASS,
    CapacityWish,
    DemandWay,
    demand_name,
    plan_capacity,
    priority_class,
    rights_for,
)
from cockpit.pools.demand import lasting_taints
from cockpit.pools.index import gpus_per_node, pool_named, pool_object
from cockpit.pools.match import labels_of_its_own
from cockpit.pools.owner import MakesMachines, Ownership, StartedByFlags
from cockpit.pools.plan import MOST_ADDED, above_maximum, gain_lines, nodes_named, read_replicas, size_of
from cockpit.pools.stage import NodeStage, node_stage
from cockpit.pools.truth import gpus_allocated

_GPU = "nvidia.com/gpu"
_GPU_TAINT = Taint(_GPU, "", "NoSchedule")


class AskTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes are to come. `way` None: the surest that the cluster serves; `namespace` "": that of the
    Leases."""

    nodes: int
    way: DemandWay | None = None
    namespace: str = ""
    seconds: int = 3_600


def plan_ask(planning: Planning, pool: Pool, terms: AskTerms, store: StoreReader | None = None) -> Plan:
    """The plan that has so many more nodes come, as far as the tables know. Raises BadInput with the reason
    when it may not be."""
    store = planning.store if store is None else store
    owner, nodes = pool_object(store, pool), nodes_named(store, pool)
    says = registry.ownership(owner, nodes, store)
    way = way_of(planning, pool, says, terms.way)
    gpus = gpus_per_node(pool, store)
    _refuse(pool, owner, terms.nodes, gpus, says)
    wish = _wish(planning, pool, store, terms)
    asked = plan_capacity(way, wish) if way is not DemandWay.MACHINE else None
    lines = [*gain_lines(pool, terms.nodes, store), *_bounds(pool, owner)]
    if asked is not None:
        lines += asked.lines
        if wish.pods > terms.nodes:
            free = counted(wish.pods - terms.nodes, "free node")
            lines.append(f"the pool has {free}: as many ask as well, so that {terms.nodes} come")
    elif owner is not None and (maker := _maker(owner)) is not None:
        lines += maker.machine_lines(owner)
    lines.append(f"undo: {withdraw_line(pool, planning.context)}")
    what = counted(terms.nodes, "node")
    return Plan(
        verb="ask",
        title=f"Ask {says.owner} for {what} more in pool {pool.name}",
        done=f"Asked for {what} more in pool {pool.name}; --withdraw takes it back",
        calls=() if asked is None else asked.calls,
        lines=tuple(lines),
        shell=ask_line(pool, terms.nodes, _more_words(terms), planning.context),
    )


def _more_words(terms: AskTerms) -> Iterator[str]:
    if terms.way is not None:
        yield from ("--way", str(terms.way))
    if terms.namespace:
        yield from ("--in", terms.namespace)
    if terms.seconds != 3_600:
        yield from ("--for", f"{terms.seconds}s")


def way_of(planning: Planning, pool: Pool, says: Ownership, wanted: DemandWay | None = None) -> DemandWay:
    """How the owner of the size is asked. Raises BadInput where it cannot be, or not in the way that is
    wanted."""
    if not pool.grows_by_demand:
        if says.may_resize.may:
            set_it = f"its size can be set (S, cockpit pool scale {pool.name} --to COUNT)"
            raise BadInput(f"pool {pool.name}: nodes are not asked for by demand: {set_it}")
        why = says.may_demand.why_not or "its owner brings none by demand"
        raise BadInput(f"pool {pool.name}: nodes are not asked for by demand: {why}")
    ways = registry.owner_named(says.owner).traits.demand_ways
    if wanted is not None and wanted not in ways:
        raise BadInput(f"--way: {says.owner} is not asked by {wanted}; choose {' or '.join(ways)}")
    for one in (wanted,) if wanted is not None else ways:
        api_version, kind, _ = API_KINDS.get(one, ("", "", ""))
        if one in (DemandWay.PLACEHOLDER, DemandWay.MACHINE) or _serves(planning, api_version, kind):
            return one
        if wanted is not None:
            raise BadInput(f"--way: this cluster does not serve {kind} of {api_version}; choose placeholder")
    raise BadInput(f"pool {pool.name}: the cockpit does not know how {says.owner} is asked for nodes")


def _serves(planning: Planning, api_version: str, kind: str) -> bool:
    """Just this version: another one has another shape."""
    found = planning.lookup(api_version, kind)
    return found is not None and found.path().startswith(f"/apis/{api_version}/")


def _refuse(pool: Pool, owner: PoolObject | None, nodes: int, gpus: int | None, says: Ownership) -> None:
    if not 1 <= nodes <= MOST_ADDED:
        raise BadInput(f"pool {pool.name}: {nodes} nodes cannot be asked for: give 1 to 1000")
    if too_many := above_maximum(pool, nodes, says):
        raise BadInput(f"pool {pool.name}: {too_many}")
    if gpus == 0:
        raise BadInput(f"pool {pool.name} has no GPUs: its nodes come by pods that need them")
    maker = _maker(owner)
    why = maker.no_room(owner, nodes, gpus) if owner is not None and maker is not None else ""
    if why:
        raise BadInput(f"pool {pool.name}: {why}")


def _bounds(pool: Pool, owner: PoolObject | None) -> Iterator[str]:
    most = "" if pool.maximum is None else f" of at most {pool.maximum}"
    yield f"it has {counted(pool.nodes_now, 'node')}{most}"
    if owner is not None and (maker := _maker(owner)) is not None:
        yield from maker.limit_lines(owner)


def _maker(owner: PoolObject | None) -> MakesMachines | None:
    found = None if owner is None else registry.holder(owner, ())
    return found if isinstance(found, MakesMachines) else None


def _wish(planning: Planning, pool: Pool, store: StoreReader, terms: AskTerms) -> CapacityWish:
    """Pods that only new nodes of the pool have room for, and one for each free node."""
    owner, nodes, gpus = pool_object(store, pool), nodes_named(store, pool), gpus_per_node(pool, store)
    selector = registry.selector(owner, nodes) or labels_of_its_own(pool.name, nodes, store)
    if not selector:
        raise BadInput(f"pool {pool.name}: no label tells its nodes from others, so nothing can ask for them")
    free = sum(
        node_stage(one, store) == NodeStage.GPUS_UP and not gpus_allocated(store, one.name) for one in nodes
    )
    taints = {taint: None for one in nodes[:1] for taint in lasting_taints(one)}
    if not nodes:
        taints = dict.fromkeys((*(owner.template_taints if owner is not None else ()), _GPU_TAINT))
    return CapacityWish(
        name=demand_name(pool),
        namespace=terms.namespace or planning.pools.lease_namespace,
        pods=terms.nodes + free,
        gpus=gpus or 1,
        is_alone=gpus is None,
        resource=next((one.gpu_resource for one in nodes if one.gpu_resource), _GPU),
        selector=selector,
        taints=tuple(taints),
        deadline_seconds=terms.seconds,
        nodes=terms.nodes,
        by=_who(planning.pools),
    )


def _who(terms: PoolTerms) -> str:
    return terms.holder or local_user() or "unknown user"


def needs_to_ask(planning: Planning, pool: Pool) -> tuple[Right, ...]:
    """The rights of the way in which it would be asked now, by the tables alone."""
    owner = pool_object(planning.store, pool)
    says = registry.ownership(owner, nodes_named(planning.store, pool), planning.store)
    with suppress(BadInput):
        return rights_for(way_of(planning, pool, says), planning.pools.lease_namespace)
    return ()


# ---- as the server has it


async def ask_as_now(planning: Planning, name: str, terms: AskTerms) -> Plan:
    """The same behind the hold of the pool, with what has to be there before. Raises BadInput also where we
    ask for that pool already, Refused, NoConnection."""
    pool, store = await pool_as_now(planning, name)
    plan = plan_ask(planning, pool, terms, store)
    standing = await _standing(planning, pool)
    if standing:
        one = standing[0]
        by = f" by {one.by}" if one.by else ""
        raise BadInput(
            f"pool {pool.name}: {counted(one.nodes or 0, 'node') if one.nodes else 'nodes'} are asked for"
            f" already{by} ({one.target}): withdraw that first (cockpit pool ask {pool.name} --withdraw)"
        )
    calls = plan.calls or await _machine_calls(planning, pool, terms, store)
    lines = plan.lines
    if any(one.path.endswith("/jobs") for one in calls) and await _lacks_class(planning):
        calls = (priority_class(), *calls)
        lines = (*lines, f"makes PriorityClass {PRIORITY_CLASS} (value -10), which stays for next time")
    size = size_of(pool)
    taking = await take(planning.session, pool, planning.pools, now=size, to=size + terms.nodes)
    if taking.call is not None:
        calls = (taking.call, *calls)
        lines = (*lines, f"other cockpits are kept out by {taking.hold.target}")
    return msgspec.structs.replace(
        plan,
        calls=calls,
        lines=lines,
        hold=taking.hold,
        warnings=(*taking.lacks, *plan.warnings),
        expects=(*taking.replaces, *await expected_of_growth(planning, pool, terms.nodes)),
    )


async def _machine_calls(
    planning: Planning, pool: Pool, terms: AskTerms, store: StoreReader
) -> tuple[Call, ...]:
    owner = pool_object(store, pool)
    maker = _maker(owner)
    if owner is None or maker is None:
        raise BadInput(f"pool {pool.name}: its owner has not been read yet; try again")
    if terms.nodes > MOST_MACHINES:
        raise BadInput(f"--nodes: {terms.nodes} machines at once are too many, at most {MOST_MACHINES}")
    tree = await read_tree(
        planning.session, f"{owner.resource_path}/{owner.name}", f"{owner.kind} {owner.key}"
    )
    wish = _wish(planning, pool, store, terms)
    mark = f"{int(planning.at_seconds) % 1_000_000:06d}"
    names = [f"{wish.name}-{mark}-{at}" for at in range(1, terms.nodes + 1)]
    return maker.machine_calls(tree, wish, names)


async def _lacks_class(planning: Planning) -> bool:
    answer = await planning.session.request("GET", f"{priority_class().path}/{PRIORITY_CLASS}")
    return answer.status == 404


async def _standing(planning: Planning, pool: Pool) -> tuple[StandingDemand, ...]:
    """What of ours asks for the pool. Raises Refused where it may not be read."""
    read = await read_standing(planning.session, planning.lookup, demand_name(pool))
    if read.trouble and not read.found:
        raise Refused(f"whether nodes of pool {pool.name} are asked for already is not known: {read.trouble}")
    return read.found


async def withdraw_as_now(planning: Planning, name: str) -> Plan:
    """The plan that takes back what asks for the pool. Raises Unchanged where nothing of ours does, BadInput
    where another cockpit is at it, Refused, NoConnection."""
    pool = pool_named(planning.store, name)
    standing = await _standing(planning, pool)
    if not standing:
        raise Unchanged(f"nothing of the cockpit asks for nodes of pool {pool.name}")
    taking = await take(planning.session, pool, planning.pools, now=pool.nodes_now, to=pool.nodes_now)
    held = () if taking.call is None else (taking.call,)
    whole = [one for one in standing if not one.is_part]
    lines = [*map(_told, whole), "nodes that came stay while pods need them"]
    pods = {kind for _, kind, _ in API_KINDS.values()}
    if any(one.kind not in pods and not one.is_part for one in standing):
        lines.append("machines that were asked for go, drained first, also with work on them")
    return Plan(
        verb="ask",
        title=f"Withdraw what asks for nodes of pool {pool.name}",
        done=f"Withdrew what asked for nodes of pool {pool.name}",
        calls=(*held, *map(_delete, standing)),
        lines=tuple(lines),
        expects=(
            _later(pool, planning.store),
            *taking.replaces,
            *(f"{one.target} now: {one.state}" for one in whole if one.state),
        ),
        warnings=taking.lacks,
        shell=withdraw_line(pool, planning.context),
        hold=taking.hold,
        is_destructive=True,
    )


def _told(one: StandingDemand) -> str:
    words = [one.target]
    words += [f"for {counted(one.nodes, 'node')}"] if one.nodes else []
    words += [f"by {one.by}"] if one.by else []
    return " ".join(words)


def _later(pool: Pool, store: StoreReader) -> str:
    """What becomes of nodes that are no longer needed."""
    found = pool_object(store, pool)
    owner = registry.owner_named(registry.ownership(found, nodes_named(store, pool), store).owner)
    traits = owner.traits
    words = owner.idle_words(found) if isinstance(owner, MakesMachines) else traits.idle_words
    if isinstance(owner, StartedByFlags):
        words = owner.scale_down_words(store)
    return f"{traits.name if traits.decides_size else 'their owner'} {words}"


def _delete(one: StandingDemand) -> Call:
    body = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": one.uid},
        "propagationPolicy": "Background",
    }
    return Call(method="DELETE", path=one.path, body=body, target=one.target)


# ---- the verb


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How many nodes are requested, as it was typed; `withdraw`: the request is deleted."""

    nodes: str = ""
    way: str = ""
    space: str = ""
    time: str = ""
    withdraw: bool = False

    def __post_init__(self) -> None:
        if self.withdraw and (self.nodes or self.way or self.space or self.time):
            raise BadInput("--withdraw takes back all that asks for the pool: give it alone")
        if not self.withdraw:
            self.terms()

    def terms(self) -> AskTerms:
        """The same as values. Raises BadInput."""
        if not self.nodes:
            raise BadInput(
                "--nodes: no number of nodes was given: write one in digits, such as 4"
                " (--withdraw takes back what asks)"
            )
        with of_flag("--nodes"):
            nodes = read_replicas(self.nodes)
        if not 1 <= nodes <= MOST_ADDED:
            raise BadInput(f"--nodes: {nodes} nodes cannot be asked for: give 1 to 1000")
        if self.way and self.way not in set(DemandWay):
            raise BadInput(f"--way: {self.way!r} is none; choose {', '.join(DemandWay)}")
        with of_flag("--for"):
            seconds = parse_duration(self.time) if self.time else 3_600.0
        if not 60 <= seconds <= 7 * 86_400:
            raise BadInput(f"--for: {self.time} is no time for it: give a minute to seven days")
        space = segment(self.space, "namespace") if self.space else ""
        way = DemandWay(self.way) if self.way else None
        return AskTerms(nodes=nodes, way=way, namespace=space, seconds=int(seconds))


async def _plan(planning: Planning, pool: Pool, options: AskOptions) -> Plan:
    if options.withdraw:
        return await withdraw_as_now(planning, pool.key)
    return await ask_as_now(planning, pool.key, options.terms())


ASK = Planner(options=AskOptions, plan=_plan, needs=needs_to_ask)
