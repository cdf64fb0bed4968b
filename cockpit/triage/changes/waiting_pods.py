"""Pods of others that may take a node before the subject's."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from cockpit.fit.demand import directed, parts_of_sets, shape_of_pod
from cockpit.fit.quota import Flavors
from cockpit.fit.shape import Part, Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.fit.what_if import WhatIf
from cockpit.k8s.admission.admission_specs import FlavorSpec
from cockpit.k8s.tolerations import tolerations_of
from cockpit.model.gang import Workload
from cockpit.model.job import Job, JobState
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.context import ClusterView
from cockpit.triage.wanted import Wanted, waits

_HAVE_WAITING_PODS: Final = (JobState.PENDING, JobState.DEGRADED)


class WaitingPods:
    """Pods of others that may take a node before the subject's: those that found none and may be tried again
    (the scheduler goes by priority, and takes equals in any order), and those of jobs that hold quota
    and whose pods are not made yet, or are to be made again after an eviction."""

    def __init__(self, view: ClusterView, wanted: Wanted, flavors: Mapping[str, FlavorSpec]) -> None:
        own, snapshot = wanted.job, ClusterSnapshot(view.store, view.around)
        least = min(snapshot.priority(part.shape) or 0 for part in wanted.parts)
        self._flavors = flavors
        self._parts_of: dict[str, tuple[Part, ...]] = {}
        for job in view.jobs.jobs.values():
            if own is not None and job.key == own.key:
                continue
            if not job.pod_uids and job.state not in JobState.ENDED:
                self._enter_unmade(view.store, job)
            if job.state not in _HAVE_WAITING_PODS:
                continue
            for pod in view.jobs.members(job.key):
                is_rival = (pod.priority or 0) >= least and pod.key != wanted.subject.key
                if is_rival and waits(pod) and pod.scheduled_reason == "Unschedulable" and not pod.is_gated:
                    # what it takes of a node, and which nodes it may go to; not which pods it minds
                    bare = replace(shape_of_pod(pod), near=(), keeps_away=(), host_ports=(), claims=())
                    self._parts_of[pod.uid] = (Part("pod", 1, bare),)
        self._parts = _counted(self._parts_of.values())

    def _enter_unmade(self, store: StoreReader, job: Job) -> None:
        workload: Workload | None = store.get(Kind.WORKLOAD, job.workload_uid)
        if workload is None or not workload.cluster_queue or workload.is_finished:
            return
        sets = [one for one in workload.pod_sets if one.count]
        both = zip(sets, parts_of_sets(sets, workload.namespace), strict=True)
        parts = (on_flavors(part, dict(one.flavors), self._flavors) for one, part in both)
        self._parts_of[workload.uid] = tuple(parts)

    def beside(self, then: WhatIf) -> tuple[Part, ...]:
        """Those that are left after a change."""
        return self.parts(then.without.union(one.uid for kind, one in then.records if kind == Kind.WORKLOAD))

    def parts(self, gone: Collection[str]) -> tuple[Part, ...]:
        """All of them, or all but those that are gone (uids of pods and workloads)."""
        if self._parts_of.keys().isdisjoint(gone):
            return self._parts
        return _counted(parts for uid, parts in self._parts_of.items() if uid not in gone)


def _counted(every: Iterable[Iterable[Part]]) -> tuple[Part, ...]:
    found: Counter[Shape] = Counter()
    for parts in every:
        for part in parts:
            found[part.shape] += part.count
    return tuple(Part("pod", count, shape) for shape, count in found.items())


def on_flavors(part: Part, given: Flavors, known: Mapping[str, FlavorSpec]) -> Part:
    """The members on the nodes of the flavors that they were given, by resource."""
    flavors = [known[name] for name in dict.fromkeys(given.values()) if name in known]
    if not flavors:
        return part
    labels = {key: value for one in flavors for key, value in one.labels.items()}
    return directed(part, labels, (each for one in flavors for each in tolerations_of(list(one.tolerations))))
