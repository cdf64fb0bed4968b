"""Where a Kueue Workload stands and why, computed from its conditions, its queue and the quota rows.

The state is read from conditions and `spec.active`, the reason of a waiting one is found in `waiting`; each
reason carries its row of the catalogue of causes, the values behind it and how sure it is.
"""

from collections.abc import Mapping

from cockpit.catalogue.cause import Cause
from cockpit.gangs.kueue import texts
from cockpit.gangs.kueue.quota import figure
from cockpit.gangs.kueue.standing import cluster_queue_name, estimate_positions, gang_state
from cockpit.gangs.kueue.waiting import job_of, why_queued
from cockpit.gangs.sentence import SENTENCE_LIMIT, counted, one_line
from cockpit.gangs.told import Told, plain, told
from cockpit.gangs.verdict import GangState, GangVerdict
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.gang import AdmissionCheck, Workload
from cockpit.model.record import Condition, condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness

_NOTHING = Told("", sureness=Sureness.SAID)
_CHECK_ORDER = ("Rejected", "Retry", "Pending")


def verdict(
    workload: Workload,
    store: StoreReader,
    positions: Mapping[str, int] | None = None,
    *,
    is_told: bool = False,
) -> GangVerdict:
    """Where the gang stands and why.

    `positions` maps workload uids to places in line, 1 is next; without it the place is estimated.
    `is_told` says that Kueue's visibility API gave them.
    """
    state = gang_state(workload)
    cluster_queue = cluster_queue_name(workload, store)
    position: int | None = None
    if state == GangState.QUEUED:
        if positions is None:
            positions, is_told = estimate_positions(store, cluster_queue), False
        position = positions.get(workload.uid)
        why = why_queued(workload, store, cluster_queue)
        state = GangState.BLOCKED if why.is_blocked else state
        why = _with_past(workload, why, store)
    else:
        why = _why(workload, state, store)
    said = _said(workload, state)
    flavor = next((part.flavor for part in workload.pod_sets if part.flavor), "")
    return GangVerdict(
        state=state,
        reason=one_line(why.sentence),
        missing=why.missing,
        flavor=why.flavor or flavor,
        resource=why.resource,
        position=position,
        is_estimate=position is not None and not is_told,
        queue=workload.queue,
        cluster_queue=cluster_queue,
        cause=why.cause,
        facts=why.facts,
        sureness=why.sureness,
        message="" if said is None else said.message,
        since_seconds=None if said is None else said.changed_seconds,
        again_seconds=workload.requeue_at_seconds if why.cause == Cause.BACKS_OFF else None,
    )


def finished_early(workload: Workload) -> Told | None:
    """Why the job of a finished Workload never starts; None where it is not finished.

    Asked of jobs that have not ended: one that has ended has a finished Workload by right.
    """
    mark = condition(workload.conditions, "Finished")
    if mark is None or mark.status != "True":
        return None
    words = texts.FINISHED_WORDS.get(mark.reason, texts.FINISHED_BEFORE)
    facts = (("reason", mark.reason), ("workload", workload.key))
    found = Told(
        f"{words}: it never starts; recreate it", Cause.DECLARED_FINISHED, is_blocked=True, facts=facts
    )
    return found._replace(message=mark.message, since_seconds=mark.changed_seconds)


def _said(workload: Workload, state: str) -> Condition | None:
    """The condition that tells of the state, in Kueue's own words."""
    type_ = "Evicted" if state in (GangState.DEACTIVATED, GangState.EVICTED) else "QuotaReserved"
    return condition(workload.conditions, type_) if state in GangState.WAITING else None


def _why(workload: Workload, state: str, store: StoreReader) -> Told:
    if state == GangState.DEACTIVATED:
        return _deactivated(workload)
    if state == GangState.EVICTED:
        return _evicted(workload, store)
    if state == GangState.CHECKING:
        return _checking(workload)
    if state in (GangState.ADMITTED, GangState.STARTED):
        return _admitted(workload, state)
    return _NOTHING


def _deactivated(workload: Workload) -> Told:
    """Deactivated: by a check, by a limit, or by a person."""
    evicted = condition(workload.conditions, "Evicted")
    reason, message = ("", "") if evicted is None else (evicted.reason, evicted.message)
    for pattern in texts.REJECTED:
        found = pattern.search(message)
        if found is not None:
            return _rejected(found["check"], found["message"] or "")
    rejected = [one for one in workload.checks if one.state == "Rejected"]
    if rejected:
        return _rejected(rejected[0].name, rejected[0].message)
    if reason == "DeactivatedDueToAdmissionCheck":
        return Told("an admission check rejected it", Cause.ADMISSION_CHECK)
    cause, words = texts.DEACTIVATED_WORDS.get(reason, (Cause.SWITCHED_OFF, texts.DEACTIVATED_BY_PERSON))
    return Told(words, cause)


def _rejected(check: str, message: str) -> Told:
    tail = f": {plain(message)}" if message else ""
    found = told(
        Cause.ADMISSION_CHECK, "admission check {check} rejected it" + tail, {"check": check}, is_blocked=True
    )
    return found._replace(facts=(*found.facts, ("state", "Rejected"), ("message", message)))


def _evicted(workload: Workload, store: StoreReader) -> Told:
    evicted = condition(workload.conditions, "Evicted")
    if evicted is None:
        return Told("is being taken off by Kueue", sureness=Sureness.UNKNOWN)
    past = _past(evicted, store)
    cause, words = texts.EVICTED_WORDS.get(evicted.reason, ("", ""))
    if past is not None and (past.facts or not words):
        return past
    if words:
        return Told(words, cause)
    return Told(evicted.message.strip() or "is being taken off by Kueue", sureness=Sureness.UNKNOWN)


def _checking(workload: Workload) -> Told:
    """Quota is reserved: which check is not through, and what it says."""
    admitted = condition(workload.conditions, "Admitted")
    if admitted is not None and admitted.reason == "PendingDelayedTopologyRequests":
        return Told("quota is reserved; Kueue still looks for a place in the topology", Cause.TOPOLOGY_FULL)
    waiting = [one for one in workload.checks if one.state in _CHECK_ORDER]
    if waiting:
        return _check_words(min(waiting, key=lambda one: _CHECK_ORDER.index(one.state)), len(waiting))
    detail = "" if admitted is None else admitted.message
    known = ("", "The workload has no reservation", "The workload has failed admission checks")
    tail = "" if detail in known else f": {detail}"
    return Told(f"quota is reserved; waits for admission checks{tail}", Cause.ADMISSION_CHECK)


def _check_words(check: AdmissionCheck, count: int) -> Told:
    if check.state == "Rejected":
        return _rejected(check.name, check.message)
    verb = "is retried" if check.state == "Retry" else "is pending"
    more = f" (and {count - 1} more)" if count > 1 else ""
    tail = f": {plain(check.message)}" if check.message else ""
    found = told(
        Cause.ADMISSION_CHECK, f"admission check {{check}} {verb}{more}{tail}", {"check": check.name}
    )
    return found._replace(facts=(*found.facts, ("state", check.state), ("message", check.message)))


def _admitted(workload: Workload, state: str) -> Told:
    """What is worth knowing of one that may run: a lost node, fewer pods than it asked for."""
    if workload.unhealthy_nodes:
        text = "node {node} is lost: Kueue looks for another place in the topology"
        return told(Cause.LOST_WITH_NODE, text, {"node": ", ".join(workload.unhealthy_nodes)})
    fewer = [part for part in workload.pod_sets if part.asked > part.count]
    if fewer:
        got, asked = sum(part.count for part in fewer), sum(part.asked for part in fewer)
        found = Told(f"admitted with {got} of {asked} pods: its quota had no room for more")
        return found._replace(facts=(("admitted", str(got)), ("asked", str(asked))))
    ready = condition(workload.conditions, "PodsReady")
    if state == GangState.ADMITTED and ready is not None and ready.status == "False":
        return Told("admitted; not all pods are ready")
    return _NOTHING


def _with_past(workload: Workload, why: Told, store: StoreReader) -> Told:
    """Lead with the eviction that brought it back into the line."""
    evicted = condition(workload.conditions, "Evicted")
    if evicted is None or evicted.status != "True":
        return why
    past = _past(evicted, store)
    if past is None:
        return why
    if why.cause == past.cause == Cause.EVICTED_IN_A_LOOP and workload.requeue_count:
        tries = (("tries", str(workload.requeue_count)),)
        times = counted(workload.requeue_count, "time")
        return why._replace(sentence=f"put back {times}: its pods were not ready in time", facts=tries)
    if (
        past.cause == Cause.LOST_WITH_NODE and not why.cause
    ):  # Kueue says the same of the eviction and of the wait
        return past._replace(facts=(*past.facts, ("evicted", evicted.reason)))
    sentence = f"{past.sentence}; {why.sentence}"
    if len(sentence) > SENTENCE_LIMIT and why.cause == Cause.QUOTA_IN_USE and why.missing:
        noun = resource_word(why.resource, why.missing)
        sentence = f"{past.sentence}; needs {figure(why.resource, why.missing)} more {noun}"
    sentence = one_line(sentence)
    facts = (*why.facts, ("evicted", evicted.reason), *past.facts)
    # what took its place is the cause, the quota what follows; a lost node is while nothing else is told
    if (past.cause == Cause.PREEMPTED and why.cause in (Cause.QUOTA_IN_USE, Cause.NOT_ADMITTED_YET, "")) or (
        past.cause == Cause.LOST_WITH_NODE and why.cause == Cause.NOT_ADMITTED_YET
    ):
        then = (("then", why.cause),) if why.cause else ()
        return why._replace(
            sentence=sentence, cause=past.cause, sureness=past.sureness, facts=(*facts, *then)
        )
    return why._replace(sentence=sentence, facts=facts)


def _past(evicted: Condition, store: StoreReader) -> Told | None:
    """ "preempted by team-a/urgent", as the message names the job by uid; None for what needs no words."""
    if evicted.reason == "PodsReadyTimeout":
        return Told("put back: pods not ready in time", Cause.EVICTED_IN_A_LOOP)
    if evicted.reason == "NodeFailures":
        lost = texts.LOST_NODES.search(evicted.message)
        if lost is not None:
            return told(Cause.LOST_WITH_NODE, texts.LOST_WORDS, {"node": lost["node"]})
        return Told("put back after node failures", Cause.LOST_WITH_NODE)
    if evicted.reason != "Preempted":
        return None
    named = texts.PREEMPTED_BY.search(evicted.message)
    for other in store.workloads_of(named["uid"]) if named is not None else ():
        if other.owner is not None:
            return told(Cause.PREEMPTED, "preempted by {preemptor}", {"preemptor": job_of(other)})
    return Told("preempted by a job that goes first", Cause.PREEMPTED)
