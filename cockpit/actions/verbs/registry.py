"""Every verb, in the order of keys and commands, and how each is found."""

from collections.abc import Sequence
from typing import Any

from cockpit.actions.verbs import job, node, pool, queue
from cockpit.actions.verbs.verb import Verb

VERBS: tuple[Verb, ...] = (
    job.SUBMIT,
    job.KILL,
    job.EXEC,
    job.TENSORBOARD,
    job.FORWARD,
    job.SUSPEND,
    job.RESUME,
    job.CLONE,
    job.RETRY,
    job.RECREATE,
    job.EDIT,
    job.RESIZE,
    job.PRIORITISE,
    job.PRUNE,
    job.RECORD,
    pool.SCALE,
    pool.ASK,
    pool.LIMIT,
    pool.RECLAIM,
    job.RECLAIM,
    queue.STOP,
    queue.RESUME,
    node.CORDON,
    node.UNCORDON,
    node.DRAIN,
    node.STOP_DRAIN,
    node.KEEP,
    node.SMOKE_TEST,
)
_BY_ID = {verb.id: verb for verb in VERBS}


def verb_of(verb_id: str) -> Verb:
    """The verb of that id (`job.kill`). Raises KeyError for one that is not registered."""
    return _BY_ID[verb_id]


def verbs_on(key: str, kinds: tuple[str, ...] = ()) -> tuple[Verb, ...]:
    """The verbs of a key (or of the id of one that has no key), on these kinds where any are given."""
    verbs = (verb for verb in VERBS if (verb.key == key if verb.key else verb.id == key))
    return tuple(verb for verb in verbs if not kinds or verb.kind in kinds)


def is_repeatable(verb_id: str) -> bool:
    """Whether an audit line that names this verb may be done again on another cluster."""
    verb = _BY_ID.get(verb_id)
    return verb is not None and verb.is_repeatable


def verb_meant(verbs: Sequence[Verb], things: Sequence[Any]) -> Verb:
    """Of the verbs that share a key the one that is for all of these, else the one that is for any."""
    for verb in verbs:
        if verb.is_for is not None and all(map(verb.is_for, things)):
            return verb
    return next(verb for verb in verbs if verb.is_for is None)
