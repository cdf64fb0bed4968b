"""Why a workload without quota waits: by its queue, by what Kueue said of it, or by what it said of another.

Kueue counts quota; a message is the news of one scheduling pass and may be old: numbers are rebuilt with what
the queue shows now.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from cockpit.catalogue import lasts
from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import draft, plain
from cockpit.gangs.kueue import quota, texts, unreleased
from cockpit.gangs.kueue.line import head_before, is_unheard, lines_of, twin_of
from cockpit.gangs.kueue.queue_state import queue_state
from cockpit.gangs.kueue.standing import cluster_queue_name, local_queue_of
from cockpit.gangs.sentence import counted, one_line
from cockpit.model.finding import Finding, Permanence
from cockpit.model.gang import ClusterQueue, Workload
from cockpit.model.record import Condition, Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness

STRICT = "StrictFIFO"
_OWN_SELECTOR = "the job's node selector"
_UNHEARD = Finding(sentence="waits for Kueue to look at it", sureness=Sureness.UNKNOWN)


def why_queued(workload: Workload, store: StoreReader, cluster_queue: str) -> Finding:
    """The reason of a workload in line."""
    stopped = _stopped(workload, store, cluster_queue)
    if stopped is not None:
        beyond = quota.beyond(workload, store, cluster_queue)
        if beyond is None:
            return stopped
        return replace(beyond, then=(stopped,))
    if _backs_off(workload):
        tries = counted(workload.requeue_count, "try", "tries")
        text = f"backs off after {tries} before it queues again"
        at = f"{workload.requeue_at_seconds:.0f}"  # epoch seconds: how long that is depends on who asks when
        facts = (("tries", str(workload.requeue_count)), ("queues again at", at))
        return Finding(cause=Cause.BACKS_OFF, sentence=text, facts=facts)
    reserved = condition(workload.conditions, "QuotaReserved")
    is_gated = reserved is None or reserved.reason == "AdmissionGated"
    if workload.gated_by and is_gated:
        return draft(Cause.ADMISSION_GATED, texts.kueue_words().gated, {"holder": workload.gated_by})
    if reserved is None or is_unheard(workload):
        return _by_others(workload, store, cluster_queue, reserved)
    own = _as_told(workload, store, cluster_queue, reserved)
    if own.cause == Cause.QUOTA_IN_USE:  # also what it could have has to wait until the head has gone
        held = unreleased.before(workload, own, store, cluster_queue)
        return _behind_head(workload, store, cluster_queue) or held
    return own


def _as_told(workload: Workload, store: StoreReader, cluster_queue: str, reserved: Condition) -> Finding:
    """What Kueue said of this workload, or of one like it."""
    message = reserved.message
    if not texts.PREEMPTING.search(message):
        short = quota.short_of(workload, store, cluster_queue, message)
        if short is not None:
            return short
        exceeds = texts.EXCEEDS.search(message)
        if exceeds is not None:
            return quota.too_large(store, cluster_queue, exceeds)
    if texts.is_about_pods_ready(reserved.reason, message):
        return _until_ready(store)
    return _from_table(workload, cluster_queue, reserved)


def _from_table(workload: Workload, cluster_queue: str, reserved: Condition) -> Finding:
    """Words of the first pattern that matches the message, else of the reason, else the message itself."""
    selectors = [part.selector for part in workload.pod_sets if part.selector]
    levels = [part.topology.partition(" ")[2] for part in workload.pod_sets if part.topology]
    names = {
        "namespace": workload.namespace,
        "queue": workload.queue or "(none)",
        "cluster_queue": cluster_queue or "its ClusterQueue",
        "selector": ", ".join(dict.fromkeys(selectors)),
        "level": levels[0] if levels else "as asked for",
    }
    for text in texts.kueue_words().queued:
        found = text.found(reserved.message)
        if found is not None:
            said = {key: value.strip() for key, value in found.groupdict().items() if value}
            if "value" in said:
                said["taint"] = f"{said['taint']}={said.pop('value')}"
            words = text.words if selectors else text.words.replace("node selector {selector}", _OWN_SELECTOR)
            used = {key: value for key, value in {**names, **said}.items() if f"{{{key}}}" in words}
            made = draft(text.id, words, used, permanence=text.permanence)
            return replace(made, facts=tuple({**dict(made.facts), **said}.items()))
    if reserved.message.strip():
        cause, _ = texts.kueue_words().reason.get(reserved.reason, ("", ""))
        sureness = Sureness.SAID if cause else Sureness.UNKNOWN
        return Finding(cause=cause, sentence=one_line(reserved.message), sureness=sureness)
    cause, words = texts.kueue_words().reason.get(reserved.reason, ("", reserved.reason))
    if not words:
        return _unseen(workload, cluster_queue)
    sureness = Sureness.SAID if cause else Sureness.UNKNOWN
    used = {key: value for key, value in names.items() if f"{{{key}}}" in words}
    return draft(cause, words, used, sureness=sureness)


def _by_others(
    workload: Workload, store: StoreReader, cluster_queue: str, reserved: Condition | None
) -> Finding:
    """Kueue has told nothing of it: it stands behind a head, or another like it was looked at."""
    behind = _behind_head(workload, store, cluster_queue)
    if behind is not None:
        return behind
    twin = twin_of(workload, store)
    if twin is not None:
        return _like(workload, twin, store, cluster_queue, reserved)
    missing = quota.not_offered(workload, store, cluster_queue)
    if missing is not None:
        return missing
    if lines_of(store).waits_for_pods:  # blockAdmission holds all, and tells the head alone
        return replace(_until_ready(store), sureness=Sureness.INFERRED)
    return _unseen(workload, cluster_queue)


def _unseen(workload: Workload, cluster_queue: str) -> Finding:
    """Kueue has it in a queue, and has yet to say anything of it."""
    queue = cluster_queue or workload.queue
    if not queue:
        return _UNHEARD
    text = "waits for Kueue to look at it in queue {queue}"
    return draft(Cause.NOT_ADMITTED_YET, text, {"queue": queue}, sureness=Sureness.INFERRED)


def _like(
    workload: Workload, twin: Workload, store: StoreReader, cluster_queue: str, reserved: Condition | None
) -> Finding:
    """The reason of one that asks for the same: Kueue looks at one of them."""
    told_of_twin = condition(twin.conditions, "QuotaReserved")
    if told_of_twin is None:
        return _unseen(workload, cluster_queue)
    if texts.PREEMPTING.search(told_of_twin.message):
        return draft(
            Cause.QUOTA_IN_USE,
            "waits its turn behind {twin}, which asks for the same",
            {"twin": twin.job_key},
        )
    found = _as_told(workload, store, cluster_queue, told_of_twin)
    is_said = reserved is not None and texts.PASSED_OVER.search(reserved.message) is not None
    sureness = Sureness.SAID if is_said else Sureness.INFERRED
    if found.sureness is Sureness.UNKNOWN:
        sureness = Sureness.UNKNOWN
    return replace(found, sureness=sureness, facts=(*found.facts, ("twin", twin.job_key)))


def _behind_head(workload: Workload, store: StoreReader, cluster_queue: str) -> Finding | None:
    """StrictFIFO: nobody is looked at before the head has gone, whatever is free."""
    if not _is_strict(store, cluster_queue):
        return None
    head = head_before(workload, store)
    if head is None:
        return None
    reserved = condition(head.conditions, "QuotaReserved")
    of_head = _UNHEARD
    if head.gated_by and (reserved is None or reserved.reason == "AdmissionGated"):
        of_head = draft(Cause.ADMISSION_GATED, texts.kueue_words().gated, {"holder": head.gated_by})
    elif reserved is not None:
        of_head = _as_told(head, store, cluster_queue_name(head, store), reserved)
    return draft(
        Cause.BEHIND_THE_HEAD,
        "behind {head} in StrictFIFO {queue}" + plain(_short_words(of_head)),
        {"head": head.job_key, "queue": cluster_queue},
        permanence=None if lasts(of_head) is Permanence.PASSES else Permanence.ACTS,
        sureness=Sureness.INFERRED,
        facts=(("head's cause", of_head.cause), ("head's reason", of_head.sentence)),
    )


def follows_others(workload: Workload, store: StoreReader) -> bool:
    """True where the reason is read from another in its line: its twin, or the head of a StrictFIFO queue."""
    return is_unheard(workload) or _is_strict(store, cluster_queue_name(workload, store))


def _is_strict(store: StoreReader, cluster_queue: str) -> bool:
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    return target is not None and target.strategy == STRICT


def _short_words(of_head: Finding) -> str:
    if of_head.sureness is Sureness.UNKNOWN:
        return ""
    if needs := of_head.fact("needs"):
        return f", which needs {needs}"
    return f": {of_head.sentence}"


def _until_ready(store: StoreReader) -> Finding:
    """Blocked until the pods of an admitted job are ready: which one."""
    table: Mapping[str, Workload] = store.records(Kind.WORKLOAD)
    late = [table[uid] for uid in lines_of(store).late if not table[uid].is_finished]
    if not late:
        _, words = texts.kueue_words().reason["WaitingForPodsReady"]
        return Finding(cause=Cause.OTHERS_NOT_READY, sentence=words)
    first = min(late, key=lambda one: (one.created_seconds or 0.0, one.key))
    text = "waits until the pods of {other} are ready: nothing is admitted before"
    return draft(Cause.OTHERS_NOT_READY, text, {"other": first.job_key})


def _backs_off(workload: Workload) -> bool:
    requeued = condition(workload.conditions, "Requeued")
    return requeued is not None and requeued.status == "False" and workload.requeue_at_seconds is not None


def _stopped(workload: Workload, store: StoreReader, cluster_queue: str) -> Finding | None:
    """Why the queue takes nothing now, None when it does or when its state is unknown."""
    queue = local_queue_of(workload, store)
    if queue is not None and queue_state(queue).state in ("stopped", "ending"):
        why = queue_state(queue).why or "stopped"
        return draft(Cause.QUEUE_STOPPED, f"queue {{queue}} is {plain(why)}", {"queue": queue.name})
    target: ClusterQueue | None = store.by_key(Kind.CLUSTER_QUEUE, cluster_queue) if cluster_queue else None
    if target is not None and queue_state(target).state in ("stopped", "inactive", "ending"):
        state, why = queue_state(target)
        cause = Cause.QUEUE_UNUSABLE if state == "inactive" else Cause.QUEUE_STOPPED
        return draft(cause, f"ClusterQueue {{queue}}: {plain(why)}", {"queue": target.name})
    return None
