"""Every verb, in the order of keys and commands, and how each is found."""

from collections.abc import Sequence
from typing import Any

from cockpit.actions.verbs import drain, job, job_reclaim, job_shape, keep, node, pool, queue, reach
from cockpit.actions.verbs.verb import Verb

VERBS: tuple[Verb, ...] = (
    job_shape.SUBMIT,
    job.KILL,
    reach.SHELL,
    reach.TENSORBOARD,
    job.SUSPEND,
    job.RESUME,
    job_shape.CLONE,
    job.RETRY,
    job.RECREATE,
    job_shape.RESIZE,
    job_shape.PRIORITISE,
    job.PRUNE,
    job.RECORD,
    pool.SCALE,
    pool.ASK,
    pool.LIMIT,
    pool.RECLAIM,
    job_reclaim.RECLAIM,
    queue.STOP,
    queue.RESUME,
    node.CORDON,
    node.UNCORDON,
    drain.DRAIN,
    drain.STOP_DRAIN,
    keep.KEEP,
    node.SMOKE_TEST,
)
_BY_ID = {one.id: one for one in VERBS}


def verb_of(verb_id: str) -> Verb:
    """The verb of that id (`job.kill`). Raises KeyError for one that is not registered."""
    return _BY_ID[verb_id]


def verbs_on(key: str, kinds: tuple[str, ...] = ()) -> tuple[Verb, ...]:
    """The verbs of a key (or of the id of one that has no key), on these kinds where any are given."""
    found = (one for one in VERBS if (one.key == key if one.key else one.id == key))
    return tuple(one for one in found if not kinds or one.kind in kinds)


def is_repeatable(verb_id: str) -> bool:
    """Whether an audit line that names this verb may be done again on another cluster."""
    found = _BY_ID.get(verb_id)
    return found is not None and found.is_repeatable


def verb_meant(verbs: Sequence[Verb], things: Sequence[Any]) -> Verb:
    """Of the verbs that share a key the one that is for all of these, else the one that is for any."""
    for one in verbs:
        if one.is_for is not None and all(map(one.is_for, things)):
            return one
    return next(one for one in verbs if one.is_for is None)
