"""The columns of the catalogue, and the texts by which a cause is known."""

import re
from enum import Enum, StrEnum
from functools import cache
from typing import NamedTuple

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.model.finding import Permanence


class TextPlace(Enum):
    """Where a component writes a text."""

    NODES = "a part of the scheduler's sentence, behind a number of nodes"
    POD = "the scheduler's sentence about the whole pod"
    CREATE = "an event about objects that a controller could not create"
    KUBELET = "what a kubelet says of a container or a pod: a message or an event"
    LOG = "the last line that a container wrote"


class Gate(StrEnum):
    """Where a job is held, in the order in which it passes them."""

    CREATION = "its pods do not exist"
    QUEUE = "a queue or its gang holds it"
    PLACEMENT = "a pod has no node"
    START = "on a node, and not running"
    PROGRESS = "runs, and does not train"


class Mender(StrEnum):
    """Who can mend a cause."""

    USER = "user"
    ADMIN = "admin"
    INFRA = "infra"


class Lift(StrEnum):
    """What has to come before a cause is gone: whether a change of the cluster can be weighed against it."""

    NUMBERS = "numbers"  # computed again from what the cluster has
    COMPONENT = "component"  # its component asks for something, whatever seats and quota there are
    TIME = "time"  # by itself, without any change


class Unwatched(StrEnum):
    """Objects that no watch covers: read where a row tells a cause that they may prove, refute or tell
    better."""

    CLAIMS = "claims"  # volume claims of the namespace, their volumes and classes
    DEVICES = "devices"  # device claims of the namespace and their templates
    ENGINE = "engine"  # queues of the job's engine, and classes of priority in a queue
    OWN = "own"  # the job's own object


class RootPlace(StrEnum):
    """Where the object is that a fact names."""

    CLUSTER = "cluster"  # it has no namespace
    NAMESPACE = "namespace"  # in the namespace of the subject
    KEY = "key"  # the fact is its namespace and name
    QUEUE = "queue"  # the queue of the subject, or the one behind it that takes nothing
    POOL = "pool"  # the pool of the node that the fact names


class RootFact(NamedTuple):
    """A kind of object, which may be a fact in braces, and the fact that names the object; with fact "" it is
    the subject's namespace, or the only one of its kind."""

    kind: str
    fact: str = ""
    place: RootPlace = RootPlace.CLUSTER


class ListOf(NamedTuple):
    """A kind, of all namespaces or of the subject's own."""

    kind: str
    is_wide: bool = False


class Trait(StrEnum):
    """What causes of several rows share."""

    NODE_LIKE_THESE = "node-like-these"  # one more node of a kind that is there would mend it
    OTHER_NODE = "other-node"  # a new node of another kind than those there would
    LOST_GPUS = "lost-gpus"  # it may come from GPUs that nodes have lost
    FOLLOWS_PREEMPTION = "follows-preemption"  # a preemption explains it
    PREEMPTION_HELPS = "preemption-helps"  # room is all that misses
    FINAL = "final"  # the pod never runs, whatever comes
    ENDS_MEMBER = "ends-member"  # told of a member that failed, before that the job does not replace it
    HANGS = "hangs"  # told by the log of a job whose members all run


class Wording(msgspec.Struct, frozen=True):
    """One text, and the regular expression that knows it; of a kubelet's texts it sees `Reason: message`.
    `words` is the sentence, with the names of the pattern's groups in braces; for `TextPlace.NODES` what
    comes after "1 node", and `many` what comes after "2 nodes". `is_consequence` marks members that only wait
    for a sibling."""

    place: TextPlace
    regex: str
    words: str
    many: str = ""
    is_consequence: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.regex)


class CatalogueRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. `where` names the fields that show it; `remedy` is a sentence. `yields_to` are causes, or
    all of a gate that are not general themselves, beside which it is only what follows from them. `is_story`:
    it is what several objects do to each other, so that the own cause of one of them is told before. Of
    `roots` the first whose fact is known names the object that all subjects share of which it is told;
    without any the cause is the subject's own. `rests_on` are lists that may refute it, or tell another one,
    by what they hide; without any it rests on what a component said of the subject itself. `specificity`
    orders causes that the scheduler counts nodes for, the lowest first; 0 where it counts none."""

    cause: Cause
    gate: Gate
    where: str
    meaning: str
    remedy: str
    mender: Mender
    permanence: Permanence
    source: str
    wordings: tuple[Wording, ...] = ()
    yields_to: tuple[Cause | Gate, ...] = ()
    is_story: bool = False
    lifted_by: Lift = Lift.COMPONENT
    roots: tuple[RootFact, ...] = ()
    rests_on: tuple[ListOf, ...] = ()
    unwatched: Unwatched | None = None
    traits: frozenset[Trait] = frozenset()
    specificity: int = 0


@cache  # compiled when they are first asked for: not while the cockpit starts
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
