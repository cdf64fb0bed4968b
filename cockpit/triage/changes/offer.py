"""A change before it is tried: what it would be in words and as a command, and the cluster as it would be."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cockpit.fit.gang import FitAnswer
from cockpit.fit.what_if import WhatIf
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.record import Kind, Record
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.verdict import Change, Subject
from cockpit.triage.wanted import Tree, Wanted, local_queue


class ChangeOffer(NamedTuple):
    """`cost` orders: what costs nobody anything comes first, then what the job itself gives up, then time,
    then money, last the work of others. Of one `kind` on one `target` only the smallest that works is
    offered. `tree` is the job's object as it would be, None where it stays."""

    cost: int
    change: Change
    then: WhatIf
    tree: Tree | None = None


FREE = 0
"""Undoing a state that keeps the job for nothing: uncordon, resume, a queue with room."""
OWN_LINE = 10
"""A line of the job itself."""
OWN_SIZE = 20
"""Less of what the job asks for; a device counts one."""
TIME = 100
"""Nothing but waiting; minutes are added."""
MONEY = 300
"""More machines or more quota; a node counts ten, a device one."""
OTHERS = 1_000
"""The work of others; a device counts one."""


class Desk(NamedTuple):
    """What the offers of one subject are made from. `is_anew`: it was made anew by the change before."""

    wanted: Wanted
    view: ClusterView
    answer: FitAnswer
    is_anew: bool = False

    @property
    def base(self) -> WhatIf:
        """Nothing is changed."""
        one = self.wanted
        return WhatIf(parts=one.parts, queue=one.queue, around=self.view.around)

    @property
    def queue(self) -> ClusterQueue | None:
        """The ClusterQueue whose quota has yet to be had."""
        local = self.local
        found: ClusterQueue | None = (
            None if local is None else self.view.store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
        )
        return found

    @property
    def local(self) -> LocalQueue | None:
        """The LocalQueue that has yet to admit it."""
        one = self.wanted
        return local_queue(self.view, one.namespace, one.queue) if one.queue else None

    @property
    def name(self) -> str:
        """The job as its verbs take it: `team-a/llm-70b`."""
        job = self.wanted.job
        return self.wanted.subject.key if job is None else f"{job.namespace}/{job.name}"


ChangeOffers = Iterator[ChangeOffer]
Records = tuple[tuple[str, Record], ...]


def node(name: str) -> Subject:
    """A node as a target."""
    return Subject("node", "", name)


def cockpit(verb: str, *words: str) -> tuple[str, ...]:
    """The command of a verb (`job.kill`): it is refused without --write."""
    return ("cockpit", *verb.split("."), *words, "--write")


def short(name: str, limit: int = 32) -> str:
    """A long name, shortened in its middle."""
    if len(name) <= limit:
        return name
    head = (limit - 1) // 2
    return f"{name[:head]}…{name[len(name) - (limit - 1 - head) :]}"


def applied(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The command that creates an object that is known whole."""
    return ("echo", json.dumps(manifest, separators=(",", ":")), "|", "kubectl", "apply", "-f", "-")


def json_patch(words: tuple[str, ...], *operations: Mapping[str, Any]) -> tuple[str, ...]:
    """`kubectl patch WORDS` with these operations."""
    text = json.dumps(list(operations), separators=(",", ":"))
    return ("kubectl", "patch", *words, "--type=json", "-p", text)


def merge_patch(words: tuple[str, ...], change: Mapping[str, Any]) -> tuple[str, ...]:
    """`kubectl patch WORDS` with these fields."""
    return ("kubectl", "patch", *words, "--type=merge", "-p", json.dumps(change, separators=(",", ":")))


def member_word(role: str) -> str:
    """What a member is called: pods that have no role of their own are told as pods."""
    return "pod" if role == "main" else role
