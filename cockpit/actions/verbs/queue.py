"""Verbs on queues: stop one, for new jobs or for all, and let it admit again."""

from cockpit.actions.verbs.verb import Flag, Verb, Words, later

_no_verbs = later("actions.queue:no_verbs")

STOP = Verb(
    name="stop",
    kind="queue",
    key="P",
    plans="queue:STOP",
    opener="stop queue",
    undone_by="resume",
    words=Words("stop", "stopped", "stop a queue from admitting jobs", "Stop the queue, or resume it"),
    flags=(Flag("--drain", "drain", "also evict the jobs it has admitted", is_switch=True),),
    why_not=_no_verbs,
    takes_many=False,
)
RESUME = Verb(
    name="resume",
    kind="queue",
    key="P",
    plans="queue:RESUME",
    opener="stop queue",
    undone_by="stop",
    words=Words("resume", "resumed", "resume a stopped queue"),
    weighs_others=True,
    why_not=_no_verbs,
    takes_many=False,
)
