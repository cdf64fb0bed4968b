"""One record from the gate to the row: what is wrong with a thing, with everything that it rests on.

A finding names its cause by the id of a row of `cockpit.catalogue`. Its sentence is made last and is never
read back: what a caller needs of it stands in `facts`.
"""

from enum import IntEnum
from typing import NamedTuple

import msgspec

from cockpit.model.alert import Alert
from cockpit.model.sureness import Sureness


class Permanence(IntEnum):
    """Whether what holds a job passes: of two the one that lasts is told first."""

    NEVER = 0  # not as the job is written
    ACTS = 1  # after an action
    PASSES = 2  # by itself


class Subject(NamedTuple):
    """What a finding is about, or rests on. `kind` is job, gang, pod, node, card, queue, pool, stream, image,
    ... or a kind as Kubernetes writes it; a card's name is `node/index`, a job's namespace and name are those
    of its object. `namespace` is "" without one."""

    kind: str
    namespace: str
    name: str

    @property
    def text(self) -> str:
        """`job team-a/llm-70b`, `node gpu-h100-07`."""
        return f"{self.kind} {self.key}"

    @property
    def key(self) -> str:
        """`team-a/llm-70b`, `gpu-h100-07`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Evidence(msgspec.Struct, frozen=True, gc=False):
    """One field that the cause was read from. `value` is whole, cleaned text; `since_seconds` epoch seconds
    of its last change, None unknown."""

    object: str  # Pod team-a/llm-70b-worker-0
    field: str  # PodScheduled, event FailedCreate, spec.active, allocatable nvidia.com/gpu
    value: str
    since_seconds: float | None = None


class FilterStep(NamedTuple):
    """One filter of the funnel and how many nodes are left after it. `filter` is its id: ready, cordon,
    taints, selector, affinity, name, volume, ports, company, spread, cpu_memory, gpus, pods, claims."""

    filter: str
    words: str
    nodes: int


class Funnel(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How many of `nodes` nodes pass each filter, in the order in which they are told: what one step rules
    out is the difference to the step before, so that all of them add up to `nodes`.

    `best_free` are devices of `resource` free on `best_node`, the roomiest node that passes everything but
    room; `needed` is what one pod asks for. None: unknown, or no such resource is asked for.
    """

    nodes: int
    steps: tuple[FilterStep, ...] = ()
    best_node: str = ""
    best_free: int | None = None
    needed: int | None = None
    resource: str = ""

    @property
    def passing(self) -> int:
        """Nodes that pass every filter."""
        return self.steps[-1].nodes if self.steps else self.nodes


BETWEEN_COMMANDS = ("|", "&&")
"""Words of a command that join two: the output of the first is read, or the first has succeeded."""


class Change(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The smallest change of its kind that unblocks the subject: an offer.

    `kind`: fewer_gpus, other_pool, other_queue, wait_for, suspend, kill, raise_maximum, tolerate, fix_claim,
    delete_worker, uncordon_node, create, wait_nodes, ... `verb` is the id in the registry of verbs, "" where
    none exists yet; `command` the argv of cockpit or kubectl, of several with words of BETWEEN_COMMANDS
    between them.
    `is_checked`: on the changed view nothing blocks the subject any more: it starts. `leaves` is what then
    blocks it next, "" where it starts or where that is not known. `unknown` names the lists that it rests on
    and that are not complete (`nodes are stale`): it is not checked then. `steps` are the single changes of
    one that is several, in their order, () else.
    """

    kind: str
    words: str
    verb: str = ""
    command: tuple[str, ...] = ()
    is_checked: bool = False
    leaves: str = ""
    unknown: str = ""
    target: Subject | None = None
    steps: tuple["Change", ...] = ()


class Expected(msgspec.Struct, frozen=True, gc=False):
    """When the subject will start, as epoch seconds; both None where that is unknown. `why` tells what the
    range is from, or why it is unknown."""

    from_seconds: float | None
    to_seconds: float | None
    why: str


class KeyRemedy(msgspec.Struct, frozen=True, gc=False):
    """Something that helps: what to do, and the key that does it ("" where no key does).

    `action` is the key's id in the key table of the screens; `is_write` tells that it changes the cluster.
    """

    words: str
    key: str = ""
    action: str = ""
    is_write: bool = False

    @property
    def text(self) -> str:
        """`w why`."""
        return f"{self.key} {self.words}".strip()


NO_SUBJECT = Subject("", "", "")


class Finding(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What blocks a thing at one gate, wastes GPUs, or is broken. `cause` is the id of a catalogue row,
    "" where nothing is wrong or, with sureness UNKNOWN, where what is seen was not understood.

    `sentence` has at most 100 characters: the specific reason first, with numbers and names; long names are
    shortened in their middle. `words` is the text before its `names` were put in, "" where it was made
    otherwise. `facts` are the typed values behind it by name (selector, taint, claim, ...), whole. `root` is
    the object whose trouble this is a consequence of, or that others of the same cause share. `permanence`
    says whether it passes by itself, None: as its cause does. `unknown` names the lists that it rests on and
    that are not complete (`nodes are stale`), "" without one. `then` is what blocks as well, the most lasting
    first; `also` the causes of these and of what is known by its cause alone.

    A gate leaves `subject` open; who asked fills it in. `state` is a word of JobState where the subject is a
    job, "" else. `gpus` are devices at stake.

    What needs a human has a `finding` (job-waits, node-not-ready, ...) and is a row of *Now*: `row` is the
    key of its object, `is_bad` that it is broken (▲) and not only wasteful or waiting for a decision (●),
    `remedies` begin with what it offers, `others` counts further jobs that wait or broke for the same root.
    `alike` are the rows of many objects of one kind and cause that this row stands for, () else. `alerts` are
    those of Alertmanager about its objects: what rules say, no part of the verdict.
    """

    subject: Subject = NO_SUBJECT
    cause: str = ""
    sentence: str = ""
    sureness: Sureness = Sureness.SAID
    facts: tuple[tuple[str, str], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    funnel: Funnel | None = None
    since_seconds: float | None = None
    root: Subject | None = None
    permanence: Permanence | None = None
    unknown: str = ""
    then: tuple["Finding", ...] = ()
    also: tuple[str, ...] = ()
    words: str = ""
    names: tuple[tuple[str, object], ...] = ()
    changes: tuple[Change, ...] = ()
    expected: Expected | None = None
    state: str = ""
    gpus: int = 0
    finding: str = ""
    row: str = ""
    is_bad: bool = False
    remedies: tuple[KeyRemedy, ...] = ()
    others: int = 0
    alike: tuple["Finding", ...] = ()
    alerts: tuple[Alert, ...] = ()

    @property
    def key(self) -> str:
        """`finding:key of its object`: no two rows of *Now* have the same."""
        return f"{self.finding}:{self.row}"

    @property
    def glyph(self) -> str:
        """▲ where something is broken, ● else."""
        return "▲" if self.is_bad else "●"

    @property
    def title(self) -> str:
        """What a person calls the subject: `team-a/llm-70b`, `node gpu-h100-07`."""
        return self.subject.text if self.subject.kind in ("node", "pod", "namespace") else self.subject.key

    @property
    def is_trouble(self) -> bool:
        """True where something holds the subject or is wrong with it."""
        return bool(self.cause) or (self.sureness is Sureness.UNKNOWN and bool(self.sentence))

    def fact(self, name: str) -> str:
        """The value of a fact, "" where it is not known."""
        return next((value for key, value in self.facts if key == name), "")
