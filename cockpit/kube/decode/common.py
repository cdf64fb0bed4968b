"""What every record shares: metadata, owner, conditions, labels."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cockpit.kube.decode.reading import Reading
from cockpit.kube.decode.times import from_text
from cockpit.mask import MESSAGES, mask_tree
from cockpit.model.job import RECLAIM_BY, RECLAIM_DUE, ReclaimMark
from cockpit.model.record import Condition, Labels, OwnerRef
from cockpit.sanitise import SHORT, WORDS, clean

LABEL_CHARACTERS = 1024
"""Longest label or annotation value that is kept; label values have at most 63 by the API's own rule."""


def identity(meta: Any, reading: Reading) -> dict[str, Any]:
    """Keyword arguments of `Record`."""
    return {
        "uid": clean(meta.uid),
        "name": clean(meta.name, SHORT),
        "namespace": WORDS[meta.namespace],
        "resource_version": clean(meta.resource_version),
        "created_seconds": reading.seconds(meta.creation_timestamp),
        "deleting_seconds": reading.seconds(meta.deletion_timestamp),
    }


def controller(meta: Any) -> OwnerRef | None:
    """The controlling owner, None where there is none."""
    for item in meta.owner_references:
        if item.controller:
            return OwnerRef(WORDS[item.api_version], WORDS[item.kind], WORDS[item.name], WORDS[item.uid])
    return None


def reclaim_mark(meta: Any) -> ReclaimMark | None:
    """The mark of a job that idled; None without one, or with one that tells no time."""
    if RECLAIM_DUE not in meta.annotations:
        return None
    due = from_text(meta.annotations[RECLAIM_DUE])
    return None if due is None else ReclaimMark(due, clean(meta.annotations.get(RECLAIM_BY) or "", SHORT))


def conditions(raw: Any, reading: Reading) -> tuple[Condition, ...]:
    """`status.conditions` in the order of the object."""
    return tuple(
        Condition(
            WORDS[item.type],
            WORDS[item.status],
            WORDS[item.reason],
            MESSAGES[item.message],
            reading.seconds(item.last_transition_time),
        )
        for item in raw
    )


def labels(raw: Any, keep: Callable[[str], bool] | None = None) -> Labels:
    """Label or annotation pairs by key; `keep` chooses by key."""
    out = [_pair(key, value) for key, value in raw.items() if keep is None or keep(key)]
    out.sort()
    return tuple(out)


def annotations(raw: Any, keep: Callable[[str], bool]) -> Labels:
    """The annotations whose key `keep` chooses, secrets in them hidden."""
    return tuple(sorted(_note(key, value) for key, value in raw.items() if keep(key)))


@lru_cache(maxsize=4_096)
def _note(key: str, value: str) -> tuple[str, str]:
    return WORDS[key], clean(mask_tree(clean(value), key), LABEL_CHARACTERS)


@lru_cache(maxsize=16_384)
def _pair(key: str, value: str) -> tuple[str, str]:
    """One tuple for all objects that carry the same label: nodes carry dozens, and mostly the same."""
    return WORDS[key], WORDS[value] if len(value) <= LABEL_CHARACTERS else clean(value, LABEL_CHARACTERS)


def cleaned(value: Any) -> Any:
    """A tree whose texts are safe for a terminal."""
    if isinstance(value, str):
        return WORDS[value]
    if isinstance(value, dict):
        return {WORDS[key]: cleaned(one) for key, one in value.items()}
    return [cleaned(item) for item in value] if isinstance(value, list | tuple) else value
