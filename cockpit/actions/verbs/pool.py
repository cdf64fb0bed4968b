"""The size of a pool of nodes, and its maximum."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cockpit.actions.ask import AskTerms
    from cockpit.actions.planning import Planning
    from cockpit.actions.reclaim_nodes import ReclaimTerms
    from cockpit.model.plan import Plan
    from cockpit.model.pool import Pool
    from cockpit.model.right import Right, Ways


@dataclass(frozen=True, slots=True)
class NodesOptions:
    """How many nodes the pool is to have, as it was typed."""

    to: str

    def __post_init__(self) -> None:
        from cockpit.actions.scale import read_replicas
        from cockpit.errors import BadInput

        try:
            read_replicas(self.to)
        except BadInput as error:
            raise BadInput(f"--to: {error.sentence}") from None


def _deadline(text: str) -> float:
    """Seconds, 0 where nobody says. Raises argparse.ArgumentTypeError with what to write instead."""
    if not text:
        return 0.0
    import argparse

    from cockpit.model.duration import parse_duration

    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no time to wait: give more than 0")
    return seconds


@dataclass(frozen=True, slots=True)
class LimitOptions:
    """How many nodes the pool may have at most, as it was typed."""

    maximum: str

    def __post_init__(self) -> None:
        from cockpit.actions.scale import read_replicas
        from cockpit.errors import BadInput

        try:
            read_replicas(self.maximum)
        except BadInput as error:
            raise BadInput(f"--max: {error.sentence}") from None


@dataclass(frozen=True, slots=True)
class ReclaimOptions:
    """Which idle nodes go, as it was typed: `idle_for` "" for half an hour, `most` "" for the setting
    `shrink-at-once`, else a tenth of the pool."""

    idle_for: str = ""
    most: str = ""
    include_unknown: bool = False

    def __post_init__(self) -> None:
        self.terms()

    def terms(self) -> "ReclaimTerms":
        """The same as values. Raises BadInput."""
        from cockpit.actions.reclaim_nodes import ReclaimTerms
        from cockpit.actions.scale import read_replicas
        from cockpit.errors import BadInput
        from cockpit.model.duration import parse_duration
        from cockpit.pools.idle import IDLE_SECONDS

        try:
            seconds = parse_duration(self.idle_for) if self.idle_for else IDLE_SECONDS
        except ValueError as error:
            raise BadInput(f"--idle-for: {error}") from None
        try:
            most = read_replicas(self.most) if self.most else None
        except BadInput as error:
            raise BadInput(f"--most: {error.sentence}") from None
        if most is not None and most < 1:
            raise BadInput(f"--most: {most} is too few; write 1 or more")
        return ReclaimTerms(seconds, most, self.include_unknown)


async def plan_to_reclaim(planning: "Planning", pool: "Pool", options: ReclaimOptions) -> "Plan":
    """The next step by which idle nodes of the pool go."""
    import msgspec

    from cockpit.actions.conduct import option_words
    from cockpit.actions.reclaim_nodes import plan_nodes
    from cockpit.actions.shell import words_line

    plan = await plan_nodes(planning, pool, options.terms())
    if plan.is_destructive or not planning.watched_since:
        return plan
    # a command has seen nothing before: what this session knows is unknown to it
    more = option_words(RECLAIM, replace(options, include_unknown=True))
    shell = words_line(("cockpit", "pool", "reclaim", pool.name, *more), planning.context)
    return msgspec.structs.replace(plan, shell=shell)


def _needs_to_reclaim(planning: "Planning", pool: "Pool") -> "tuple[Right, ...]":
    from cockpit.actions.reclaim_nodes import needs_of

    return needs_of(planning.store, pool)


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How many nodes are asked for, as it was typed; `withdraw`: what asks for them is taken back."""

    nodes: str = ""
    way: str = ""
    space: str = ""
    time: str = ""
    withdraw: bool = False

    def __post_init__(self) -> None:
        from cockpit.errors import BadInput

        if self.withdraw and (self.nodes or self.way or self.space or self.time):
            raise BadInput("--withdraw takes back all that asks for the pool: give it alone")
        if not self.withdraw:
            self.terms()

    def terms(self) -> "AskTerms":
        """The same as values. Raises BadInput."""
        from cockpit.actions.ask import AskTerms
        from cockpit.actions.scale import read_replicas
        from cockpit.errors import BadInput
        from cockpit.kube.resource import segment
        from cockpit.model.duration import parse_duration
        from cockpit.pools.capacity import DemandWay

        if not self.nodes:
            raise BadInput(
                "--nodes: no number of nodes was given: write one in digits, such as 4"
                " (--withdraw takes back what asks)"
            )
        try:
            nodes = read_replicas(self.nodes)
        except BadInput as error:
            raise BadInput(f"--nodes: {error.sentence}") from None
        if not 1 <= nodes <= 1_000:
            raise BadInput(f"--nodes: {nodes} nodes cannot be asked for: give 1 to 1000")
        if self.way and self.way not in set(DemandWay):
            raise BadInput(f"--way: {self.way!r} is none; choose {', '.join(DemandWay)}")
        try:
            seconds = parse_duration(self.time) if self.time else 3_600.0
        except ValueError as error:
            raise BadInput(f"--for: {error}") from None
        if not 60 <= seconds <= 7 * 86_400:
            raise BadInput(f"--for: {self.time} is no time for it: give a minute to seven days")
        space = segment(self.space, "namespace") if self.space else ""
        way = DemandWay(self.way) if self.way else None
        return AskTerms(nodes=nodes, way=way, namespace=space, seconds=int(seconds))


async def plan_to_ask(planning: "Planning", pool: "Pool", options: AskOptions) -> "Plan":
    """Ask for nodes of a pool whose number cannot be set, or take that back."""
    from cockpit.actions.ask import ask_as_now, withdraw_as_now

    if options.withdraw:
        return await withdraw_as_now(planning, pool.key)
    return await ask_as_now(planning, pool.key, options.terms())


def _needs_to_ask(planning: "Planning", pool: "Pool") -> "tuple[Right, ...]":
    from cockpit.actions.ask import needs_to_ask

    return needs_to_ask(planning, pool)


def _grows_by_demand(pool: "Pool") -> bool:
    return pool.grows_by_demand


async def plan_to_limit(planning: "Planning", pool: "Pool", options: LimitOptions) -> "Plan":
    """Set the maximum of the pool, likewise."""
    from cockpit.actions.limit import limit_as_now
    from cockpit.actions.scale import read_replicas

    return await limit_as_now(planning, pool.key, read_replicas(options.maximum))


async def plan_to_scale(planning: "Planning", pool: "Pool", options: NodesOptions) -> "Plan":
    """Set the number of nodes of the pool, on its owner as the server has it now where that was read."""
    from cockpit.actions.scale import read_replicas, scale_as_now

    return await scale_as_now(planning, pool.key, read_replicas(options.to))


async def plan_to_give_back(planning: "Planning", pool: "Pool", shown: "Plan") -> "Plan":
    """Open what a shrink or a reclaim has closed and does not remove."""
    from cockpit.actions.scale import give_back_as_now

    return await give_back_as_now(planning, pool.key, shown)


def _needs_to_limit(planning: "Planning", pool: "Pool") -> "tuple[Right, ...]":
    from cockpit.pools.index import pool_object
    from cockpit.pools.registry import sizer

    owner = pool_object(planning.store, pool)
    found = None if owner is None else sizer(owner)
    ways = () if owner is None or found is None else found.limit_rights(owner)
    return ways[0] if ways else ()


def _needs_to_scale(planning: "Planning", pool: "Pool") -> "tuple[Right, ...]":
    """Those of a growth, and what a shrink does to the nodes that go."""
    from cockpit.actions.reclaim_nodes import removal_rights

    grown = _needs_to_grow(planning, pool)
    return tuple(dict.fromkeys((*grown, *removal_rights(planning.store, pool)))) if grown else ()


def _ways_to_scale(planning: "Planning", pools: "Sequence[Pool]") -> "Ways":
    """The form says whether the pool grows or shrinks: who may only grow pools has the key as well."""
    return tuple(way(planning, one) for one in pools for way in (_needs_to_grow, _needs_to_scale))


def _needs_to_grow(planning: "Planning", pool: "Pool") -> "tuple[Right, ...]":
    from cockpit.pools.index import pool_object
    from cockpit.pools.registry import sizer

    owner = pool_object(planning.store, pool)
    found = None if owner is None else sizer(owner)
    ways = () if owner is None or found is None else found.resize_rights(owner)
    return ways[0] if ways else ()


SCALE = Verb(
    name="scale",
    kind="pool",
    key="S",
    opener="scale",
    words=Words("scale", "scaled", "scale a pool to a number of nodes", "Scale the pool"),
    options=NodesOptions,
    flags=(Flag("--to", "to", "new number of nodes", "COUNT", is_required=True),),
    beside=(
        Flag("--wait", "wait", "follow the change until its nodes are there, or it fails", is_switch=True),
        Flag("--deadline", "deadline", "end --wait after so long (default: 30m)", "DURATION", read=_deadline),
    ),
    plan=plan_to_scale,
    back=plan_to_give_back,
    needs=_needs_to_scale,
    needs_any=_ways_to_scale,
    takes_many=False,
)
ASK = Verb(
    name="ask",
    kind="pool",
    key="S",
    opener="ask",
    words=Words(
        "ask for nodes",
        "asked for",
        "ask for nodes of a pool that grows by demand only, or withdraw that",
        "Ask for nodes where the pool grows by demand only",
    ),
    options=AskOptions,
    flags=(
        Flag("--nodes", "nodes", "so many more nodes", "COUNT"),
        Flag(
            "--way",
            "way",
            "buffer, request, placeholder, machine (default: the first that the cluster serves)",
            "WAY",
        ),
        Flag("--in", "space", "namespace of what asks (default: that of the Leases)", "NAMESPACE"),
        Flag("--for", "time", "placeholders and requests end after so long (default: 1h)", "TIME"),
        Flag("--withdraw", "withdraw", "take back what asks for nodes of the pool", is_switch=True),
    ),
    plan=plan_to_ask,
    needs=_needs_to_ask,
    is_for=_grows_by_demand,
    takes_many=False,
    is_repeatable=False,
)
LIMIT = Verb(
    name="limit",
    kind="pool",
    key="M",
    opener="limit",
    words=Words("limit", "limited", "set the largest number of nodes a pool may have", "Set the maximum"),
    options=LimitOptions,
    flags=(Flag("--max", "maximum", "new maximum of nodes", "COUNT", is_required=True),),
    plan=plan_to_limit,
    needs=_needs_to_limit,
    takes_many=False,
)
RECLAIM = Verb(
    name="reclaim",
    kind="pool",
    key="R",
    opener="reclaim",
    command="pool_reclaim:run",
    words=Words(
        "reclaim",
        "reclaimed",
        "cordon idle nodes of a pool, then remove those that stay empty",
        "Give back idle nodes of the pool (cordon, look again, remove), or its idle jobs",
    ),
    options=ReclaimOptions,
    flags=(
        Flag("--idle-for", "idle_for", "idle for so long (default: 30m; of jobs 1h)", "TIME"),
        Flag("--most", "most", "so many nodes at once (default: shrink-at-once, else a tenth)", "COUNT"),
        Flag(
            "--include-unknown",
            "include_unknown",
            "also nodes that are empty now, for an unknown time",
            is_switch=True,
        ),
    ),
    beside=(
        Flag("--list", "list", "list the idle nodes and change nothing", is_switch=True),
        Flag("--jobs", "jobs", "its idle jobs instead: as cockpit job reclaim, on each", is_switch=True),
        Flag("--grace", "grace", "with --jobs: from the mark to the end (default: 15m)", "TIME"),
    ),
    plan=plan_to_reclaim,
    back=plan_to_give_back,
    needs=_needs_to_reclaim,
    takes_many=False,
    is_repeatable=False,
)
