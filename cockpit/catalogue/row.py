"""The form of a row of the catalogue, and of the texts by which it is known."""

import re
from enum import Enum, StrEnum
from functools import cache

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


class Wording(msgspec.Struct, frozen=True):
    """One text, and the regular expression that knows it. `words` is the sentence, with the names of the
    pattern's groups in braces; for `TextPlace.NODES` what comes after "1 node", and `many` what comes after
    "2 nodes". `is_consequence` marks members that only wait for a sibling."""

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
    it is what several objects do to each other, so that the own cause of one of them is told before."""

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


@cache  # compiled when they are first asked for: not while the cockpit starts
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def on_nodes(pattern: str, one: str, many: str = "") -> Wording:
    """A part of the scheduler's sentence; without `many` the words serve any number."""
    return Wording(TextPlace.NODES, pattern, one, many or one)


def of_pod(pattern: str, words: str, *, is_consequence: bool = False) -> Wording:
    """The scheduler's sentence about the whole pod."""
    return Wording(TextPlace.POD, pattern, words, is_consequence=is_consequence)


def on_create(pattern: str, words: str) -> Wording:
    """A refusal of the API server, told by a controller."""
    return Wording(TextPlace.CREATE, pattern, words)


def of_kubelet(pattern: str, words: str) -> Wording:
    """A text of a kubelet; patterns see `Reason: message`."""
    return Wording(TextPlace.KUBELET, pattern, words)


def in_log(pattern: str, words: str) -> Wording:
    """The last line of a container."""
    return Wording(TextPlace.LOG, pattern, words)


def row(  # noqa: PLR0917 - the columns of a table
    cause: Cause,
    gate: Gate,
    meaning: str,
    remedy: str,
    mender: Mender,
    permanence: Permanence,
    source: str,
    where: str,
    *wordings: Wording,
    yields_to: tuple[Cause | Gate, ...] = (),
    is_story: bool = False,
) -> CatalogueRow:
    """A row by its columns, in the order in which a gate's table has them."""
    return CatalogueRow(
        cause=cause,
        gate=gate,
        where=where,
        meaning=meaning,
        remedy=remedy,
        mender=mender,
        permanence=permanence,
        source=source,
        wordings=wordings,
        yields_to=yields_to,
        is_story=is_story,
    )
