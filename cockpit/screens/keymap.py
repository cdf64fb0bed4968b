"""Every key of the cockpit in one table: footer, help, palette and bindings are made from it.

Lower-case keys look, capital letters change the cluster: these are the verbs of `cockpit.actions.verbs`.
One key means one thing on every screen. A screen names its keys in the order of their use: that is the order
of its footer.
"""

from dataclasses import dataclass, replace

from textual.binding import Binding

from cockpit.actions.verbs.registry import VERBS, verbs_on
from cockpit.actions.verbs.verb import Verb


@dataclass(frozen=True, slots=True)
class Key:
    """One key. `is_write` ones vanish while read-only; those not `shown` stand in the help only."""

    id: str
    keys: str  # as Textual names them, alternatives joined by a comma
    action: str
    label: str  # one or two words for the footer
    help: str
    group: str = "Looking"
    is_write: bool = False
    shown: bool = True


VERB = "verb"
"""The one action of all keys that change the cluster; its parameter is the key."""
_OF_AN_OBJECT = ("describe", "owners", "copy")
"""Keys of every screen that can show an object as YAML."""
UNDO = "undo"
CHANGING = (VERB, UNDO)
"""Actions of the keys that change the cluster: absent while read-only."""
ALL_VERBS = "verbs"
"""Among the keys of a screen: those of every verb on its kinds that it does not name itself."""


def _verb_keys() -> list[Key]:
    """One entry for each key of the registry, told by all verbs that share it."""
    return [
        _verb_key(letter, verbs_on(letter))
        for letter in dict.fromkeys(verb.key for verb in VERBS if verb.key)
    ]


def _verb_key(letter: str, verbs: tuple[Verb, ...]) -> Key:
    helps = [verb.words.help for verb in verbs if verb.words.help]
    told = "; ".join([helps[0], *(item[0].lower() + item[1:] for item in helps[1:])])
    first = verbs[0]
    return Key(
        letter,
        letter,
        f"{VERB}('{letter}')",
        first.words.footer,
        told,
        "Changing the cluster",
        True,
        first.is_shown,
    )


KEYS: tuple[Key, ...] = (
    Key("place.now", "1", "place('now')", "now", "What needs a human", "Places", shown=False),
    Key(
        "place.jobs",
        "2",
        "place('jobs')",
        "jobs",
        "Jobs of every kind",
        "Places",
        shown=False,
    ),
    Key("place.nodes", "3", "place('nodes')", "nodes", "Nodes", "Places", shown=False),
    Key(
        "place.queues",
        "4",
        "place('queues')",
        "queues",
        "Queues",
        "Places",
        shown=False,
    ),
    Key(
        "place.pools",
        "5",
        "place('pools')",
        "pools",
        "Pools",
        "Places",
        shown=False,
    ),
    Key(
        "place.events",
        "6",
        "place('events')",
        "events",
        "Events of GPUs, jobs and nodes",
        "Places",
        shown=False,
    ),
    Key("place.pods", "7", "place('pods')", "pods", "Pods", "Places", shown=False),
    Key(
        "place.fleet",
        "8",
        "place('fleet')",
        "fleet",
        "Fleet: gangs that fit, idle and lost GPUs",
        "Places",
        shown=False,
    ),
    Key(
        "place.audit",
        "9",
        "place('audit')",
        "audit",
        "What was done from here, and undo",
        "Places",
        shown=False,
    ),
    Key(
        "pick.namespace",
        "ctrl+n",
        "pick_namespace",
        "namespace",
        "Show one namespace, several, or all",
        "Places",
        shown=False,
    ),
    Key(
        "pick.context",
        "ctrl+x",
        "pick_context",
        "context",
        "Switch to another context",
        "Places",
        shown=False,
    ),
    Key(
        "palette",
        "colon,ctrl+p",
        "palette",
        "palette",
        "Command palette, also :write",
        "Places",
    ),
    Key("open", "enter", "open", "open", "Open the row"),
    Key(
        "filter",
        "slash",
        "filter",
        "filter",
        "Filter: text, field:value, field>number, ! negates, @name is a saved one",
    ),
    Key("sort", "s", "sort", "sort", "Sort by the next column, and keep that"),
    Key("reverse", "r", "reverse", "reverse", "Reverse the sort order", shown=False),
    Key("order.own", "0", "own_order", "our order", "Our order: trouble first", shown=False),
    Key(
        "columns",
        "vertical_line",
        "columns",
        "columns",
        "Columns: show, hide, or ours again",
        shown=False,
    ),
    Key("detail", "backslash", "fold_detail", "detail", "Fold or show the detail"),
    Key("mark", "space", "mark", "mark", "Mark the row", shown=False),
    Key(
        "mark.all",
        "ctrl+a",
        "mark_all",
        "mark all",
        "Mark all rows of the filter, or none",
        shown=False,
    ),
    Key("why", "w", "why", "why", "Explain why it waits or is broken"),
    Key(
        "acknowledge",
        "a",
        "acknowledge",
        "ack",
        "Acknowledge with a note and snooze for a time, or take it back",
    ),
    Key("logs", "l", "logs", "logs", "Follow the logs of all members together"),
    Key("yaml", "y", "yaml", "yaml", "Show live YAML"),
    Key("events", "e", "object_events", "events", "Events of the object", shown=False),
    Key("describe", "d", "describe", "describe", "Describe it: facts, conditions, events", shown=False),
    Key("owners", "o", "owners", "owners", "Tree of owners of the object", shown=False),
    Key("copy", "c", "copy", "copy", "Copy name, command, YAML or a cell", shown=False),
    Key("view", "x", "next_view", "view", "Next view: as lines, as cells, each GPU"),
    Key("log.since", "t", "since", "since", "Set log time range", "Logs"),
    Key(
        "log.previous",
        "b",
        "previous",
        "previous",
        "Logs of the previous run, or of this one",
        "Logs",
    ),
    Key("log.stderr", "u", "stderr", "stderr", "Only standard error, or both streams", "Logs", shown=False),
    Key(
        "search", "ctrl+f", "search", "search", "Search a log, n/p next and previous match; a field of a form"
    ),
    Key("log.times", "i", "times", "times", "Toggle timestamps", "Logs", shown=False),
    Key("log.save", "v", "save", "save", "Save the visible lines to a file", "Logs"),
    Key("metric", "m", "metric", "metric", "Next heatmap metric"),
    Key("panel", "tab", "panel", "panel", "To the next panel", shown=False),
    Key("back", "escape", "back", "back", "Back, or clear the filter"),
    Key("form.submit", "ctrl+s", "submit", "submit", "Check the form, then confirm and submit", "Form"),
    Key("form.help", "f1", "form_help", "help", "Help of this field, and every key", "Form"),
    Key("form.template", "f2", "template", "template", "Pick another template", "Form"),
    Key("form.preview", "f3", "preview", "preview", "Preview the manifest, or back to the form", "Form"),
    Key(
        "form.presets",
        "f4",
        "presets",
        "presets",
        "Load or keep values: presets, last values, a template",
        "Form",
    ),
    Key("help", "question_mark", "help", "help", "This help", "Places"),
    Key("quit", "q", "quit", "quit", "Quit; ctrl+c quits from anywhere", "Places"),
    Key(
        "undo",
        "V",
        UNDO,
        "undo",
        "Undo the action: its plan is shown first",
        "Changing the cluster",
        is_write=True,
    ),
    *_verb_keys(),
)

_BY_ID = {key.id: key for key in KEYS}
EVERYWHERE = (
    "back",
    "help",
    "quit",
    "palette",
    *(key.id for key in KEYS if key.id.startswith("place.")),
    "pick.namespace",
    "pick.context",
)


def key(key_id: str) -> Key:
    """The key of that id. Raises KeyError for one that is not in the table."""
    return _BY_ID[key_id]


_PLACES = {"job": "2", "node": "3", "queue": "4", "pool": "5", "pod": "7"}
"""The key of the place whose rows are of that kind."""


def why_not_here(character: str) -> str:
    """What to say of a key on a screen that does not have it; "" for a key that no screen has."""
    if verbs := verbs_on(character):
        first = verbs[0]
        where = f"{first.kind}s are on key {_PLACES[first.kind]}"
        return f"to {first.words.infinitive}, select a {first.kind} first: {where}"
    entry = next((key for key in KEYS if key.keys == character), None)
    return "" if entry is None else f"key {character} ({entry.label}) is not available here"


BEFORE_TYPING = frozenset({"filter"})
"""Actions behind which one types on at once: they are looked up before the key travels, so that the next
key finds the line open. `Place.check_action` switches them off while a field has the focus."""


LEAVING = frozenset({"place", "pick_namespace", "pick_context", "palette", "quit"})
"""Actions that leave a screen for another one, or end the program: none acts where one types."""


def bindings(*ids: str, kinds: tuple[str, ...] = (), is_page: bool = False) -> list[Binding]:
    """Textual bindings for these keys, the most useful first.

    `kinds` are those of the rows: verbs are told by what they do to them, and `ALL_VERBS` stands for all of
    theirs. `is_page` adds those that only the page of a thing has.
    """
    if "yaml" in ids:
        at_yaml = ids.index("yaml") + 1
        ids = (*ids[:at_yaml], *_OF_AN_OBJECT, *ids[at_yaml:])
    named = [item for item in ids if item != ALL_VERBS]
    at = ids.index(ALL_VERBS) if ALL_VERBS in ids else len(ids)
    own = [verb.key for verb in VERBS if verb.key and verb.kind in kinds and (is_page or not verb.is_on_page)]
    found = [*named[:at], *(item for item in own if item not in named), *named[at:]]
    return [_binding(item, kinds) for item in dict.fromkeys(found)]


def _binding(key_id: str, kinds: tuple[str, ...]) -> Binding:
    k = key(key_id)
    if k.is_write and kinds:
        k = _verb_key(k.id, verbs_on(k.id, kinds))
    return Binding(
        k.keys,
        k.action,
        k.label,
        id=k.id,
        tooltip=k.help,
        show=k.shown,
        priority=k.action in BEFORE_TYPING,
    )


def at_once(*ids: str) -> list[Binding]:
    """The same, looked up before the key travels: what is typed behind it belongs to what it opens."""
    return [replace(item, priority=True) for item in bindings(*ids)]
