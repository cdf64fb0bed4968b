"""A verb: what can be done to one kind of thing, as a value.

Every start of the cockpit reads every verb, so what a verb needs of the cluster stands elsewhere
(`cockpit.actions.planner`) and is imported when it is first needed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cockpit.actions.planner import Planner


def imported(name: str) -> Any:
    """What `module:name` below `cockpit` names, imported now: the one late import of the verbs."""
    module, _, own = name.partition(":")
    return getattr(import_module(f"cockpit.{module}"), own)


def later(name: str) -> Callable[[Any], Any]:
    """The function `module:name`, imported when it is first called."""
    return lambda thing: imported(name)(thing)


@dataclass(frozen=True, slots=True)
class Noun:
    """A kind of thing on the command line: its help, how one is named, and whether `--filter` finds some."""

    about: str
    naming: str = "name"
    has_filter: bool = False


NOUNS = {
    "job": Noun(
        "submit, suspend, resize and kill training jobs", "name, namespace/name or kind/namespace/name", True
    ),
    "pod": Noun("forward a port of a pod", "name or namespace/name; see cockpit get pods"),
    "node": Noun("cordon, drain and uncordon nodes, and test their GPUs", "see cockpit get nodes"),
    "pool": Noun("resize pools of nodes", "see cockpit get pools"),
    "queue": Noun("stop and resume queues", "namespace/name, or a ClusterQueue; see cockpit get queues"),
}


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of a verb. `past` ends the sentence of what was done: `3 nodes cordoned`."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One verb on one kind of thing (`target_kinds.KINDS`).

    Several verbs may share a key: the first whose `is_for` holds for all targets is taken, else the one
    without. `opener` names what the screens ask before there is a plan (`screens.verb_forms`).
    """

    name: str  # the subcommand, and the word in audit lines: "cordon"
    kind: str  # what it is done to: "job", "pod", "node", "pool", "queue"
    words: Words
    plans: str  # its planner, as `module:name` below `cockpit.actions`
    noun: str = ""  # of its subcommand, where that is not `kind`
    key: str = ""  # a capital letter; "" for one that is only in the palette
    opener: str = ""
    command: str = "verb:run"  # `module:function` of its subcommand
    flags: tuple[Flag, ...] = ()
    beside: tuple[Flag, ...] = ()
    """Options of the subcommand that are no part of what is done: how long it is followed."""
    is_for: Callable[[Any], bool] | None = None
    why_not: Callable[[Any], str] = lambda _thing: ""
    """Why its key is not offered on that thing, with what does it instead; "" where it is."""
    finds_own: bool = False
    """The target is chosen in the form, not by the cursor."""
    is_on_page: bool = False
    """Its key works on the page of its thing alone."""
    is_shown: bool = True
    """Whether the footer names its key."""
    is_destructive: bool = False
    """It always ends something. Whether one plan does is in the plan."""
    weighs_others: bool = False
    """Jobs request GPUs by it, so that others may lose theirs: a command waits for what that rests on."""
    is_measured: bool = False
    """Needs GPU metrics, so a command waits for the first scrape."""
    undone_by: str = ""
    """The verb of the same noun that takes it back."""
    is_repeatable: bool = True
    """`audit apply` may do it again on another cluster."""
    takes_many: bool = True

    @property
    def planner(self) -> "Planner":
        """What it is told, the rights it takes, its plan."""
        found: Planner = imported(f"actions.{self.plans}")
        return found

    @property
    def id(self) -> str:
        """`node.cordon`: its name is unique only within its noun."""
        return f"{self.noun or self.kind}.{self.name}"

    @property
    def subcommand(self) -> tuple[str, ...]:
        """`cockpit node cordon`."""
        return ("cockpit", self.noun or self.kind, self.name)

    def undo_words(self, name: str, former: Sequence[str]) -> tuple[str, ...]:
        """The command that takes it back on the thing of that name; `former` are the options of this verb
        that set what was before. () where nothing does."""
        if former:
            return (*self.subcommand, name, *former)
        return (*self.subcommand[:2], self.undone_by, name) if self.undone_by else ()

    def option_words(self, options: Any) -> Sequence[str]:
        """The options as the subcommand takes them; what is empty or off takes no word."""
        words: list[str] = []
        for flag in self.flags:
            value = getattr(options, flag.field)
            if flag.is_switch:
                words += [flag.name] if value else []
            elif value != "":
                words += [flag.name, str(value)]
        return tuple(words)
