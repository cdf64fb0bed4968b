"""The ladder: how far the machines of a growth have come, stamped from the objects.

Steps and their stamps, in epoch seconds, None where nothing dates them:

asked       what the caller knows of who asked, and when: the Lease that held the pool for it
accepted    creation of the machine's object
launching   the owner's condition while the instance is requested
launched    the owner's condition that the instance exists
joined      creation of the Node
ready       the Node's condition Ready since it is True
GPUs up     the owner's condition that all that was asked for is there, or when we saw them (`Sightings`) if
            that was later
used        start of the first pod that has GPUs of the node

A machine that has reached a step has reached those below, dated or not. A growth that others asked for is
found from the objects alone.
"""

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from cockpit.model.node import Node
from cockpit.model.pool import Machine, MachineStage, Pool, PoolObject, SizeAsked
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import pool_object
from cockpit.pools.sightings import NO_SIGHTINGS, Sightings
from cockpit.pools.stage import GPUS_LIMIT_SECONDS, NodeStage, node_stage
from cockpit.pools.truth import has_lost_its_node

RECENT_SECONDS = 1_800.0
"""So long a growth that is over is still told."""
TOGETHER_SECONDS = 60.0
"""Machines of one growth are made within so long of each other."""
ANSWER_SECONDS = 5.0
"""A machine may be made so long before the answer to our call is here: servers date by whole seconds."""
READY_LIMIT_SECONDS = 900.0


class Rung(enum.StrEnum):
    """The rungs, in order; as history keeps them and people read them."""

    ASKED = "asked"
    ACCEPTED = "accepted"
    LAUNCHING = "launching"
    LAUNCHED = "launched"
    JOINED = "joined"
    READY = "ready"
    GPUS_UP = "GPUs up"
    USED = "used"


RUNGS = tuple(Rung)
_AT = {step: at for at, step in enumerate(RUNGS)}
Usually = Callable[[Rung, Rung], float | None]
"""Seconds that machines of the pool usually take from one step to a later one; None where nobody saw it."""
_LIMITS: Mapping[Rung, float] = {Rung.READY: READY_LIMIT_SECONDS, Rung.GPUS_UP: GPUS_LIMIT_SECONDS}


class Stamp(msgspec.Struct, frozen=True):
    """One step of one machine, or of all of them: then `at_seconds` is that of the last."""

    step: Rung
    is_reached: bool
    at_seconds: float | None = None


class Hang(msgspec.Struct, frozen=True):
    """The step that is waited for, since when it is, what is usual, and when it counts as failed."""

    step: Rung
    since_seconds: float | None = None
    usually_seconds: float | None = None
    limit_seconds: float | None = None

    def lasted(self, now_seconds: float) -> float | None:
        """How long it is waited for; None: not known since when."""
        return None if self.since_seconds is None else max(0.0, now_seconds - self.since_seconds)

    def is_late(self, now_seconds: float) -> bool:
        """Half as long again as usual."""
        lasted = self.lasted(now_seconds)
        return lasted is not None and self.usually_seconds is not None and lasted > 1.5 * self.usually_seconds

    def is_broken(self, now_seconds: float) -> bool:
        """Beyond its limit: what usually takes long is not broken before."""
        lasted, limit = self.lasted(now_seconds), self.limit_seconds
        return lasted is not None and limit is not None and lasted > limit


class MachineLadder(msgspec.Struct, frozen=True, kw_only=True):
    """One machine. `failure` are the owner's own words, "" where it did not fail."""

    name: str
    node: str = ""
    uid: str = ""  # of the machine's object, "" where there is none
    stamps: tuple[Stamp, ...]
    hang: Hang | None = None
    failure: str = ""

    @property
    def reached(self) -> int:
        """How many of the steps."""
        return sum(one.is_reached for one in self.stamps)

    def at(self, step: Rung) -> float | None:
        """When it reached that step."""
        return next((one.at_seconds for one in self.stamps if one.step is step), None)

    def has(self, step: Rung) -> bool:
        """Whether it has; a step that its pool does not have counts as reached."""
        return next((one.is_reached for one in self.stamps if one.step is step), True)


class Ladder(msgspec.Struct, frozen=True, kw_only=True):
    """A growth. `wanted` machines are to come; those of `machines` have an object or a node. `hang` is of the
    one that is furthest behind. `asked` None: whoever asked, no cockpit is known to have."""

    pool_key: str
    wanted: int
    asked: SizeAsked | None
    machines: tuple[MachineLadder, ...]
    stamps: tuple[Stamp, ...]
    hang: Hang | None = None

    @property
    def asked_seconds(self) -> float | None:
        """When it was asked for, None where nobody dated it."""
        return None if self.asked is None else self.asked.at_seconds

    def done(self, step: Rung) -> int:
        """How many machines have reached it."""
        if step is Rung.ASKED:
            return self.wanted
        return min(self.wanted, sum(one.has(step) for one in self.machines))

    @property
    def is_over(self) -> bool:
        """Whether every machine offers what it came for; nobody promised that it is used."""
        last = Rung.GPUS_UP if any(one.step is Rung.GPUS_UP for one in self.stamps) else Rung.READY
        return self.done(last) >= self.wanted

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        """Steps with seconds since *asked*, as history keeps them: only those that somebody dated."""
        if self.asked_seconds is None:
            return ()
        found = ((str(one.step), one.at_seconds) for one in self.stamps if one.is_reached)
        return tuple((name, at - self.asked_seconds) for name, at in found if at is not None)


def never(earlier: Rung, later: Rung) -> None:
    """Nothing is known of what is usual."""


def growth(
    pool: Pool,
    store: StoreReader,
    now_seconds: float,
    *,
    asked: SizeAsked | None = None,
    usually: Usually = never,
    seen: Sightings = NO_SIGHTINGS,
) -> Ladder | None:
    """The growth under way, or one that was over within the last half hour; None: neither.

    `asked` tells who asked for a size last: it dates the growth that came of it, and no other.
    """
    found = pool_object(store, pool)
    nodes = _nodes(pool, store)
    pairs = _pairs(_machines(found, nodes, store), nodes)
    staying = [one for one in pairs if not _is_leaving(one, store)]
    unseen = max(0, (pool.target or 0) - sum(not _is_deleted(one) for one in pairs))
    members = _latest(staying, store, now_seconds)
    asked_seconds = None if asked is None else asked.at_seconds
    own = _since(asked_seconds, staying, members, now_seconds)
    if own or (unseen and _is_recent(asked_seconds, now_seconds)):
        members = own
    else:
        asked = asked_seconds = None
    wanted = len(members) + unseen
    if not wanted:
        return None
    steps = _steps(nodes, store)
    limits = {**_LIMITS, **_limits(found, nodes, store)}
    climb = _Climb(steps, asked_seconds, limits, usually, seen, store)
    machines = tuple(climb.machine(*one) for one in members)
    behind = min(machines, key=lambda one: one.reached) if len(machines) >= wanted else None
    stamps = _together(steps, machines, wanted, asked_seconds)
    hang = behind.hang if behind is not None else climb.hang(stamps)
    return Ladder(
        pool_key=pool.key,
        wanted=wanted,
        asked=asked,
        machines=machines,
        stamps=stamps,
        hang=hang,
    )


# ---- which machines

_Pair = tuple[Machine | None, Node | None]


def _nodes(pool: Pool, store: StoreReader) -> list[Node]:
    found = (store.by_key(Kind.NODE, name) for name in pool.node_names)
    return [one for one in found if isinstance(one, Node)]


def _machines(found: PoolObject | None, nodes: Sequence[Node], store: StoreReader) -> tuple[Machine, ...]:
    return registry.machines(found, nodes, store)


def _pairs(machines: Iterable[Machine], nodes: Sequence[Node]) -> list[_Pair]:
    """Each machine with its node, then the nodes without a machine."""
    by_name = {one.name: one for one in nodes}
    # A node is there before its machine's object names it; mostly both have the cloud's id from the start,
    # and where they do not, the node often has the machine's name.
    by_id = {one.provider_id: one.name for one in nodes if one.provider_id}
    pairs: list[_Pair] = [
        (one, by_name.pop(one.node or by_id.get(one.provider_id) or one.name, None)) for one in machines
    ]
    return [*pairs, *((None, one) for one in by_name.values())]


def _born(pair: _Pair) -> float:
    machine, node = pair
    born = machine.created_seconds if machine else node.created_seconds if node else None
    return born or 0.0


def _name(pair: _Pair) -> str:
    machine, node = pair
    return node.name if node is not None else machine.name if machine is not None else ""


def _is_deleted(pair: _Pair) -> bool:
    """Whether another one comes in its place, where the pool's number stays as it is."""
    return any(one is not None and one.deleting_seconds is not None for one in pair)


def _is_leaving(pair: _Pair, store: StoreReader) -> bool:
    """Whether it is no part of a growth: it is deleted, or about to be, or its node was."""
    machine, node = pair
    if _is_deleted(pair) or (machine is not None and has_lost_its_node(machine, store)):
        return True
    return node is not None and node_stage(node, store) == NodeStage.DRAINING


def _is_coming(pair: _Pair, store: StoreReader, now_seconds: float) -> bool:
    machine, node = pair
    if machine is not None and machine.stage is MachineStage.FAILED:
        return True
    if node is None:
        return True
    stage = node_stage(node, store)
    if stage == NodeStage.READY:  # a node without GPUs stays there; one that came just now may get some
        return node.has_gpus or now_seconds - (node.created_seconds or 0.0) < READY_LIMIT_SECONDS
    return stage in (NodeStage.JOINED, NodeStage.NOT_ADVERTISED)


def _last_began(births: Sequence[float]) -> float:
    """When the last of the growths began, of which these are the machines in order."""
    began = births[-1] if births else 0.0
    for born in reversed(births):
        if began - born > TOGETHER_SECONDS:
            break
        began = born
    return began


def _is_recent(asked_seconds: float | None, now_seconds: float) -> bool:
    return asked_seconds is not None and now_seconds - asked_seconds < RECENT_SECONDS


def _since(
    asked_seconds: float | None, staying: Sequence[_Pair], latest: Sequence[_Pair], now_seconds: float
) -> list[_Pair]:
    """Those that were made since somebody asked; none where others began a growth after that one."""
    if asked_seconds is None or not _is_recent(asked_seconds, now_seconds):
        return []
    own = sorted((one for one in staying if _born(one) >= asked_seconds - ANSWER_SECONDS), key=_born)
    is_other = own and latest and _born(latest[0]) - _born(own[0]) > TOGETHER_SECONDS
    return [] if is_other else own


def _latest(staying: Sequence[_Pair], store: StoreReader, now_seconds: float) -> list[_Pair]:
    """Those that are on their way and all that began with the first of them; with none on the way those that
    began last, while that is recent."""
    coming = [one for one in staying if _is_coming(one, store, now_seconds)]
    since = max(
        min(map(_born, coming)) if coming else _last_began(sorted(map(_born, staying))),
        now_seconds - RECENT_SECONDS,
    )
    found = coming + [one for one in staying if _born(one) >= since and one not in coming]
    return sorted(found, key=_born)


# ---- how far each has come


def _steps(nodes: Sequence[Node], store: StoreReader) -> tuple[Rung, ...]:
    """Without the one of GPUs where every node that is ready has none, and none are promised of it."""
    settled = [one for one in nodes if one.ready == "True"]
    has_none = bool(settled) and not any(
        one.has_gpus or node_stage(one, store) == NodeStage.NOT_ADVERTISED for one in nodes
    )
    return tuple(one for one in RUNGS if one is not Rung.GPUS_UP or not has_none)


def _limits(found: PoolObject | None, nodes: Sequence[Node], store: StoreReader) -> dict[Rung, float]:
    makes = registry.holder(found, nodes).traits
    decides = registry.owner_named(registry.ownership(found, nodes, store).owner).traits
    told = {**makes.step_limits, **decides.step_limits}
    return {Rung(name): seconds for name, seconds in told.items()}


class _Climb:
    """What is the same for all machines of a growth."""

    def __init__(  # noqa: PLR0917 - the growth as it is handed in
        self,
        steps: tuple[Rung, ...],
        asked_seconds: float | None,
        limits: Mapping[Rung, float],
        usually: Usually,
        seen: Sightings,
        store: StoreReader,
    ) -> None:
        self._steps, self._asked = steps, asked_seconds
        self._limits, self._usually, self._seen, self._store = limits, usually, seen, store

    def machine(self, machine: Machine | None, node: Node | None) -> MachineLadder:
        at: dict[Rung, float | None] = {Rung.ASKED: self._asked}
        if machine is not None:
            at |= _of_machine(machine)
        if node is not None:
            at |= self._of_node(machine, node)
        highest = max(_AT[step] for step in at)
        stamps = tuple(Stamp(step, _AT[step] <= highest, at.get(step)) for step in self._steps)
        return MachineLadder(
            name=machine.name if machine is not None else _name((machine, node)),
            node=node.name if node is not None else machine.node if machine is not None else "",
            uid=machine.uid if machine is not None else "",
            stamps=stamps,
            hang=self.hang(stamps),
            failure=machine.failure if machine is not None else "",
        )

    def hang(self, stamps: tuple[Stamp, ...]) -> Hang | None:
        """The first step that is not reached, counted from the last that is dated. Being used is nobody's
        promise."""
        step = next((one.step for one in stamps if not one.is_reached), Rung.USED)
        if step is Rung.USED:
            return None
        dated = [one for one in stamps if one.is_reached and one.at_seconds is not None]
        if not dated:
            return Hang(step, limit_seconds=self._limits.get(step))
        last = max(dated, key=lambda one: _AT[one.step])
        return Hang(step, last.at_seconds, self._usually(last.step, step), self._limits.get(step))

    def _of_node(self, machine: Machine | None, node: Node) -> dict[Rung, float | None]:
        at: dict[Rung, float | None] = {Rung.JOINED: node.created_seconds}
        ready = condition(node.conditions, "Ready")
        if ready is not None and ready.status == "True":
            at[Rung.READY] = ready.changed_seconds
        if node.gpu_allocatable and Rung.READY in at:
            owner_says = machine.initialized_seconds if machine is not None else None
            sighted = self._seen.at(node.uid)
            # An owner that was asked for no GPUs calls the machine whole before its driver is there.
            dated = [one for one in (owner_says, sighted) if one is not None]
            at[Rung.GPUS_UP] = max(dated, default=None)
        pods = [one for one in self._store.pods_on(node.name) if one.gpus]
        starts = [
            one.started_seconds for one in pods if one.started_seconds is not None and not one.is_placeholder
        ]
        placeholders = sum(one.gpus_allocated for one in pods if one.is_placeholder)
        if starts or self._store.requests_on(node.name).gpus > placeholders:
            used = at[Rung.USED] = min(starts, default=None)
            sighted = at.get(Rung.GPUS_UP)
            if used is not None and sighted is not None:
                at[Rung.GPUS_UP] = min(used, sighted)  # we may look late: a pod had them by then
        elif (self._seen.used(node.name) or 0.0) > (node.created_seconds or float("inf")):
            at[Rung.USED] = None  # by a pod that has gone since
        return at


def _of_machine(machine: Machine) -> dict[Rung, float | None]:
    at: dict[Rung, float | None] = {Rung.ACCEPTED: machine.created_seconds}
    stages = list(MachineStage)
    reached = stages.index(machine.stage) if machine.stage is not MachineStage.FAILED else 0
    if reached >= stages.index(MachineStage.LAUNCHING):
        at[Rung.LAUNCHING] = machine.launching_seconds
    if reached >= stages.index(MachineStage.LAUNCHED) or machine.provider_id:
        at[Rung.LAUNCHED] = machine.launched_seconds
    if reached >= stages.index(MachineStage.JOINED) or machine.node:
        at[Rung.JOINED] = machine.joined_seconds
    return at


def _together(
    steps: tuple[Rung, ...], machines: Sequence[MachineLadder], wanted: int, asked_seconds: float | None
) -> tuple[Stamp, ...]:
    """All machines as one: a step is reached when the last has, dated by it where all are dated."""
    found = []
    for step in steps:
        if step is Rung.ASKED:
            found.append(Stamp(step, is_reached=True, at_seconds=asked_seconds))
            continue
        is_reached = len(machines) >= wanted and all(one.has(step) for one in machines)
        times = [one.at(step) for one in machines]
        dated = [one for one in times if one is not None]
        found.append(
            Stamp(step, is_reached, max(dated) if is_reached and dated and len(dated) == len(times) else None)
        )
    return tuple(found)
