"""What a person means by a word for a kind of object: as kubectl and our own lists print it, in any case, in
the plural, short, with its API group behind a dot."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from cockpit.gangs import registry
from cockpit.jobs import other_jobs
from cockpit.kube.discovery import ServedResource
from cockpit.model.record import Kind
from cockpit.model.watched import Watched
from cockpit.pools import registry as pool_owners

SUBJECTS: Final = ("job", "gang", "pod", "node", "card", "queue", "pool")
"""The kinds of things that can be explained; `job` is a job of any kind."""
_OWN_WORDS: Final = {
    **{word: word for word in SUBJECTS},
    **{f"{word}s": word for word in SUBJECTS},
    **{"gpu": "card", "gpus": "card", "po": "pod", "no": "node"},
}
_SHORT: Final = {
    **{"deploy": "deployments", "sts": "statefulsets", "rs": "replicasets", "ds": "daemonsets"},
    **{"rc": "replicationcontrollers", "cj": "cronjobs", "pvc": "persistentvolumeclaims"},
    **{"lws": "leaderworkersets", "wf": "workflows", "cwf": "cronworkflows", "aw": "appwrappers"},
    **{"sparkapp": "sparkapplications", "vj": "jobs", "vcjob": "jobs"},
    **{"wl": "workloads", "lq": "localqueues", "cq": "clusterqueues", "pg": "podgroups", "q": "queues"},
    **{"np": "nodepools", "pgs": "podgroups"},
}
"""Short names by their plural: those of the server are asked for besides, but it may not be asked."""
_OTHERS: Final = (
    *(("apps", "replicasets"), ("apps", "daemonsets"), ("", "replicationcontrollers")),
    *(("", "persistentvolumeclaims"), ("resource.k8s.io", "resourceclaims")),
    *(("batch", "jobs"), ("kubeflow.org", "mpijobs")),
)
"""Group and plural of what is part of a job, or is one, and is no watched kind of an engine or pool owner."""
_VERSION = re.compile(r"v\d+((alpha|beta)\d+)?\.")


class NamedKind(NamedTuple):
    """What a word means. `subject` is one of SUBJECTS, "" where the object is a job of that kind alone, or
    is to lead to one; `kind` is the API's in small letters, "" of our own words; `group` is as it was typed,
    "" any. `is_known` says that the kind exists here."""

    subject: str
    kind: str
    group: str
    is_known: bool

    def fits(self, api_version: str, kind: str) -> bool:
        """Whether an object is of that kind."""
        group = api_version.rpartition("/")[0]
        return kind.lower() == self.kind and self.group in ("", group)


def kind_named(word: str, served: Iterable[ServedResource] = ()) -> NamedKind:
    """What the word means, by what the server serves where that is known."""
    low = word.lower()
    if low in _OWN_WORDS:
        return NamedKind(_OWN_WORDS[low], "", "", is_known=True)
    bare, _, group = low.partition(".")
    group = _VERSION.sub("", f"{group}.").removesuffix(".") if group else ""
    watched = _subject_of(_plural(bare), group)
    if watched is not None:
        return NamedKind(*watched, group, is_known=True)
    for one in served:
        resource = one.resource
        names = (resource.plural, resource.kind.lower(), *one.short_names)
        if bare in names and group in ("", resource.group):
            known = _subject_of(resource.plural, resource.group)
            return NamedKind("" if known is None else known[0], resource.kind.lower(), group, is_known=True)
    return NamedKind("", singular(_plural(bare)), group, is_known=False)


def _plural(word: str) -> str:
    """What a short name stands for; any other word as it is."""
    return _SHORT.get(word) or _owners_short().get(word, word)


@cache
def _owners_short() -> dict[str, str]:
    return {one.short_name: one.plural for one in pool_owners.watched() if one.short_name}


def known_words(served: Iterable[ServedResource] = ()) -> list[str]:
    """Words for kinds, for one that is mistyped."""
    watched = (singular(plural) for _, plural, _ in _table())
    return sorted({*SUBJECTS, *watched, *(one.resource.kind.lower() for one in served)})


def singular(plural: str) -> str:
    """The kind in small letters."""
    return plural if plural.endswith("ss") else plural.removesuffix("s")


@cache
def _table() -> tuple[tuple[str, str, str], ...]:
    """Group, plural and subject of each watched kind that a person may name."""
    every = (*registry.watched(), *pool_owners.watched(), *other_jobs.watched())
    watched = ((one.group, one.plural, _subject(one)) for one in every if not one.name)
    return (*watched, *((group, plural, "") for group, plural in _OTHERS))


def _subject(watched: Watched) -> str:
    if watched.kind in registry.queue_tables():
        return "queue"
    return {Kind.POOL: "pool", Kind.MACHINE: "machine", Kind.POD_GROUP: "gang"}.get(watched.kind, "")


def _subject_of(word: str, group: str) -> tuple[str, str] | None:
    """Subject and kind of a watched kind that is called so, by plural or kind, in that group."""
    for its_group, plural, subject in _table():
        if word in (plural, singular(plural)) and group in ("", its_group):
            return subject, singular(plural)
    return None
