"""What a script of a catalogue row can do, and what it must tell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from cockpit.model.finding import Subject
from tests.triage.case import Tree
from tests.triage.draw import Draw

PATIENCE_SECONDS = 75.0
"""For one word; the node controller needs 50 s to call a node lost."""

Seen = Callable[[Tree], bool]


class Lasts(IntEnum):
    """How lasting a fault is: of two in one job the lower one is the headline."""

    NEVER_PASSES = 0  # as the job and the cluster are written
    UNTIL_MENDED = 1  # passes when a person or a controller acts
    BY_ITSELF = 2


@dataclass(frozen=True)
class Expected:
    """What a script injected: the row that explains the subject, and what its sentence has to name.

    `also` are further causes that hold; `top` is the right answer where the script's row is a consequence.
    `later_seconds` pass between the last word of a component and the look, in which nothing happens.
    `logs` are last lines by `namespace/pod/container`.
    """

    subject: Subject
    names: tuple[str, ...]
    also: tuple[str, ...] = ()
    later_seconds: float = 45.0
    logs: Mapping[str, list[str]] = field(default_factory=dict)
    metrics: str = ""
    top: str = ""


class Stage(Protocol):
    """A cluster that a script plays on: real, or on paper."""

    draw: Draw
    space: str  # the namespace of the case; it is there

    def make(self, *trees: Tree) -> None:
        """Create objects, in order; those of namespaced kinds without a namespace in the case's."""

    def patch(self, kind: str, name: str, change: Tree, *, part: str = "", space: str = "") -> None:
        """Merge patch an object of a collection (`pods`); `part` is a subresource, as `status`."""

    def remove(self, kind: str, name: str) -> None:
        """Ask for an object's deletion."""

    def until(
        self, kind: str, seen: Seen, *, space: str = "", patience_seconds: float = PATIENCE_SECONDS
    ) -> Tree:
        """The first object of a collection that `seen` is true for. Raises TimeoutError."""

    def until_gone(self, kind: str, name: str) -> None:
        """Until an object of the case's namespace is deleted. Raises TimeoutError."""

    def get(self, kind: str, *, space: str = "") -> list[Tree]:
        """The objects of a collection now: in a namespace, or of the cluster."""


Play = Callable[[Stage], Expected]


ENGINES = ("kueue", "mpi-operator")
"""Components of which the bed has two generations."""


@dataclass(frozen=True)
class Script:
    """One way to come by one row. `source` is the component whose words are recorded, "" for a fixture.

    `lasts` is the permanence of its fault, None where the draw decides it or a second fault in the same job
    would end the first one; `double` that of both faults, where a second one is drawn.
    """

    row: str
    slug: str
    play: Play
    source: str = ""
    can_second: bool = False
    parts: frozenset[str] = frozenset()  # of the bed, beyond the usual ones
    lasts: Lasts | None = None
    double: tuple[Lasts, Lasts] | None = None

    @property
    def has_generations(self) -> bool:
        """True where the bed has two generations of the component."""
        return self.source in ENGINES

    @property
    def name(self) -> str:
        """The row and the slug, as the folders begin."""
        return f"{self.row}-{self.slug}"


SCRIPTS: dict[str, Script] = {}


def script(
    row: str,
    slug: str,
    source: str = "",
    *,
    can_second: bool = False,
    parts: frozenset[str] = frozenset(),
    lasts: Lasts | None = None,
    double: tuple[Lasts, Lasts] | None = None,
) -> Callable[[Play], Play]:
    """Register a function as a script of a row."""

    def note(play: Play) -> Play:
        one = Script(row, slug, play, source, can_second, parts, lasts, double)
        if one.name in SCRIPTS:
            raise ValueError(f"two scripts {one.name}")
        SCRIPTS[one.name] = one
        return play

    return note
