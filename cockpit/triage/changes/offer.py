"""A change before it is tried: what it would be in words and as a command, and the cluster as it would be."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from msgspec.structs import replace

from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.pod_sets import pod_sets
from cockpit.fit.quota import Cohorts
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import WhatIf
from cockpit.gangs import registry
from cockpit.k8s.admission.admission_specs import FlavorSpec
from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.record import Record
from cockpit.triage.changes.waiting_pods import WaitingPods
from cockpit.triage.context import ClusterView, Tree, tree_in
from cockpit.triage.wanted import Wanted, queue_named


class ChangeOffer(NamedTuple):
    """`cost` orders: what costs nobody anything comes first, then what the job itself gives up, then time,
    then money, last the work of others. Of one `kind` on one `target` only the smallest that works is
    offered. `tree` is the job's object as it would be, None where it stays; `trees` are other objects that
    are made or changed; `mends` is the cause whose component is content with the change, "" for none."""

    cost: int
    change: Change
    then: WhatIf
    tree: Tree | None = None
    trees: tuple[Tree, ...] = ()
    mends: str = ""

    @property
    def is_anew(self) -> bool:
        """The job is deleted and made again: it stands at the end of its line."""
        return self.tree is not None or self.change.verb == "job.clone"


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


class Desk:
    """What the offers of one subject are made from. `blockers` is what was said of it; `is_anew`: it was made
    anew by the change before."""

    def __init__(
        self,
        wanted: Wanted,
        view: ClusterView,
        blockers: tuple[Finding, ...] = (),
        *,
        answer: FitAnswer | None = None,
        is_anew: bool = False,
    ) -> None:
        self.wanted = wanted
        self.view = view
        self.blockers = blockers
        self.is_anew = is_anew
        self._answer = answer

    @cached_property
    def answer(self) -> FitAnswer:
        """How its members find seats as things are."""
        one = self.wanted
        return self._answer or fit(self.view.store, one.parts, surroundings=self.view.around)

    @cached_property
    def base(self) -> WhatIf:
        """Nothing is changed."""
        one = self.wanted
        return WhatIf(parts=one.parts, queue=one.queue, around=self.view.around)

    @cached_property
    def waiting(self) -> WaitingPods:
        """Pods of others that may take a node first."""
        return WaitingPods(self.view, self.wanted, self.flavors)

    @cached_property
    def queue(self) -> ClusterQueue | None:
        """The ClusterQueue whose quota has yet to be had."""
        return queue_named(self.view.store, self.wanted.namespace, self.wanted.queue)[1]

    @cached_property
    def local(self) -> LocalQueue | None:
        """The LocalQueue that has yet to admit it."""
        return queue_named(self.view.store, self.wanted.namespace, self.wanted.queue)[0]

    @cached_property
    def workload(self) -> Workload | None:
        """By which its engine admits the job."""
        return registry.workload_of(self.wanted.job, self.view.store)

    @cached_property
    def rank(self) -> int:
        """The priority with which a job that has no workload yet will stand in line; 0 where no class is
        known."""
        one, trees = self.wanted, self.view.trees
        if not one.is_planned:
            return 0
        labels = tree_in(tree_in((one.tree or {}).get("metadata")).get("labels"))
        for priority in (engine.priority for engine in registry.engines_by_quota()):
            name = None if priority is None else labels.get(priority.label)
            for found in () if priority is None or not name else trees.get((priority.kind[1], ""), ()):
                if found["metadata"].get("name") == name:
                    return int(found.get("value") or 0)
        snapshot = ClusterSnapshot(self.view.store, self.view.around)
        return max((snapshot.priority(part.shape) or 0 for part in one.parts), default=0)

    @cached_property
    def cohorts(self) -> Cohorts:
        """Cohorts that were read."""
        trees = self.view.trees
        return {name: one for each in registry.quota_offers() for name, one in each.cohorts(trees).items()}

    @cached_property
    def flavors(self) -> Mapping[str, FlavorSpec]:
        """Flavors that were read, by name."""
        trees = self.view.trees
        return {name: one for each in registry.quota_offers() for name, one in each.flavors(trees).items()}

    @cached_property
    def pod_specs(self) -> list[Mapping[str, Any]]:
        """The specs of its pods: of its object, else of those that are there."""
        tree, space = self.wanted.tree, self.wanted.namespace
        if tree is not None:
            return [one.pod_spec for one in pod_sets(tree)]
        pods = (self.view.tree("Pod", space, pod.name) for pod in self.wanted.pods)
        return [pod["spec"] for pod in pods if pod is not None]

    @property
    def name(self) -> str:
        """The job as its verbs take it: `team-a/llm-70b`."""
        job = self.wanted.job
        return self.wanted.subject.key if job is None else f"{job.namespace}/{job.name}"


ChangeOffers = Iterator[ChangeOffer]
Records = tuple[tuple[str, Record], ...]


def made(
    desk: Desk,
    cost: int,
    kind: str,
    words: str,
    command: tuple[str, ...] = (),
    *,
    verb: str = "",
    target: Subject | None = None,
    tree: Tree | None = None,
    trees: tuple[Tree, ...] = (),
    **then: Any,
) -> ChangeOffer:
    """An offer. With `verb` (`job.kill`) the command is what follows it; `then` is how the cluster differs
    from what it is."""
    if verb:
        command = cockpit(verb, *command)
    change = Change(kind=kind, words=words, verb=verb, command=command, target=target or desk.wanted.subject)
    after = replace(desk.base, **then) if then else desk.base
    return ChangeOffer(cost, change, after, tree, trees)


def node(name: str) -> Subject:
    """A node as a target."""
    return Subject("node", "", name)


def cockpit(verb: str, *words: str) -> tuple[str, ...]:
    """The command of a verb (`job.kill`): it is refused without --write."""
    return ("cockpit", *verb.split("."), *words, "--write")


def member_word(role: str) -> str:
    """What a member is called: pods that have no role of their own are told as pods."""
    return "pod" if role == "main" else role


def amount_text(resource: str, amount: int) -> str:
    """A number of base units as a person says it: cores, GiB, devices."""
    if resource == "cpu":
        return f"{amount / 1000:g}"
    return f"{amount / (1 << 30):g} GiB" if resource == "memory" else str(amount)
