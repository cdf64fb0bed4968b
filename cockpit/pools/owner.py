"""What a pool owner can do, a small protocol for each ability, and the values by which it answers: a package
lists the abilities that its owner has, and implements each whole. `cockpit.pools.registry` answers who has
which.

No method does I/O: what has to be sent is a tuple of calls. An owner whose state is in the cluster reads it
from the store. One whose state is not (a cloud's API, a command) is read on demand by a room of its own; what
was read becomes a `PoolObject` like any other, put into the store as a batch of `Kind.POOL` with its own
scope and with `read_seconds`, the age of all that is said of it. Its `api_version` is that of
`OwnerTraits.stands_for`; its `resource_version` is what guards its writes, "" where the owner has none.
Instances that are no nodes yet become `Machine` records likewise. A call that does not go to the API server
names in `Call.via` who sends it; its method, path and body are then words of that sender.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import msgspec

from cockpit.errors import BadInput
from cockpit.model.event import Event
from cockpit.model.node import Node, Taint
from cockpit.model.plan import Call
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine, PoolObject, PoolRequirement
from cockpit.model.reach import Outside
from cockpit.model.record import Labels, label
from cockpit.model.right import Ways
from cockpit.model.store_reader import StoreReader
from cockpit.model.watched import Watched
from cockpit.pools.capacity import CapacityWish, DemandWay
from cockpit.pools.keepers import Budgets, Keeper

Nodes = Sequence[Node]
KnownPool = tuple[PoolObject | None, Nodes]
"""A pool that is found by its object, or by labels of nodes."""
MERGE_PATCH = "application/merge-patch+json"
REMOVAL_TAINT = "gpu-cockpit/removal"
"""Key of the taint of a node that a cockpit is about to have removed, whoever owns its pool."""
_MOST_NAMED = 4


class Capability(msgspec.Struct, frozen=True):
    """Whether one thing can be done to a pool from here. `may` None: not known yet, `why_not` says what for.

    `how` is the mechanism as the field calls it (`scale subresource`, `annotation`), "" where it may not.
    """

    may: bool | None
    why_not: str = ""  # one sentence, "" where it may
    how: str = ""


NO_HANDLE = Capability(False, "no object in this cluster and no configured cloud controls it")


def through(how: str) -> Capability:
    """It may be done, by that mechanism."""
    return Capability(True, "", how)


def refused(why_not: str) -> Capability:
    """It may not be done from here, for that reason."""
    return Capability(False, why_not)


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner says about the size of its pool.

    `may_resize`: set the number of nodes; `may_limit`: change the maximum; `may_demand`: have nodes come by
    asking for capacity; `may_remove`: have nodes of our choice go. `handle` is what would let this be done
    from here where it can't be, "" otherwise. `read_seconds` is when it was read where it is not watched.
    `coming` is how many nodes it waits for, below 0 those that it takes away; None where it does not say, or
    an object of the pool has the number.
    `fault` is what is wrong with the bounds, of which none is then told, "" where nothing is. `is_paused`:
    its object is, so that no controller follows a new number.
    """

    owner: str  # name of the PoolOwner that decides the size
    minimum: int | None = None
    maximum: int | None = None
    coming: int | None = None
    may_resize: Capability = NO_HANDLE
    may_limit: Capability = NO_HANDLE
    may_demand: Capability = NO_HANDLE
    may_remove: Capability = NO_HANDLE
    handle: str = ""
    read_seconds: float | None = None
    fault: str = ""
    is_paused: bool = False

    @property
    def why_not(self) -> str:
        """Why the number of nodes can't be set from here: who decides it instead. "" where it can."""
        return "" if self.may_resize.may else self.may_resize.why_not


class FailureClass(enum.Enum):
    """Why machines do not come, by what is to be done about it."""

    QUOTA = "quota"  # ask for more
    STOCKOUT = "stockout"  # the cloud has none: another zone or type, or later
    LIMIT = "limit"  # of the pool, or of the whole cluster
    PERMISSION = "permission"  # the owner itself may not
    OWNER_CONFLICT = "owner conflict"  # two decide one size
    MISMATCH = "taint or selector mismatch"  # nodes of the pool would not suit who waits
    TIMEOUT = "timeout"  # nothing was said in time
    BOUNDS = "invalid bounds"  # of the pool: its autoscaler leaves it out
    NO_AUTOSCALER = "no autoscaler"  # the one that decides the size does not work
    JOIN = "join failure"  # the machine runs and is no node
    NODE_DELETED = "node deleted"  # its machine runs, and registers no node again
    NO_GPUS = "GPU never advertised"  # the node is Ready without its GPUs
    THROTTLED = "throttled"  # asked too often: nothing was done
    CREDENTIALS = "credentials"  # of this host, at the cloud: expired, or none
    SETUP = "setup"  # this host cannot ask the cloud as it is configured
    GONE = "gone"  # the cloud does not know the pool
    IN_PROGRESS = "in progress"  # somebody else's change is under way
    OTHER = "other"


class PoolFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One reason why machines of a pool do not come. `sentence` and `remedy` are for people.

    `said` is the text it was read from, `source` who wrote it (`event FailedScaleUp`).
    """

    kind: FailureClass
    sentence: str
    remedy: str
    source: str = ""
    said: str = ""
    code: str = ""  # the cloud's or the owner's own, "" unknown
    since_seconds: float | None = None
    machine: str = ""  # uid of the machine it concerns, "" for the pool
    is_past: bool = False  # it was said once, by an event: a machine that came later has healed it
    is_part: bool = False  # of a part of the pool, the rest of which may still grow


class GroupRefusal(NamedTuple):
    """`groups` node groups are not grown for a pod. `is_full`: they are at their maximum, or with `is_of_all`
    all groups are together; `is_waiting`: they back off, or are not ready. Neither says that the group would
    serve the pod: such groups are passed over before that is looked at. With neither it does not suit the
    pod."""

    groups: int
    reason: str
    is_full: bool = False
    is_waiting: bool = False
    is_of_all: bool = False


class NodeTemplate(NamedTuple):
    """What the object of a pool promises of each of its nodes: `gpus` devices of `resource`, None where how
    many is not told. Labels of which `requirements` leave the choice get the value that pods ask for. A pod
    that selects one of `names` by any label means the pool."""

    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    gpus: int | None = None
    most_gpus: int | None = None  # where it may choose among several numbers
    resource: str = "nvidia.com/gpu"
    requirements: tuple[PoolRequirement, ...] = ()
    open_prefixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class OwnerWords(NamedTuple):
    """What an owner said last, in its own words, and where that stands."""

    text: str
    source: str = ""
    at_seconds: float | None = None


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """How far somebody is with taking a node away. `left_seconds` None: nobody tells when the next stage
    comes. `may_stay`: what keeps nodes of its pool keeps it as well."""

    stage: str
    may_stay: bool = False
    since_seconds: float | None = None
    left_seconds: float | None = None


class OwnerTraits(msgspec.Struct, frozen=True, kw_only=True):
    """What is always so of an owner; `cockpit.pools.owner` has what it can do."""

    name: str  # as people write it, also within a sentence
    decides_size: bool = True  # False for the one that is asked last: it knows of no one that does
    marks_all: bool = False  # each of its nodes carries its mark: one without it is not among them
    pool_kinds: tuple[Watched, ...] = ()
    """Its objects that own a number of machines; kind is `Kind.POOL`."""
    size_field: str = "replicas"
    """In `spec` of these: the number that is wanted."""
    stands_for: str = ""
    """`api_version` of what stands for those of its pools that are no objects of the cluster."""
    watched: tuple[Watched, ...] = ()
    """Kinds besides that it lives by: its machines, its own status."""
    demand_ways: tuple[DemandWay, ...] = ()
    """How it can be asked for capacity, the surest first (`cockpit.pools.capacity`)."""
    kept_reasons: tuple[str, ...] = ()
    """Reasons of events that tell why its machines do not come: kept when the cluster forgets them."""
    going_taints: tuple[str, ...] = ()
    """Keys of taints of nodes that it is taking away."""
    taint_words: Mapping[str, str] = {}
    """Keys of taints by which it means to take a node away, each with what that is to the node."""
    node_label: str = ""
    """On each of its nodes, with the name of the pool; "" where other marks tell (`MarksNodes`)."""
    keep_annotation: str = ""
    """On a node: it does not take the node away while the value is `true`. "" where nothing tells it so."""
    step_limits: Mapping[str, float] = {}
    """Seconds from the step before after which it gives a machine up, by the step that it then misses
    (`cockpit.pools.ladder.Rung`)."""
    log_labels: frozenset[tuple[str, str]] = frozenset()
    """Labels of the pods in which it runs, any of which will do; none where it runs elsewhere."""
    flags: tuple[str, ...] = ()
    """Names of flags on its command line by which it takes nodes away; () where none tells that."""
    image_word: str = ""
    """Part of the name of its image, by which its Deployment is found where its labels are others."""
    idle_words: str = "removes idle nodes later by its own rules"
    """What it does later with nodes that idle: what follows its name in a sentence."""

    def holds(self, found: PoolObject) -> bool:
        """Whether that object is one of its own."""
        if self.stands_for:
            return found.api_version == self.stands_for
        group = found.api_version.partition("/")[0]
        return any(found.kind == one.api_kind and group == one.group for one in self.pool_kinds)

    def object_of(self, node: Node, objects: Sequence[PoolObject]) -> PoolObject | None:
        """The pool that the node's label names; None where none does."""
        name = label(node.labels, self.node_label) if self.node_label else ""
        return next((one for one in objects if one.name == name and self.holds(one)), None) if name else None

    def knows(self, node: Node) -> bool:
        """Whether the node carries that label."""
        return bool(self.node_label) and bool(label(node.labels, self.node_label))


def plain_template(found: PoolObject, selected: Labels) -> NodeTemplate:
    """What the template of the object says of its nodes, which carry the labels `selected` as well."""
    labels = tuple(dict((*found.template_labels, *selected)).items())
    return NodeTemplate(labels, found.template_taints, requirements=found.requirements)


def common_labels(found: PoolObject | None, nodes: Nodes) -> Labels:
    """Labels of the object's template that all its nodes carry, else the label by which they name their pool;
    () where neither tells them from others."""
    own = found.template_labels if found is not None else ()
    if not nodes:
        return own
    carried = frozenset.intersection(*(frozenset(one.labels) for one in nodes))
    named = {(one.pool_label, one.pool) for one in nodes if one.pool_label and one.pool}
    return tuple(pair for pair in own if pair in carried) or tuple(sorted(named & carried))


@runtime_checkable
class PoolOwner(Protocol):
    """Whoever makes and removes the machines of a pool, or decides how many."""

    traits: ClassVar[OwnerTraits]

    def ownership(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> Ownership:
        """Who decides the size, and what may be done from here. `found` None: known from its nodes alone."""


@runtime_checkable
class MarksNodes(Protocol):
    """Its nodes tell whose they are, by other marks than `OwnerTraits.node_label`."""

    def object_of(self, node: Node, objects: Sequence[PoolObject]) -> PoolObject | None:
        """The pool that the node's own marks name, of all objects that there are; None where none do."""

    def knows(self, node: Node) -> bool:
        """Whether the node is one of its own, where no object is seen that the node belongs to."""


@runtime_checkable
class ReadsOutside(PoolOwner, Protocol):
    """Its state is outside the cluster."""

    def unread(self, pool: str, nodes: Nodes, outside: Outside) -> PoolObject | None:
        """What stands for the pool of that name until it is read, with how to reach it; None where it is not
        one of its own, or how it is reached is not configured."""


@runtime_checkable
class PromisesNodes(PoolOwner, Protocol):
    """Its objects say more of their nodes than the labels and taints of their template."""

    def template(self, found: PoolObject) -> NodeTemplate:
        """The nodes that the object promises, for a pool without nodes."""

    def selector(self, found: PoolObject | None, nodes: Nodes) -> Labels:
        """Labels by which a pod chooses nodes of the pool, () where none tell them from others."""


@runtime_checkable
class TakesOver(PoolOwner, Protocol):
    """It decides the size of pools that another owner holds."""

    def takes_over(
        self, says: Ownership, found: PoolObject | None, nodes: Nodes, truth: StoreReader
    ) -> Ownership:
        """What is left of what the holder says, where this owner decides the size.

        Two owners of one size undo each other: the answer refuses, and says so.
        """

    def told_pools(self, truth: StoreReader, known: Sequence[KnownPool]) -> tuple[PoolObject, ...]:
        """What stands for pools that its own word alone tells of, and that are none of those known."""

    def words(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[OwnerWords, ...]:
        """What it said of the pool besides the events of its object, the newest first."""

    def refusals(self, event: Event) -> tuple[GroupRefusal, ...]:
        """Why groups are not grown for the pod of the event, as it counts them; () for any other event."""

    def troubles(self, truth: StoreReader) -> tuple[PoolFailure, ...]:
        """What is wrong with itself, for whichever pool it is asked."""


@runtime_checkable
class ScalesDown(PoolOwner, Protocol):
    """It takes nodes away by its own rules."""

    def removal(
        self, node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets = None
    ) -> Removal | None:
        """How far it is with taking that node away; None where it does not mean to, or something holds it."""

    def node_keepers(
        self, node: Node, truth: StoreReader, now_seconds: float, budgets: Budgets = None
    ) -> tuple[Keeper, ...]:
        """What of the node and its pods makes it leave the node where it is, () where nothing does."""

    def pool_keepers(self, node: Node, truth: StoreReader, now_seconds: float) -> tuple[Keeper, ...]:
        """What of the pool makes it leave the node where it is, likewise."""

    def empty_since(self, node: Node, machine: Machine | None) -> float | None:
        """Since when it takes the node for empty, epoch seconds; None where it does not say."""


@runtime_checkable
class StartedByFlags(PoolOwner, Protocol):
    """When it takes nodes away is told by its command line: `traits.flags`, read into `Kind.OWNER_FLAGS`."""

    def namespace(self, truth: StoreReader) -> str:
        """Where it runs, "" where it is not seen to work in this cluster: its flags are not read then."""

    def scale_down_words(self, truth: StoreReader) -> str:
        """When it removes unneeded nodes, as the rest of a sentence after its name."""


@runtime_checkable
class RollsOut(PoolOwner, Protocol):
    """Its objects own others, and replace machines."""

    def is_pool(self, found: PoolObject) -> bool:
        """False for an object of its own that is part of another."""

    def is_rolling_out(self, found: PoolObject, truth: StoreReader) -> bool:
        """Whether it replaces the machines of the pool: no autoscaler takes nodes from it meanwhile."""

    def stopped_by(self, found: PoolObject) -> str:
        """Path of the object that, while it is paused, keeps a new size from being followed; "" for none."""


@runtime_checkable
class SetsSize(PoolOwner, Protocol):
    """It can be told a number of nodes and a maximum, each where `Ownership` says that it may."""

    def resize_calls(self, found: PoolObject, replicas: int) -> tuple[Call, ...]:
        """Set the number of nodes: absolute, guarded by uid and resource version."""

    def resize_rights(self, found: PoolObject) -> Ways:
        """What the cluster must allow for that; () where it is not the cluster that allows it."""

    def limit_calls(self, found: PoolObject, maximum: int) -> tuple[Call, ...]:
        """Set the maximum, likewise."""

    def limit_rights(self, found: PoolObject) -> Ways:
        """What the cluster must allow for that."""


@runtime_checkable
class RemovesNodes(PoolOwner, Protocol):
    """It can be told which nodes go."""

    def removal_calls(self, found: PoolObject, nodes: Nodes, truth: StoreReader) -> tuple[Call, ...]:
        """Have the machines of just these nodes go, and no others come for them. Only asked where it may.

        Raises BadInput where one of them is not known.
        """


@runtime_checkable
class MarksMachines(PoolOwner, Protocol):
    """A mark on a machine makes it the one that a smaller number takes."""

    def choosing_calls(self, machines: Sequence[Machine]) -> tuple[Call, ...]:
        """What makes these machines the ones that a smaller number takes."""

    def unmark_calls(self, machine: Machine) -> tuple[Call, ...]:
        """Take back what `choosing_calls` noted on a machine that is to stay; () where it bears nothing of
        ours."""

    def mark_of(self, machine: Machine) -> str:
        """The annotation, whoever set it, by which the machine goes before others when its pool shrinks; ""
        where it bears none."""


@runtime_checkable
class TakesEmptyFirst(PoolOwner, Protocol):
    """A smaller number takes nodes without work before all others."""

    def takes_for_busy(self, node: Node, truth: StoreReader) -> tuple[Pod, ...]:
        """Pods by which it does not call this node empty, although no work is left on it."""


@runtime_checkable
class MakesMachines(PoolOwner, Protocol):
    """It makes a machine that no pending pod asks for, within limits of its own."""

    machine_kind: ClassVar[Watched]
    """What it is told of one machine by."""

    def machine_calls(
        self, template: Mapping[str, Any], wish: CapacityWish, names: Sequence[str]
    ) -> tuple[Call, ...]:
        """Have it make machines of these names from the pool's object as the API gave it."""

    def machine_lines(self, found: PoolObject) -> tuple[str, ...]:
        """What it does with such machines."""

    def no_room(self, found: PoolObject, nodes: int, gpus: int | None) -> str:
        """Why it would not add so many nodes, of so many GPUs each where that is known; "" where it may."""

    def limit_lines(self, found: PoolObject) -> tuple[str, ...]:
        """What bounds the pool besides its number of nodes, with what of it is used."""

    def page_lines(self, found: PoolObject, nodes: Nodes, now_seconds: float) -> tuple[str, ...]:
        """The same for the page of the pool, and how many of its nodes it would take away now."""

    def idle_words(self, found: PoolObject | None) -> str:
        """What it does later with nodes that idle: what follows its name in a sentence."""


@runtime_checkable
class HasMachines(PoolOwner, Protocol):
    """It tells of machines before they are nodes, and why they do not come."""

    def machines(self, found: PoolObject | None, nodes: Nodes, truth: StoreReader) -> tuple[Machine, ...]:
        """Machines of the pool, oldest first: with a node and without, also those that are going."""

    def failures(
        self, found: PoolObject | None, nodes: Nodes, truth: StoreReader, now_seconds: float
    ) -> tuple[PoolFailure, ...]:
        """Why machines do not come, the newest first."""


def without_bounds(says: Ownership, fault: str) -> Ownership:
    """The same where the bounds cannot be believed: nothing grows the pool until they are corrected."""
    no = refused(f"{fault}; correct it first")
    return msgspec.structs.replace(
        says, minimum=None, maximum=None, may_resize=no, may_demand=no, may_remove=no, fault=fault
    )


def guarded(found: PoolObject | Machine) -> dict[str, str]:
    """`metadata` of a patch that only meets the object that was shown."""
    return {"uid": found.uid, "resourceVersion": found.resource_version}


def target_of(found: PoolObject) -> str:
    """What a person calls the object: its kind and key."""
    return f"{found.kind.lower()} {found.key}"


def in_order(machines: Iterable[Machine]) -> tuple[Machine, ...]:
    """Oldest first."""
    return tuple(sorted(machines, key=lambda one: (one.created_seconds or 0.0, one.name)))


def machines_of(nodes: Nodes, machines: Iterable[Machine]) -> tuple[Machine, ...]:
    """The machine of each node, in their order. Raises BadInput where one has none."""
    by_node = {one.node: one for one in machines}
    missing = [one.name for one in nodes if one.name not in by_node]
    if missing:
        more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
        names = ", ".join(missing[:_MOST_NAMED])
        raise BadInput(f"no machine of {names}{more} is seen, so just these cannot be removed")
    return tuple(by_node[node.name] for node in nodes)
