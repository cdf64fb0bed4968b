"""Where a Kueue Workload stands and why, computed from its conditions, its queue and the quota rows.

Kueue counts quota; a message is the news of one scheduling pass and may be old. The state is therefore
read from conditions and `spec.active`, and the sentence is rebuilt with the numbers the queue shows now.
"""

import re
from collections.abc import Iterable, Mapping

from cockpit.gangs import kueue_texts as texts
from cockpit.gangs.kueue_queue_state import queue_state
from cockpit.gangs.sentence import counted, listed, one_line
from cockpit.gangs.verdict import GangState, GangVerdict
from cockpit.model.devices import is_gpu_resource, resource_word
from cockpit.model.gang import ClusterQueue, LocalQueue, QuotaRow, Workload
from cockpit.model.record import Condition, Kind, condition
from cockpit.store.store import Store

_QUANTITY = re.compile(r"^\d+$")


def gpus_asked(workload: Workload) -> int:
    """GPUs that the whole gang asks for, over all pod sets."""
    return sum(
        amount
        for part in workload.pod_sets
        for resource, amount in part.resources
        if is_gpu_resource(resource)
    )


def local_queue_of(workload: Workload, store: Store) -> LocalQueue | None:
    found: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{workload.namespace}/{workload.queue}")
    return found


def cluster_queue_name(workload: Workload, store: Store) -> str:
    """Where quota is reserved, else where the LocalQueue leads, "" where that is unknown."""
    if workload.cluster_queue:
        return workload.cluster_queue
    queue = local_queue_of(workload, store)
    return "" if queue is None else queue.cluster_queue


def cluster_queue_of(store: Store, namespace: str, queue: str) -> str:
    """The ClusterQueue that a LocalQueue leads to, "" where it is not known."""
    found: LocalQueue | None = store.by_key(Kind.LOCAL_QUEUE, f"{namespace}/{queue}")
    return "" if found is None else found.cluster_queue


def is_true(workload: Workload, type_: str) -> bool:
    found = condition(workload.conditions, type_)
    return found is not None and found.status == "True"


def gang_state(workload: Workload) -> str:
    """The state from conditions and `spec.active` alone; never BLOCKED, for that needs the queue."""
    if is_true(workload, "Finished"):
        return GangState.FINISHED
    if not workload.is_active:
        return GangState.HELD
    if is_true(workload, "Admitted"):
        if is_true(workload, "Evicted"):
            return GangState.EVICTED
        return GangState.STARTED if is_true(workload, "PodsReady") else GangState.ADMITTED
    if is_true(workload, "QuotaReserved") and not is_true(workload, "Evicted"):
        return GangState.CHECKING
    return GangState.QUEUED


def is_in_line(workload: Workload) -> bool:
    """True while it stands in its queue, without quota."""
    return gang_state(workload) == GangState.QUEUED


def verdict(
    workload: Workload, store: Store, positions: Mapping[str, int] | None = None, *, is_told: bool = False
) -> GangVerdict:
    """Where the gang stands and why.

    `positions` maps workload uids to places in line, 1 is next; without it the place is estimated.
    `is_told` says that Kueue's visibility API gave them.
    """
    state = gang_state(workload)
    cluster_queue = cluster_queue_name(workload, store)
    found = GangVerdict(state=state, queue=workload.queue, cluster_queue=cluster_queue)
    if state == GangState.QUEUED:
        if positions is None:
            positions, is_told = estimate_positions(store, cluster_queue), False
        return _queued(workload, store, cluster_queue, positions.get(workload.uid), is_told)
    return GangVerdict(
        state=found.state,
        reason=one_line(_reason(workload, state, store)),
        flavor=next((part.flavor for part in workload.pod_sets if part.flavor), ""),
        queue=found.queue,
        cluster_queue=cluster_queue,
    )


def _reason(workload: Workload, state: str, store: Store) -> str:
    evicted = condition(workload.conditions, "Evicted")
    if state == GangState.HELD:
        return texts.HELD_WORDS.get(evicted.reason if evicted else "", texts.HELD_BY_PERSON)
    if state == GangState.EVICTED and evicted is not None:
        words = _preempted(evicted, store) or texts.EVICTED_WORDS.get(evicted.reason)
        return words or evicted.message.strip() or "is being taken off by Kueue"
    if state == GangState.CHECKING:
        admitted = condition(workload.conditions, "Admitted")
        if admitted is not None and admitted.reason == "PendingDelayedTopologyRequests":
            return "quota is reserved; Kueue still looks for a place in the topology"
        detail = "" if admitted is None else admitted.message
        known = ("", "The workload has no reservation", "The workload has failed admission checks")
        return "quota is reserved; waits for admission checks" + ("" if detail in known else f": {detail}")
    if state == GangState.ADMITTED:
        ready = condition(workload.conditions, "PodsReady")
        return "admitted; not all pods are ready" if ready is not None and ready.status == "False" else ""
    return ""


def _queued(
    workload: Workload, store: Store, cluster_queue: str, position: int | None, is_told: bool
) -> GangVerdict:
    reserved = condition(workload.conditions, "QuotaReserved")
    message = "" if reserved is None else reserved.message
    exceeds, unused = texts.EXCEEDS.search(message), texts.UNUSED.search(message)
    missing: int | None = None
    flavor = resource = ""
    is_blocked = False
    stopped = _stopped(workload, store, cluster_queue)
    if stopped:
        reason, is_blocked = stopped, True
    elif _backs_off(workload):
        tries = counted(workload.requeue_count, "try", "tries")
        reason = f"waits out a back-off after {tries} before it queues again"
    elif texts.PREEMPTING.search(message):
        reason, _ = _from_table(workload, cluster_queue, reserved)
    elif unused is not None:
        reason, missing, flavor, resource = _short_of(workload, store, cluster_queue, message)
    elif exceeds is not None:
        flavor, resource = exceeds["flavor"], exceeds["resource"]
        reason, is_blocked = _too_large(workload, cluster_queue, exceeds), True
        missing = _whole(exceeds["asked"], exceeds["before"], exceeds["most"])
    else:
        reason, is_blocked = _from_table(workload, cluster_queue, reserved)
    return GangVerdict(
        state=GangState.BLOCKED if is_blocked else GangState.QUEUED,
        reason=_with_past(workload, reason, store),
        missing=missing,
        flavor=flavor,
        resource=resource,
        position=position,
        is_estimate=position is not None and not is_told,
        queue=workload.queue,
        cluster_queue=cluster_queue,
    )


def _backs_off(workload: Workload) -> bool:
    requeued = condition(workload.conditions, "Requeued")
    return requeued is not None and requeued.status == "False" and workload.requeue_at_seconds is not None


def _stopped(workload: Workload, store: Store, cluster_queue: str) -> str:
    """Why the queue takes nothing now, "" when it does or when its state is unknown."""
    queue = local_queue_of(workload, store)
    if queue is not None and queue_state(queue).state in ("stopped", "ending"):
        return f"queue {queue.name} is {queue_state(queue).why or 'stopped'}"
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    if target is not None and queue_state(target).state in ("stopped", "inactive", "ending"):
        return f"ClusterQueue {target.name}: {queue_state(target).why}"
    return ""


def _from_table(workload: Workload, cluster_queue: str, reserved: Condition | None) -> tuple[str, bool]:
    """Words of the first pattern that matches the message, else of the reason, else the message itself."""
    names = {
        "namespace": workload.namespace,
        "queue": workload.queue or "(none)",
        "cluster_queue": cluster_queue or "its ClusterQueue",
    }
    if reserved is None:
        return "waits for Kueue to look at it", False
    for text in texts.QUEUED_TEXTS:
        found = text.pattern.search(reserved.message)
        if found is not None:
            return text.words.format(**names, **found.groupdict()), text.is_blocked
    if reserved.message.strip():
        return reserved.message, False
    words, is_blocked = texts.REASON_WORDS.get(reserved.reason, (reserved.reason, False))
    return words.format(**names) or "waits for Kueue to look at it", is_blocked


def _short_of(
    workload: Workload, store: Store, cluster_queue: str, message: str
) -> tuple[str, int | None, str, str]:
    """The sentence for quota that is used up now, with what is missing, its flavor and its resource."""
    short = [(one["resource"], one["flavor"], one["missing"]) for one in texts.UNUSED.finditer(message)]
    gpus = [one for one in short if is_gpu_resource(one[0])] or short
    resource, flavor, missing = min(gpus, key=lambda one: (_whole(one[2]) is None, _whole(one[2]) or 0))
    needed = _whole(missing)
    noun = resource_word(resource, needed)
    if len(gpus) > 1:
        head = f"needs {_asked(workload, resource)}, no flavor has it free: "
        return listed(head, [f"{one[1]} lacks {one[2]}" for one in gpus]), needed, flavor, resource
    row = _quota_row(store, cluster_queue, flavor, resource)
    if needed is None or row is None or row.used is None:
        whose = f" of quota {cluster_queue}/{flavor}" if cluster_queue else f" of flavor {flavor}"
        return (
            f"needs {_asked(workload, resource)}{whose}: {missing} more {noun} needed",
            needed,
            flavor,
            resource,
        )
    free = max(0, row.nominal - row.used)
    asked = _amount(workload, resource)
    name = f"quota {cluster_queue}/{flavor}"
    if asked and free >= asked and not _cohort(store, cluster_queue):
        return f"{name} has {free} unused now: starts at Kueue's next look", 0, flavor, resource
    return (
        f"needs {_asked(workload, resource)}, {name} has {free} unused: {missing} more needed",
        needed,
        flavor,
        resource,
    )


def _too_large(workload: Workload, cluster_queue: str, exceeds: re.Match[str]) -> str:
    before, asked = _whole(exceeds["before"]) or 0, _whole(exceeds["asked"])
    total = exceeds["asked"] if asked is None else str(before + asked)
    noun = resource_word(exceeds["resource"], None if asked is None else before + asked)
    whose = f"queue {cluster_queue}" if cluster_queue else f"flavor {exceeds['flavor']}"
    return f"asks {total} {noun}, {whose} can never give more than {exceeds['most']}"


def _with_past(workload: Workload, reason: str, store: Store) -> str:
    """Lead with the eviction that brought it back into the line."""
    evicted = condition(workload.conditions, "Evicted")
    if evicted is None or evicted.status != "True":
        return one_line(reason)
    past = {"PodsReadyTimeout": "put back: pods not ready in time"}.get(evicted.reason)
    past = past or _preempted(evicted, store)
    return one_line(f"{past}; {reason}" if past else reason)


def _preempted(evicted: Condition, store: Store) -> str:
    """ "preempted by team-a/urgent", as the message names the job by uid; "" for other evictions."""
    if evicted.reason != "Preempted":
        return ""
    named = texts.PREEMPTED_BY.search(evicted.message)
    for other in store.workloads_of(named["uid"]) if named is not None else ():
        if other.owner is not None:
            return f"preempted by {other.namespace}/{other.owner.name}"
    return "preempted by a job that goes first"


def _asked(workload: Workload, resource: str) -> str:
    amount = _amount(workload, resource)
    if not amount:
        return resource_word(resource)
    if resource == "cpu":
        return f"{amount / 1000:g} CPU"
    if resource in ("memory", "ephemeral-storage"):
        return f"{amount / 2**30:.3g} GiB of {resource_word(resource)}"
    if is_gpu_resource(resource) and resource_word(resource).startswith("GPU"):
        return counted(amount, "GPU")
    return f"{amount} {resource_word(resource, amount)}"


def _amount(workload: Workload, resource: str) -> int:
    return sum(amount for part in workload.pod_sets for name, amount in part.resources if name == resource)


def _whole(text: str, plus: str = "0", minus: str = "0") -> int | None:
    """`text + plus - minus` where all are whole numbers, else None (quantities with a suffix)."""
    if not all(_QUANTITY.match(one) for one in (text, plus, minus)):
        return None
    return int(text) + int(plus) - int(minus)


def _quota_row(store: Store, cluster_queue: str, flavor: str, resource: str) -> QuotaRow | None:
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    if target is None:
        return None
    return next((row for row in target.quotas if (row.flavor, row.resource) == (flavor, resource)), None)


def _cohort(store: Store, cluster_queue: str) -> str:
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue)
    return "" if target is None else target.cohort


def queue_order(workload: Workload) -> tuple[int, float, str]:
    """Sort key of the line: priority, then the time that counts, then name.

    Source: kueue pkg/workload/workload.go GetQueueOrderTimestamp: after an eviction for pods that were not
    ready or for an admission check, the eviction's time counts, else the creation's.
    """
    evicted = condition(workload.conditions, "Evicted")
    moment = workload.created_seconds
    if (
        evicted is not None
        and evicted.status == "True"
        and evicted.reason in ("PodsReadyTimeout", "AdmissionCheck")
    ):
        moment = evicted.changed_seconds
    return (-workload.priority, moment if moment is not None else 0.0, workload.key)


def lines(store: Store) -> dict[str, dict[tuple[str, str], str]]:
    """Who stands in which ClusterQueue's line: (namespace, name) of each Workload to its uid."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for workload in store.records(Kind.WORKLOAD).values():
        if is_in_line(workload):
            name = cluster_queue_name(workload, store)
            if name:
                found.setdefault(name, {})[workload.namespace, workload.name] = workload.uid
    return found


def estimate_positions(
    store: Store, cluster_queue: str | None = None, *, among: Iterable[Workload] | None = None
) -> dict[str, int]:
    """Place in line (1 is next) by workload uid, for one ClusterQueue or for all: an estimate.

    `among` are the workloads to look at; without it the whole table is.
    """
    lines: dict[str, list[Workload]] = {}
    for workload in store.records(Kind.WORKLOAD).values() if among is None else among:
        if not is_in_line(workload):
            continue
        name = cluster_queue_name(workload, store)
        if name and cluster_queue in (None, name):
            lines.setdefault(name, []).append(workload)
    return {
        workload.uid: place
        for line in lines.values()
        for place, workload in enumerate(sorted(line, key=queue_order), start=1)
    }
