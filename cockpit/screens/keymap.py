"""Every key of the cockpit in one table: footer, help, palette and bindings are made from it.

Lower-case keys look, capital letters change the cluster. One key means one thing on every screen.
A screen names its keys in the order of their use: that is the order of its footer.
"""

from dataclasses import dataclass

from textual.binding import Binding


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


KEYS: tuple[Key, ...] = (
    Key("place.now", "1", "place('now')", "now", "Now: what needs a human, the fleet", "Places", shown=False),
    Key(
        "place.jobs",
        "2",
        "place('jobs')",
        "jobs",
        "Jobs: every training job of any kind",
        "Places",
        shown=False,
    ),
    Key("place.nodes", "3", "place('nodes')", "nodes", "Nodes and their GPUs", "Places", shown=False),
    Key(
        "place.queues", "4", "place('queues')", "queues", "Queues: quota and who waits", "Places", shown=False
    ),
    Key(
        "place.pools",
        "5",
        "place('pools')",
        "pools",
        "Pools: who owns how many machines",
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
    Key("place.pods", "7", "place('pods')", "pods", "Pods, one by one", "Places", shown=False),
    Key(
        "pick.namespace",
        "ctrl+n",
        "pick_namespace",
        "namespace",
        "Show one namespace, or all",
        "Places",
        shown=False,
    ),
    Key(
        "pick.context",
        "ctrl+x",
        "pick_context",
        "context",
        "Attach to another context",
        "Places",
        shown=False,
    ),
    Key(
        "palette",
        "colon,ctrl+p",
        "palette",
        "palette",
        "Everything by name, also :write",
        "Places",
    ),
    Key("open", "enter", "open", "open", "Open the row"),
    Key(
        "filter",
        "slash",
        "filter",
        "filter",
        "Filter: text, field:value, field>number, ! inverts",
    ),
    Key("sort", "s", "sort", "sort", "Sort by the next column; the choice stays"),
    Key("reverse", "r", "reverse", "reverse", "Turn the order around", shown=False),
    Key("mark", "space", "mark", "mark", "Mark the row", shown=False),
    Key(
        "mark.all",
        "ctrl+a",
        "mark_all",
        "mark all",
        "Mark all rows that the filter shows, or none",
        shown=False,
    ),
    Key("why", "w", "why", "why", "Why does it wait, and what was computed"),
    Key("logs", "l", "logs", "logs", "Logs of all members together, followed"),
    Key("yaml", "y", "yaml", "yaml", "The object as the server tells it"),
    Key("events", "e", "object_events", "events", "Events of the object", shown=False),
    Key("devices", "d", "devices", "devices", "Each GPU of each member, or the members"),
    Key(
        "ranks",
        "x",
        "ranks",
        "grid",
        "Each rank as one cell, the odd ones marked, or the members",
        shown=False,
    ),
    Key("log.since", "t", "since", "since", "How far back the logs are read", "Logs"),
    Key("log.previous", "b", "previous", "previous", "The run before the last restart, or this one", "Logs"),
    Key("log.stderr", "u", "stderr", "stderr", "Only standard error, or both streams", "Logs", shown=False),
    Key("log.search", "ctrl+f", "search", "search", "Mark a text; n and p go from hit to hit", "Logs"),
    Key("log.times", "i", "times", "times", "The moment of each line, or without", "Logs", shown=False),
    Key("log.save", "v", "save", "save", "Save the lines that are shown to a file", "Logs"),
    Key("metric", "m", "metric", "metric", "Shade the fleet by the next quantity"),
    Key("panel", "tab", "panel", "panel", "To the next panel", shown=False),
    Key("back", "escape", "back", "back", "Back, or clear the filter"),
    Key("form.submit", "ctrl+s", "submit", "submit", "Check the form, then ask before it is sent", "Form"),
    Key("form.template", "f2", "template", "template", "Pick another template", "Form"),
    Key("form.preview", "f3", "preview", "preview", "Show what would be sent, or the form again", "Form"),
    Key("help", "question_mark", "help", "help", "This page", "Places"),
    Key("quit", "q", "quit", "quit", "Leave; ctrl+c leaves from anywhere", "Places"),
    Key("job.new", "N", "new_job", "new job", "New job from a template", "Changing the cluster", True),
    Key("job.kill", "K", "kill", "kill", "Kill the job with all its members", "Changing the cluster", True),
    Key("pod.enter", "E", "enter_pod", "shell", "A shell in the pod", "Changing the cluster", True),
    Key(
        "job.board",
        "B",
        "tensorboard",
        "tensorboard",
        "The job's TensorBoard at a port of this machine, or its end",
        "Changing the cluster",
        True,
        shown=False,
    ),
    Key(
        "hold",
        "P",
        "hold",
        "hold",
        "Suspend the job, or resume it; stop a queue, or resume it",
        "Changing the cluster",
        True,
    ),
    Key("job.clone", "C", "clone", "clone", "The job once more, in the form", "Changing the cluster", True),
    Key(
        "job.retry",
        "T",
        "retry",
        "retry",
        "Try again now; what failed runs anew, with more memory after OOM",
        "Changing the cluster",
        True,
    ),
    Key("job.resize", "Z", "resize", "resize", "Workers of an elastic job", "Changing the cluster", True),
    Key(
        "job.prioritise",
        "I",
        "prioritise",
        "priority",
        "Another priority class or queue",
        "Changing the cluster",
        True,
    ),
    Key(
        "pool.scale",
        "S",
        "scale",
        "scale",
        "Set the number of machines of the pool",
        "Changing the cluster",
        True,
    ),
)

LIFE = ("hold", "job.clone", "job.retry", "job.resize", "job.prioritise")
"""What is done to a job that is there, besides killing it."""
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
WRITE_ACTIONS = frozenset(key.action for key in KEYS if key.is_write)


def key(key_id: str) -> Key:
    """The key of that id. Raises KeyError for one that is not in the table."""
    return _BY_ID[key_id]


BEFORE_TYPING = frozenset({"filter"})
"""Actions behind which one types on at once: they are looked up before the key travels, so that the next
key finds the line open. `Place.check_action` switches them off while a field has the focus."""


def bindings(*ids: str) -> list[Binding]:
    """Textual bindings for these keys, the most useful first."""
    return [
        Binding(
            k.keys,
            k.action,
            k.label,
            id=k.id,
            tooltip=k.help,
            show=k.shown,
            priority=k.action in BEFORE_TYPING,
        )
        for k in map(key, dict.fromkeys(ids))
    ]
