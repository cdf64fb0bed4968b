"""Where a Kueue Workload stands and why, computed from its conditions, its queue and the quota rows.

The state is read from conditions and `spec.active`, the reason of a waiting one is found in `waiting`; each
reason carries its row of the catalogue of causes, the values behind it and how sure it is.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import draft, plain
from cockpit.gangs.kueue import texts, unreleased
from cockpit.gangs.kueue.line import place_of
from cockpit.gangs.kueue.standing import cluster_queue_name, gang_state
from cockpit.gangs.kueue.waiting import why_queued
from cockpit.gangs.sentence import SENTENCE_LIMIT, one_line, times
from cockpit.gangs.standing import NOT_HELD, GangStanding, GangState
from cockpit.model.finding import Evidence, Finding, Permanence
from cockpit.model.gang import AdmissionCheck, Workload
from cockpit.model.job import JobObject
from cockpit.model.record import Condition, Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness

_TAKEN_OFF = "is being taken off by Kueue"
_CHECK_ORDER = ("Rejected", "Retry", "Pending")
QUARREL_SECONDS = 5.0
"""After this no controller has a reason to touch the launcher of a failed job once more."""


def verdict(
    workload: Workload,
    store: StoreReader,
    positions: Mapping[str, int] | None = None,
    is_told: bool = False,
) -> GangStanding:
    """Where the gang stands and why.

    `positions` maps workload uids to places in line, 1 is next; without it the place is estimated.
    `is_told` says that Kueue's visibility API gave them.
    """
    state = gang_state(workload)
    cluster_queue = cluster_queue_name(workload, store)
    position: int | None = None
    if state == GangState.QUEUED:
        if positions is None:
            position, is_told = place_of(store, workload.uid), False
        else:
            position = positions.get(workload.uid)
        why = why_queued(workload, store, cluster_queue)
        why = _with_past(workload, why, store)
    else:
        why = _why(workload, state, store)
    if state in (GangState.QUEUED, GangState.EVICTED):
        why = unreleased.of_workload(workload, store) or why
    said = _said(workload, state)
    why = replace(
        why,
        sentence=one_line(why.sentence),
        evidence=_conditions(workload) if why.cause or why.sentence else (),
        since_seconds=None if said is None else said.changed_seconds,
    )
    return GangStanding(
        state=state,
        why=why,
        position=position,
        is_estimate=position is not None and not is_told,
        queue=workload.queue,
        cluster_queue=cluster_queue,
        again_seconds=workload.requeue_at_seconds if why.cause == Cause.BACKS_OFF else None,
    )


def _conditions(workload: Workload) -> tuple[Evidence, ...]:
    """What Kueue says of the workload in its own words."""
    return tuple(
        Evidence(
            f"Workload {workload.key}",
            one.type,
            f"{one.reason}: {one.message}" if one.message else one.reason,
            one.changed_seconds,
        )
        for one in workload.conditions
        if one.status != "True" or one.type in ("Evicted", "Preempted")
    )


def finished_early(workload: Workload) -> Finding | None:
    """Why the job of a finished Workload never starts; None where it is not finished.

    Asked of jobs that have not ended: one that has ended has a finished Workload by right.
    """
    mark = condition(workload.conditions, "Finished")
    if mark is None or mark.status != "True":
        return None
    words = texts.kueue_words().finished.get(mark.reason, texts.FINISHED_BEFORE)
    facts = (("reason", mark.reason), ("workload", workload.key))
    return Finding(
        cause=Cause.DECLARED_FINISHED,
        sentence=f"{words}: it never starts; recreate it",
        facts=facts,
        evidence=(Evidence(f"Workload {workload.key}", "condition Finished", mark.message),),
        since_seconds=mark.changed_seconds,
    )


def _said(workload: Workload, state: str) -> Condition | None:
    """The condition that tells of the state, in Kueue's own words."""
    type_ = "Evicted" if state in (GangState.DEACTIVATED, GangState.EVICTED) else "QuotaReserved"
    return condition(workload.conditions, type_) if state in GangState.WAITING else None


def _why(workload: Workload, state: str, store: StoreReader) -> Finding:
    if state == GangState.DEACTIVATED:
        return _deactivated(workload)
    if state == GangState.EVICTED:
        return _evicted(workload, store)
    if state == GangState.CHECKING:
        return _checking(workload)
    if state in (GangState.ADMITTED, GangState.STARTED):
        return _admitted(workload, state)
    return NOT_HELD


def _deactivated(workload: Workload) -> Finding:
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
        return Finding(cause=Cause.ADMISSION_CHECK, sentence="an admission check rejected it")
    cause, words = texts.kueue_words().deactivated.get(
        reason, (Cause.SWITCHED_OFF, texts.DEACTIVATED_BY_PERSON)
    )
    return Finding(cause=cause, sentence=words)


def _rejected(check: str, message: str) -> Finding:
    tail = f": {plain(message)}" if message else ""
    return draft(
        Cause.ADMISSION_CHECK,
        "admission check {check} rejected it" + tail,
        {"check": check},
        permanence=Permanence.ACTS,
        facts=(("state", "Rejected"), ("message", message)),
    )


def _evicted(workload: Workload, store: StoreReader) -> Finding:
    evicted = condition(workload.conditions, "Evicted")
    if evicted is None:
        return Finding(sentence=_TAKEN_OFF, sureness=Sureness.UNKNOWN)
    past = _past(evicted, store)
    cause, words = texts.kueue_words().evicted.get(evicted.reason, ("", ""))
    if past is not None and (past.facts or not words):
        return past
    if words:
        return Finding(cause=cause, sentence=words)
    return Finding(sentence=evicted.message.strip() or _TAKEN_OFF, sureness=Sureness.UNKNOWN)


def _checking(workload: Workload) -> Finding:
    """Quota is reserved: which check is not through, and what it says."""
    admitted = condition(workload.conditions, "Admitted")
    if admitted is not None and admitted.reason == "PendingDelayedTopologyRequests":
        return Finding(
            cause=Cause.TOPOLOGY_FULL,
            sentence="quota is reserved; Kueue still looks for a place in the topology",
        )
    waiting = [one for one in workload.checks if one.state in _CHECK_ORDER]
    if waiting:
        return _check_words(min(waiting, key=lambda one: _CHECK_ORDER.index(one.state)), len(waiting))
    detail = "" if admitted is None else admitted.message
    known = ("", "The workload has no reservation", "The workload has failed admission checks")
    tail = "" if detail in known else f": {detail}"
    return Finding(
        cause=Cause.ADMISSION_CHECK, sentence=f"quota is reserved; waits for admission checks{tail}"
    )


def _check_words(check: AdmissionCheck, count: int) -> Finding:
    if check.state == "Rejected":
        return _rejected(check.name, check.message)
    verb = "is retried" if check.state == "Retry" else "is pending"
    more = f" (and {count - 1} more)" if count > 1 else ""
    tail = f": {plain(check.message)}" if check.message else ""
    return draft(
        Cause.ADMISSION_CHECK,
        f"admission check {{check}} {verb}{more}{tail}",
        {"check": check.name},
        facts=(("state", check.state), ("message", check.message)),
    )


def _admitted(workload: Workload, state: str) -> Finding:
    """What is worth knowing of one that may run: a lost node, fewer pods than it asked for."""
    if workload.unhealthy_nodes:
        text = "node {node} is lost: Kueue looks for another place in the topology"
        return draft(Cause.LOST_WITH_NODE, text, {"node": ", ".join(workload.unhealthy_nodes)})
    fewer = [part for part in workload.pod_sets if part.asked > part.count]
    if fewer:
        got, asked = sum(part.count for part in fewer), sum(part.asked for part in fewer)
        return Finding(
            sentence=f"admitted with {got} of {asked} pods: its quota had no room for more",
            facts=(("admitted", str(got)), ("asked", str(asked))),
        )
    ready = condition(workload.conditions, "PodsReady")
    if state == GangState.ADMITTED and ready is not None and ready.status == "False":
        return Finding(sentence="admitted; not all pods are ready")
    return NOT_HELD


def _with_past(workload: Workload, why: Finding, store: StoreReader) -> Finding:
    """Lead with the eviction that brought it back into the line."""
    evicted = condition(workload.conditions, "Evicted")
    if evicted is None or evicted.status != "True":
        return why
    past = _past(evicted, store)
    if past is None:
        return why
    if why.cause == past.cause == Cause.EVICTED_IN_A_LOOP and workload.requeue_count:
        tries = (("tries", str(workload.requeue_count)),)
        sentence = f"put back {times(workload.requeue_count)}: its pods were not ready in time"
        return replace(why, sentence=sentence, words="", facts=tries)
    if (
        past.cause == Cause.LOST_WITH_NODE and not why.cause
    ):  # Kueue says the same of the eviction and of the wait
        return replace(past, facts=(*past.facts, ("evicted", evicted.reason)))
    sentence = f"{past.sentence}; {why.sentence}"
    if len(sentence) > SENTENCE_LIMIT and (needs := why.fact("needs")):
        sentence = f"{past.sentence}; needs {needs}"
    sentence = one_line(sentence)
    facts = (*why.facts, ("evicted", evicted.reason), *past.facts)
    # what took its place is the cause, the quota what follows; a lost node is while nothing else is told
    if (past.cause == Cause.PREEMPTED and why.cause in (Cause.QUOTA_IN_USE, Cause.NOT_ADMITTED_YET, "")) or (
        past.cause == Cause.LOST_WITH_NODE and why.cause == Cause.NOT_ADMITTED_YET
    ):
        also = (*why.also, why.cause) if why.cause else why.also
        return replace(
            why, sentence=sentence, words="", cause=past.cause, sureness=past.sureness, facts=facts, also=also
        )
    return replace(why, sentence=sentence, words="", facts=facts)


def _past(evicted: Condition, store: StoreReader) -> Finding | None:
    """ "preempted by team-a/urgent", as the message names the job by uid; None for what needs no words."""
    if evicted.reason == "PodsReadyTimeout":
        return Finding(cause=Cause.EVICTED_IN_A_LOOP, sentence="put back: pods not ready in time")
    if evicted.reason == "NodeFailures":
        lost = texts.LOST_NODES.search(evicted.message)
        if lost is not None:
            return draft(Cause.LOST_WITH_NODE, texts.LOST_WORDS, {"node": lost["node"]})
        return Finding(cause=Cause.LOST_WITH_NODE, sentence="put back after node failures")
    if evicted.reason != "Preempted":
        return None
    named = texts.PREEMPTED_BY.search(evicted.message)
    for other in store.workloads_of(named["uid"]) if named is not None else ():
        if other.owner is not None:
            return draft(Cause.PREEMPTED, "preempted by {preemptor}", {"preemptor": other.job_key})
    return Finding(cause=Cause.PREEMPTED, sentence="preempted by a job that goes first")


def quarrel(job: JobObject, workload: Workload, store: StoreReader) -> str:
    """How Kueue and mpi-operator fight over the launcher of a failed MPIJob, and the remedy; "" without one.

    After a worker was evicted mpi-operator fails the MPIJob and resumes its launcher; Kueue, for which it has
    finished, suspends it again: hundreds of launcher pods within minutes. Seen with mpi-operator 0.6 and 0.8
    under Kueue 0.15 and 0.19. It shows in the launcher's Job: its Suspended still changes when all is over.
    """
    failed = condition(job.conditions, "Failed")
    is_over = workload.is_finished and failed is not None and failed.status == "True"
    if not is_over or failed is None or failed.changed_seconds is None or job.kind != "MPIJob":
        return ""
    launcher: JobObject | None = store.by_key(Kind.JOB, f"{job.key}-launcher")
    flipped = None if launcher is None else condition(launcher.conditions, "Suspended")
    if flipped is None or flipped.changed_seconds is None:
        return ""
    if flipped.changed_seconds - failed.changed_seconds < QUARREL_SECONDS:
        return ""
    return "Kueue and mpi-operator fight over its launcher: kill the job"
