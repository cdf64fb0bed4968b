"""Who loses quota once a job asks for it: Kueue's own cycles, played on the queues as they are now.

The jobs that ask go through as many cycles as they need; a job that is preempted queues again and may preempt
others in its turn. Victims leave at once here, in the cluster when their pods have ended. Not played: fair
sharing, flavors placed by a topology, fewer pods than asked, slices of elastic jobs: `unknown` says so.
Source: kueue v0.19 pkg/scheduler, pkg/workload.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from cockpit.fit.pod_sets import pods_asked
from cockpit.gangs.kueue import attach
from cockpit.gangs.kueue.cycles import Cycles, takes_from_others
from cockpit.gangs.kueue.queue_state import queue_state
from cockpit.gangs.kueue.standing import cluster_queue_name, is_in_line, is_true, queue_order
from cockpit.gangs.manifests import ApiKind, job_in
from cockpit.gangs.outlook import OutlookFacts, QuotaOutlook, QuotaStart, Tree
from cockpit.k8s.admission.admission_specs import (
    STRICT,
    FlavorSpec,
    PodSetRequests,
    QuotaReservation,
    WorkloadInfo,
    cohort_specs,
    flavor_spec,
    pod_set_asks,
    queue_spec,
)
from cockpit.k8s.admission.flavor_assignment import FlavorAssignment
from cockpit.k8s.admission.quota_tree import Amounts, Forest
from cockpit.k8s.json_values import mapping
from cockpit.k8s.pod_requests import pod_requests
from cockpit.k8s.tolerations import tolerations_of
from cockpit.model.contender import Contender
from cockpit.model.gang import ClusterQueue, LocalQueue, Workload
from cockpit.model.record import Kind, Labels, condition
from cockpit.model.scheduling import Toleration
from cockpit.model.store_reader import StoreReader

_GROUP: Final = "kueue.x-k8s.io/v1beta2"
QUEUES: Final[ApiKind] = (_GROUP, "ClusterQueue")
FLAVORS: Final[ApiKind] = (_GROUP, "ResourceFlavor")
COHORTS: Final[ApiKind] = (_GROUP, "Cohort")
CLASSES: Final[ApiKind] = (_GROUP, "WorkloadPriorityClass")
POD_CLASSES: Final[ApiKind] = ("scheduling.k8s.io/v1", "PriorityClass")
LISTS: Final = (QUEUES, FLAVORS, COHORTS, CLASSES, POD_CLASSES)
_PLURALS: Final = {
    QUEUES: "clusterqueues",
    FLAVORS: "resourceflavors",
    COHORTS: "cohorts",
    CLASSES: "workloadpriorityclasses",
    POD_CLASSES: "priorityclasses",
}
_MOST_WAITING: Final = 64
"""Waiting jobs that are played; where more are concerned the answer is unknown."""


class _UnknownError(Exception):
    """Why it cannot be computed."""


def may_preempt(contenders: Sequence[Contender], store: StoreReader) -> bool:
    """Whether anything is there that could lose quota to these jobs, or (lowered) they to others."""
    own = {one.workload_uid for one in contenders}
    holders = [one for one in _workloads(store) if _holds(one)]
    if any(one.uid in own for one in holders):
        return True
    status = store.status(Kind.WORKLOAD)
    return status is None or not status.is_whole or bool(holders)


def outlook(
    contenders: Sequence[Contender], store: StoreReader, facts: OutlookFacts, now_seconds: float
) -> QuotaOutlook:
    """See `Engine.outlook`."""
    try:
        return _Play(contenders, store, facts, now_seconds).outlook()
    except _UnknownError as error:
        return QuotaOutlook(unknown=str(error))
    except (TypeError, ValueError, KeyError, AttributeError):
        return QuotaOutlook(unknown="an object of Kueue has another shape than its API says")


def _workloads(store: StoreReader) -> Iterable[Workload]:
    found: Iterable[Workload] = store.records(Kind.WORKLOAD).values()
    return found


def _holds(workload: Workload) -> bool:
    return bool(workload.cluster_queue) and is_true(workload, "QuotaReserved") and not workload.is_finished


class _Play:
    """Queues, who holds quota in them, and who asks."""

    def __init__(
        self, contenders: Sequence[Contender], store: StoreReader, facts: OutlookFacts, now_seconds: float
    ) -> None:
        self._contenders = contenders
        self._store = store
        self._facts = facts
        self._now = now_seconds
        self._wants: list[str] = []
        self._refuse_partial()
        self._queues = {str(one["metadata"]["name"]): one for one in self._listed(QUEUES)}
        self._specs = {name: queue_spec(dict(one)) for name, one in self._queues.items()}
        gone = {one.replaces for one in contenders} - {""}
        self._held = {
            one.uid: self._reservation(one)
            for one in _workloads(store)
            if _holds(one) and (one.owner is None or one.owner.uid not in gone)
        }
        self._forest = self._grown()

    # ---- what is there

    def _refuse_partial(self) -> None:
        status = self._store.status(Kind.WORKLOAD)
        if status is None:
            return
        if status.scope:
            raise _UnknownError(f"jobs outside namespace {status.scope} may not be listed")
        if not status.is_whole:
            why = status.message or status.phase.value
            raise _UnknownError(f"the list of workloads is not complete ({why})")
        if status.phase.value == "stale":
            raise _UnknownError("the list of workloads is stale")

    def _listed(self, kind: ApiKind) -> Sequence[Tree]:
        found = self._facts.lists.get(kind)
        if found is None:
            raise _UnknownError(f"{_PLURALS[kind]} may not be listed, or there are too many")
        return found

    def _reservation(self, workload: Workload) -> QuotaReservation:
        usage: Amounts = {}
        for part in workload.pod_sets:
            flavors = dict(part.flavors)
            for resource, amount in part.resources:
                if resource not in flavors:
                    continue
                left = max(0, part.count - part.ended)
                used = amount // part.count * left if part.ended and part.count else amount
                key = (flavors[resource], resource)
                usage[key] = usage.get(key, 0) + used
        reserved = condition(workload.conditions, "QuotaReserved")
        since = None if reserved is None else reserved.changed_seconds
        return QuotaReservation(
            key=(workload.namespace, workload.name),
            uid=workload.uid,
            queue=workload.cluster_queue,
            priority=workload.priority,
            moment=queue_order(workload)[1],
            usage=usage,
            reserved_seconds=self._now if since is None else since,
            is_admitted=is_true(workload, "Admitted"),
            is_evicted=is_true(workload, "Evicted"),
        )

    def _grown(self) -> Forest:
        has_cohort = any(one.cohort for one in self._specs.values())
        cohorts = cohort_specs(self._listed(COHORTS) if has_cohort else ())
        queues = {name: (one.cohort, one.quotas) for name, one in self._specs.items()}
        forest = Forest.grown(queues, cohorts)
        if forest.looped:
            raise _UnknownError("cohorts are parents of each other")
        for held in self._held.values():
            node = forest.queues.get(held.queue)
            for key, amount in held.usage.items():
                if node is not None:
                    node.add(key, amount)
        return forest

    # ---- who asks

    def outlook(self) -> QuotaOutlook:
        asking: list[WorkloadInfo] = []
        names: dict[str, str] = {}
        lowered: dict[str, int] = {}
        for one in self._contenders:
            workload: Workload | None = self._store.get(Kind.WORKLOAD, one.workload_uid)
            if workload is not None and _holds(workload):
                priority = self._priority(one, workload)
                if priority < workload.priority:
                    lowered[workload.uid] = priority
                continue
            info = self._info(one, workload)
            if info is not None:
                asking.append(info)
                names[info.uid] = one.name
        for uid, priority in lowered.items():
            self._held[uid] = replace(self._held[uid], priority=priority)
        queues = {one.queue for one in asking} | {self._held[uid].queue for uid in lowered}
        nodes = self._forest.queues
        heads = [nodes[name].root for name, spec in self._specs.items() if spec.strategy == STRICT]
        strict = {name for name in queues if name in nodes and nodes[name].root in heads}
        others = self._waiting({one.uid for one in asking}, queues if lowered else strict)
        if not self._wants and not lowered:
            first = self._played(asking, others, names)
            if not first.victims or first.wants:
                return first
            others = self._waiting({one.uid for one in asking}, queues)
        if self._wants:
            return QuotaOutlook(wants=tuple(self._wants))
        return self._played([*asking, *others] if lowered else asking, () if lowered else others, names)

    def _info(self, one: Contender, workload: Workload | None) -> WorkloadInfo | None:
        """What asks; None where it stays out of line, and takes nothing from others for now."""
        queue = one.queue or ("" if workload is None else workload.queue)
        if workload is None:
            queue = queue or attach.queue_of(one.manifest or {})
        elif workload.is_finished or workload.gated_by:
            return None
        local: LocalQueue | None = self._store.by_key(Kind.LOCAL_QUEUE, f"{one.namespace}/{queue}")
        if local is None:
            status = self._store.status(Kind.LOCAL_QUEUE)
            if status is not None and not status.is_whole:
                raise _UnknownError(f"queue {queue} of namespace {one.namespace} may not be read")
            return None
        name = local.cluster_queue
        if name not in self._specs and self._store.by_key(Kind.CLUSTER_QUEUE, name) is not None:
            raise _UnknownError(f"ClusterQueue {name} could not be read")
        if name not in self._specs or self._is_closed(local, name):
            return None
        asks = self._asks(one, workload)
        return WorkloadInfo(
            key=(one.namespace, one.name if workload is None else workload.name),
            uid=one.name if workload is None else workload.uid,
            job_uid="",
            queue=name,
            priority=self._priority(one, workload),
            moment=math.inf if workload is None else queue_order(workload)[1],
            pod_sets=asks,
        )

    def _is_closed(self, local: LocalQueue, name: str) -> bool:
        """Whether one of the two queues is stopped, or inactive, and is not about to be opened."""
        opened = {one.opens for one in self._contenders}
        target: ClusterQueue | None = self._store.by_key(Kind.CLUSTER_QUEUE, name)
        # a LocalQueue is inactive because of the queue behind it, which is looked at itself
        if local.uid not in opened and queue_state(local).state in ("stopped", "ending"):
            return True
        if target is None or target.uid in opened:
            return False
        return queue_state(target).state in ("stopped", "ending", "inactive")

    def _waiting(self, own: set[str], queues: set[str]) -> list[WorkloadInfo]:
        """Others that wait in these queues or beside them: quota that becomes free may go to them first."""
        roots = [self._forest.queues[name].root for name in queues if name in self._forest.queues]
        found: list[WorkloadInfo] = []
        for one in _workloads(self._store):
            node = self._forest.queues.get(cluster_queue_name(one, self._store))
            if one.uid in own or not is_in_line(one) or node is None or node.root not in roots:
                continue
            info = self._info(Contender(name=one.job_key, workload_uid=one.uid), one)
            found += [] if info is None else [info]
        if len(found) > _MOST_WAITING:
            raise _UnknownError(f"more than {_MOST_WAITING} jobs wait beside it")
        return found

    def _asks(self, one: Contender, workload: Workload | None) -> tuple[PodSetRequests, ...]:
        if workload is None:
            return _new_asks(one)
        if workload.replaces:
            raise _UnknownError("it is a slice of an elastic job")
        tree = self._facts.workloads.get(workload.uid)
        if tree is None:
            self._wants.append(workload.uid)
            return ()
        return pod_set_asks(dict(tree))

    def _priority(self, one: Contender, workload: Workload | None) -> int:
        manifest = one.manifest or {}
        name = one.priority_class
        if not name and workload is not None:
            return workload.priority
        name = name or str(
            mapping(mapping(job_in(manifest).get("metadata")).get("labels")).get(attach.PRIORITY_LABEL) or ""
        )
        if name:
            return self._value(CLASSES, name)
        return self._pod_priority(manifest)

    def _pod_priority(self, manifest: Tree) -> int:
        """Of a job that is made: the class of its pods, of a launcher first, else the cluster's default."""
        policy = mapping(mapping(mapping(manifest.get("spec")).get("runPolicy")).get("schedulingPolicy"))
        named = [str(policy.get("priorityClass") or "")]
        sets = sorted(pods_asked(manifest).sets, key=lambda each: each.role not in ("launcher", "leader"))
        named += [str(each.pod_spec.get("priorityClassName") or "") for each in sets]
        name = next(filter(None, named), "")
        if name:
            return self._value(POD_CLASSES, name)
        defaults = [one for one in self._listed(POD_CLASSES) if one.get("globalDefault") is True]
        return min((int(one.get("value") or 0) for one in defaults), default=0)

    def _value(self, kind: ApiKind, name: str) -> int:
        for one in self._listed(kind):
            if one["metadata"].get("name") == name:
                return int(one.get("value") or 0)
        raise _UnknownError(f"there is no {kind[1]} {name}")

    # ---- the cycles

    def _played(
        self, asking: Sequence[WorkloadInfo], others: Sequence[WorkloadInfo], names: Mapping[str, str]
    ) -> QuotaOutlook:
        """`others` wait, and are looked at once quota becomes free."""
        flavors = self._facts.lists.get(FLAVORS)
        if any(takes_from_others(self._forest, self._specs, self._held.values(), one) for one in asking):
            self._refuse_unplayed({one.queue for one in asking})
        elif flavors is None:  # nobody loses quota; whether there is enough is not known
            return QuotaOutlook(
                starts=tuple(QuotaStart(names[one.uid], {}, {}) for one in asking if one.uid in names)
            )
        specs = {str(one["metadata"]["name"]): flavor_spec(dict(one)) for one in flavors or ()}
        play = Cycles(
            self._grown(),
            self._specs,
            specs,
            self._held,
            queued_again=self._queued_again,
            now_seconds=self._now,
        )
        is_at_rest = play.run(asking, others)
        starts = tuple(_start(names[uid], it, specs) for uid, it in play.admitted.items() if uid in names)
        victims = tuple(uid for uid in play.victims if self._store.get(Kind.WORKLOAD, uid) is not None)
        if self._wants:
            return QuotaOutlook(victims=victims, starts=starts, wants=tuple(self._wants))
        if not is_at_rest:
            raise _UnknownError("the queues did not come to rest")
        self._refuse_partial_start(play.waiting, names)
        return QuotaOutlook(victims=victims, starts=starts)

    def _queued_again(self, gone: QuotaReservation) -> WorkloadInfo | None:
        """A job that is preempted queues again; None where it cannot preempt anyone in its turn."""
        workload: Workload | None = self._store.get(Kind.WORKLOAD, gone.uid)
        if workload is None or not workload.is_active or gone.is_evicted:
            return None
        spec = self._specs[gone.queue]
        if spec.within_queue == "Never" and (not spec.cohort or spec.reclaim == "Never"):
            return None
        tree = self._facts.workloads.get(gone.uid)
        if tree is None:
            self._wants.append(gone.uid)
            return None
        return WorkloadInfo(
            key=gone.key,
            uid=gone.uid,
            job_uid="",
            queue=gone.queue,
            priority=gone.priority,
            moment=gone.moment,
            pod_sets=pod_set_asks(dict(tree)),
        )

    # ---- what is not played

    def _refuse_unplayed(self, queues: Iterable[str]) -> None:
        for name in sorted(queues):
            tree, spec = self._queues[name], self._specs[name]
            if mapping(tree.get("status")).get("fairSharing") is not None and spec.cohort:
                raise _UnknownError(f"Kueue shares cohort {spec.cohort} fairly, which is not computed here")
            if mapping(tree.get("spec")).get("admissionScope"):
                raise _UnknownError(f"ClusterQueue {name} orders jobs by the usage of their queues")
            topologies = {
                str(one["metadata"]["name"]): str(mapping(one.get("spec")).get("topologyName") or "")
                for one in self._listed(FLAVORS)
            }
            for group in spec.groups:
                for flavor in group.flavors:
                    if topologies.get(flavor):
                        raise _UnknownError(f"flavor {flavor} is placed by topology {topologies[flavor]}")

    def _refuse_partial_start(self, waiting: Iterable[str], names: Mapping[str, str]) -> None:
        """A job that can do with fewer pods and did not start with all may preempt for the fewer."""
        for uid in waiting:
            workload: Workload | None = self._store.get(Kind.WORKLOAD, uid)
            if workload is not None and any(part.least is not None for part in workload.pod_sets):
                job = names.get(uid, workload.key)
                raise _UnknownError(f"{job} may start with fewer pods than it asks for")


def _start(name: str, given: FlavorAssignment, flavors: Mapping[str, FlavorSpec]) -> QuotaStart:
    selectors: dict[str, Labels] = {}
    tolerations: dict[str, tuple[Toleration, ...]] = {}
    for part in given.pod_sets:
        chosen = [flavors[name] for name in sorted({one.flavor for one in part.flavors.values()})]
        labels = {key: value for one in chosen for key, value in one.labels.items()}
        selectors[part.name] = tuple(sorted(labels.items()))
        tolerations[part.name] = tolerations_of([each for one in chosen for each in one.tolerations])
    return QuotaStart(name, selectors, tolerations)


def _new_asks(one: Contender) -> tuple[PodSetRequests, ...]:
    """What a job that is made asks for, part by part."""
    asked = pods_asked(one.manifest or {})
    if not asked.sets or any(each.replicas is None for each in asked.sets):
        raise _UnknownError(f"how many pods it has is not in its manifest ({asked.unknown})")
    out = []
    for each in asked.sets:
        count = each.replicas or 0
        requests = {name: amount * count for name, amount in pod_requests(each.pod_spec).items()}
        out.append(PodSetRequests(each.role, count, requests, dict(each.pod_spec)))
    return tuple(out)
