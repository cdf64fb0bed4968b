"""The catalogue of causes as data: a row for each way in which a GPU job or pod waits or is broken.

A file for each gate that a job passes (`placement.toml`), of the columns of `CatalogueRow`. Components'
wordings move between releases, so they are data: tolerant patterns, tried in order.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from cockpit.catalogue.cause import Cause as Cause
from cockpit.model.finding import Finding
from cockpit.model.finding import Permanence as Permanence
from cockpit.model.sureness import Sureness


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
    for a sibling. `permanence` None: as its cause does."""

    place: TextPlace
    regex: str
    words: str
    many: str = ""
    is_consequence: bool = False
    permanence: Permanence | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.regex)


class CauseSentence(NamedTuple):
    """What this house says of a cause, with the names in braces that tell it."""

    words: str
    sureness: Sureness = Sureness.SAID
    permanence: Permanence | None = None  # None: as its cause does


class RemedyWay(NamedTuple):
    """A part of what helps. `kinds` of offers carry it out; without any nothing that is tried tells whether
    it does."""

    words: str
    kinds: tuple[str, ...] = ()


class CauseRemedy(NamedTuple):
    """What helps against a cause: the whole sentence, and its parts where offers tell which of them do."""

    sentence: str
    ways: tuple[RemedyWay, ...] = ()

    def beside(self, kinds: frozenset[str]) -> str:
        """The sentence beside offers of these kinds, which were tried: it promises nothing that none of them
        does. Without any offer it is what helps in general."""
        kept = [one for one in self.ways if not one.kinds or not kinds.isdisjoint(one.kinds)]
        return _sentence(kept) if kinds and kept else self.sentence


class CatalogueRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cause. `says` are the sentences that are told of it, by what tells them apart; "" is the only one
    of its kind. `where` names the fields that show it; `remedy` is what helps. `yields_to` are causes, or
    all of a gate that are not general themselves, beside which it is only what follows from them. `is_story`:
    it is what several objects do to each other, so that the own cause of one of them is told before. Of
    `roots` the first whose fact is known names the object that all subjects share of which it is told;
    without any the cause is the subject's own. `rests_on` are lists that may refute it, or tell another one,
    by what they hide; without any it rests on what a component said of the subject itself. `specificity`
    orders causes that the scheduler counts nodes for, the lowest first; 0 where it counts none."""

    cause: str
    gate: Gate | None
    where: str
    meaning: str
    remedy: CauseRemedy
    mender: Mender
    permanence: Permanence
    source: str
    says: Mapping[str, CauseSentence] = {}
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


_PLACES: Final = {**{place.name.lower(): place for place in TextPlace}, "consequence": TextPlace.POD}
_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "mender": Mender,
    "permanence": lambda name: Permanence[name.upper()],
    "lifted_by": Lift,
    "unwatched": Unwatched,
    "yields_to": lambda names: tuple(Gate[one] if one.isupper() else Cause(one) for one in names),
    "roots": lambda facts: tuple(RootFact(*one[:2], *map(RootPlace, one[2:])) for one in facts),
    "rests_on": lambda lists: tuple(ListOf(kind.removeprefix("all "), "all " in kind) for kind in lists),
    "traits": lambda names: frozenset(map(Trait, names)),
    "remedy": lambda told: _remedy(told),
    "says": lambda said: {key: _said(*one) for key, *one in _each(said)},
}
"""How a column of a file is read, where it is not as it stands there."""


def _each(said: str | list[list[str]]) -> list[list[str]]:
    return [["", said]] if isinstance(said, str) else said


def _remedy(told: str | list[str | list[str]]) -> CauseRemedy:
    if isinstance(told, str):
        return CauseRemedy(told)
    each = [[one] if isinstance(one, str) else one for one in told]
    ways = tuple(RemedyWay(words, tuple(kinds)) for words, *kinds in each)
    return CauseRemedy(_sentence(ways), ways)


def _sentence(ways: Sequence[RemedyWay]) -> str:
    """`Wait, ask for less, or add nodes.`"""
    words = [one.words for one in ways]
    comma = "," if len(words) > 2 else ""
    text = " or ".join(([", ".join(words[:-1]) + comma] if words[1:] else []) + words[-1:])
    return f"{text[:1].upper()}{text[1:]}."


def _said(words: str, *marks: str) -> CauseSentence:
    sure = (Sureness[one.upper()] for one in marks if one.upper() in Sureness.__members__)
    passing = (Permanence[one.upper()] for one in marks if one.upper() in Permanence.__members__)
    return CauseSentence(words, next(sure, Sureness.SAID), next(passing, None))


@cache  # read when a cause is first asked about: not while the cockpit starts
def by_cause() -> Mapping[str, CatalogueRow]:
    """All rows, by gate and in the order of its file. Raises KeyError, TypeError, ValueError where a file has
    a cause or column that there is not."""
    return {row.cause: row for row in _rows()}


def _rows() -> Iterator[CatalogueRow]:
    for gate in Gate:
        text = Path(__file__).with_name(f"{gate.name.lower()}.toml").read_text(encoding="utf-8")
        tables: dict[str, Any] = tomllib.loads(text)
        usual = {name: value for name, value in tables.items() if not isinstance(value, dict)}
        for name, columns in tables.items():
            if name not in usual:
                yield _row(Cause(name), gate, {**usual, **columns})


def _row(cause: Cause, gate: Gate, columns: Mapping[str, Any]) -> CatalogueRow:
    wordings = tuple(
        Wording(
            place,
            texts[0],
            texts[1],
            many=texts[-1],
            is_consequence=name == "consequence",
            permanence=_said(*texts[1:]).permanence,
        )
        for name, some in columns.items()
        if (place := _PLACES.get(name)) is not None
        for texts in some
    )
    read = {name: _READ[name](one) if name in _READ else one for name, one in columns.items()}
    others = {name: one for name, one in read.items() if name not in _PLACES}
    return CatalogueRow(cause=cause, gate=gate, wordings=wordings, **others)


_NOTHING: Final[dict[str, Any]] = dict.fromkeys(("cause", "where", "meaning", "source"), "")
_UNKNOWN: Final = CatalogueRow(
    **_NOTHING, remedy=CauseRemedy(""), gate=None, mender=Mender.ADMIN, permanence=Permanence.PASSES
)


class Understood(NamedTuple):
    """What a text means: the cause, the wording that fits, and the names that it holds ("" for a part left
    out)."""

    cause: str
    wording: Wording
    names: Mapping[str, str]


@cache
def _wordings(place: TextPlace) -> tuple[tuple[str, Wording], ...]:
    rows = by_cause().values()
    return tuple((row.cause, wording) for row in rows for wording in row.wordings if wording.place is place)


def understand(place: TextPlace, text: str) -> Understood | None:
    """The first wording of that place that fits the text, None where none does."""
    for cause, wording in _wordings(place):
        found = wording.pattern.search(text)
        if found is not None:
            names = {name: (value or "").strip() for name, value in found.groupdict().items()}
            return Understood(cause, wording, names)
    return None


def row_of(cause: str) -> CatalogueRow:
    """Of a cause that the catalogue does not know one without a gate: it may pass by itself."""
    return by_cause().get(cause, _UNKNOWN)


def is_a(cause: str, trait: Trait) -> bool:
    """Whether the cause has what these causes share."""
    return trait in row_of(cause).traits


def lasts(found: Finding) -> Permanence:
    """Whether what was found passes by itself: as it says, else as its cause does."""
    return row_of(found.cause).permanence if found.permanence is None else found.permanence


def yields(general: str, special: str) -> bool:
    """Whether one cause says less than another that holds as well."""
    row, other = row_of(general), row_of(special)
    if special in row.yields_to:
        return True
    return other.gate in row.yields_to and general not in other.yields_to and row.gate not in other.yields_to
