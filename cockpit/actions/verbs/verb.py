"""A verb: what can be done to one kind of thing, as a value.

`cockpit --help` reads every verb, so nothing heavy is imported here, nor at the top of the files beside it:
what a plan needs is imported when the plan is made.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.plan import Plan
    from cockpit.model.right import Right, Ways


@dataclass(frozen=True, slots=True)
class Words:
    """How a verb is told. `past` ends the sentence of what was done: `3 nodes cordoned`."""

    infinitive: str  # "cordon"
    past: str  # "cordoned"
    command: str  # help of the subcommand
    help: str = ""  # of the key; verbs that share a key leave it to the first of them
    label: str = ""  # in the footer, where the infinitive does not serve

    @property
    def footer(self) -> str:
        """One or two words behind the key."""
        return self.label or self.infinitive


@dataclass(frozen=True, slots=True)
class Flag:
    """One option of the subcommand; its value becomes `field` of the verb's options."""

    name: str  # "--to"
    field: str
    help: str
    metavar: str = ""
    is_required: bool = False
    is_switch: bool = False
    read: Callable[[str], Any] = str
    """From the word to the value; raises argparse.ArgumentTypeError."""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """Of a verb that is told by what it is done to alone."""


async def _no_plan(_planning: "Planning", _thing: Any, _options: Any) -> "Plan":
    raise TypeError("this verb is begun by its form or by its command: it has no plan of its own")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb on one kind of thing (`kinds.KINDS`).

    Several verbs may share a key: the first whose `is_for` holds for all that is meant is taken, else the one
    without. `opener` names what the screens ask before there is a plan (`screens.openers`).
    """

    name: str  # the subcommand, and the word in audit lines: "cordon"
    kind: str  # what it is done to: "job", "pod", "node", "pool", "queue"
    words: Words
    noun: str = ""  # of its subcommand, where that is not `kind`
    key: str = ""  # a capital letter; "" for one that is only in the palette
    opener: str = ""
    command: str = "verb:run"  # `module:function` of its subcommand
    options: type[Any] = NoOptions
    """A frozen dataclass of what it is told besides; raises BadInput for what cannot be."""
    flags: tuple[Flag, ...] = ()
    beside: tuple[Flag, ...] = ()
    """Options of the subcommand that are no part of what is done: how long it is followed."""
    plan: Callable[["Planning", Any, Any], Awaitable["Plan"]] = _no_plan
    """From what is known, one thing and the options to the calls. Raises BadInput where it cannot be,
    Unchanged where it is so already."""
    back: Callable[["Planning", Any, "Plan"], Awaitable["Plan"]] | None = None
    """Of one that has nodes go: takes back what the calls of that plan did to them. Raises Unchanged where
    nothing of it is left."""
    needs: Callable[["Planning", Any], Sequence["Right"]] = field(default=lambda _planning, _thing: ())
    """The rights without which its calls would be refused; reads nothing from the server."""
    needs_any: Callable[["Planning", Sequence[Any]], "Ways"] | None = None
    """Where its form or dialog says to what of several it is done: the rights for each of these."""
    is_for: Callable[[Any], bool] | None = None
    why_not: Callable[[Any], str] = lambda _thing: ""
    """Why its key is not offered on that thing, with what does it instead; "" where it is."""
    many_lines: Callable[[Sequence[Any], Any], Iterable[str]] | None = None
    """What it means for many of them together, told of (things, store)."""
    picks: Callable[[Sequence[Any], Any, float], Sequence[Any]] | None = None
    """Of all that is named those that it is for, by (things, options, the cluster's time in seconds)."""
    finds_own: bool = False
    """It is not done to what is under the cursor: its form or dialog says to what."""
    is_on_page: bool = False
    """Its key works on the page of its thing alone."""
    is_shown: bool = True
    """Whether the footer names its key."""
    is_destructive: bool = False
    """It always ends something. Whether one plan does is in the plan."""
    weighs_others: bool = False
    """Jobs ask for GPUs by it, so that others may lose theirs: a command waits for what that rests on."""
    is_measured: bool = False
    """It rests on telemetry: a command waits for it."""
    is_repeatable: bool = True
    """`audit apply` may do it again on another cluster."""
    takes_many: bool = True

    def ways(self, planning: "Planning", things: Sequence[Any]) -> "Ways":
        """What it takes to do it to any of these."""
        if self.needs_any is not None:
            return self.needs_any(planning, things)
        return tuple(tuple(self.needs(planning, one)) for one in things)

    @property
    def id(self) -> str:
        """`node.cordon`: its name is unique only within its noun."""
        return f"{self.noun or self.kind}.{self.name}"
