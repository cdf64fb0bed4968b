"""The line for quota: what a queue may use, with what its cohort lends it, as if it were one node."""

from collections.abc import Sequence
from typing import NamedTuple

from cockpit.gangs.sentence import counted
from cockpit.model.gang import ClusterQueue, QuotaRow
from cockpit.model.job import Job, JobState
from cockpit.model.record import Kind
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.expected import InLine, Moment, RunningJob
from cockpit.triage.turns import elapsed, is_ahead, shape_name, shape_of, turn_of
from cockpit.triage.wanted import Wanted, local_queue


class UsableQuota(NamedTuple):
    """GPUs that a queue may reserve now, and the most it may ever hold; of all flavors together."""

    free: int
    most: int


def quota_moment(wanted: Wanted, view: ClusterView) -> Moment | str:
    """Who holds of the quota that the subject's queue may use, and who is in line for it. Why not, where it
    is not known."""
    mine = _queue_of(view, wanted.namespace, wanted.queue)
    resource = max(wanted.parts, key=lambda one: one.shape.gpus).shape.gpu_resource
    every: Sequence[ClusterQueue] = tuple(view.store.records(Kind.CLUSTER_QUEUE).values())
    quota = None if mine is None else quota_of(mine, every, resource)
    if mine is None or quota is None:
        return "the quota of its queue is not known"
    if wanted.gpus > quota.most:
        borrowed = f", cohort {mine.cohort} included" if mine.cohort else ""
        return f"it asks for {counted(wanted.gpus, 'GPU')}, its queue can hold {quota.most} at most{borrowed}"
    sharers = {one.name for one in every if one is mine or _lends(one, mine, resource)}
    holders: list[RunningJob] = []
    waiting: list[tuple[tuple[float, float, str], InLine]] = []
    for job in view.jobs.jobs.values():
        behind = _queue_of(view, job.namespace, job.queue) if job.queue else None
        if behind is None or behind.name not in sharers or job is wanted.job:
            continue
        shape = shape_name(job.namespace, job.name, (job.gpus_wanted or 0) // (job.wanted or 1))
        if job.state in (JobState.QUEUED, JobState.PENDING):
            waiting.append((turn_of(job), InLine(shape, 1, job.gpus_wanted or 0)))
        elif job.gpus_allocated:
            holders.append(_holder(job, shape, view))
    waiting.sort(key=lambda pair: pair[0])
    ahead = [entry for turn, entry in waiting if is_ahead(turn, wanted)]
    entry = InLine(shape_of(wanted), 1, wanted.gpus)
    return Moment(
        now_seconds=view.now_seconds,
        free=(quota.free,),
        holders=tuple(holders),
        line=(*ahead, entry, *(entry for turn, entry in waiting if not is_ahead(turn, wanted))),
        at=len(ahead),
        node_gpus=quota.most,
    )


def _holder(job: Job, shape: str, view: ClusterView) -> RunningJob:
    since = elapsed(view.jobs.members(job.key), view.now_seconds)
    return RunningJob(shape, ((0, job.gpus_allocated),), since, view.progress.get(job.key))


def _queue_of(view: ClusterView, namespace: str, name: str) -> ClusterQueue | None:
    local = local_queue(view, namespace, name)
    if local is None or not local.cluster_queue:
        return None
    found: ClusterQueue | None = view.store.by_key(Kind.CLUSTER_QUEUE, local.cluster_queue)
    return found


# ---- quota within a cohort


def quota_of(mine: ClusterQueue, every: Sequence[ClusterQueue], resource: str) -> UsableQuota | None:
    """What the queue may have of the resource: of each flavor its own unused quota, and of the cohort what
    others lend and nobody uses, as far as its borrowing limit lets it. None where what is used is not known.

    As the engine's own tree of quota counts it: what a queue does not lend is its own alone; all else of the
    cohort is one sum, used by whoever is beyond its own.
    """
    rows = _rows(mine, resource)
    if not rows:
        return None
    cohort = [one for one in every if mine.cohort and one.cohort == mine.cohort] or [mine]
    free = most = 0
    for row in rows:
        shared = [one for queue in cohort for one in _rows(queue, resource) if one.flavor == row.flavor]
        used = _used(row)
        taken = [_used(one) for one in shared]
        if used is None or None in taken:
            return None
        kept = _kept(row)
        beyond = max(0, used - kept)
        lent = sum(one.nominal - _kept(one) for one in shared)
        unused = lent - sum(max(0, (have or 0) - _kept(one)) for one, have in zip(shared, taken, strict=True))
        limit = _limit(row, is_alone=len(cohort) == 1)
        may = lent if limit is None else min(lent, row.nominal - kept + limit)
        free += max(0, kept - used) + max(0, min(unused, may - beyond))
        most += kept + may
    return UsableQuota(free, most)


def _rows(queue: ClusterQueue, resource: str) -> tuple[QuotaRow, ...]:
    return tuple(row for row in queue.quotas if row.resource == resource)


def _used(row: QuotaRow) -> int | None:
    return row.used if row.reserved is None else row.reserved


def _kept(row: QuotaRow) -> int:
    """What it never lends. Without a limit everything is lent."""
    return 0 if row.lending_limit is None else max(0, row.nominal - row.lending_limit)


def _limit(row: QuotaRow, *, is_alone: bool) -> int | None:
    """What it may borrow; None: without bound."""
    return 0 if is_alone else row.borrowing_limit


def _lends(one: ClusterQueue, mine: ClusterQueue, resource: str) -> bool:
    """Whether what that queue gives back may go to this one: it uses more than what it keeps for itself of a
    flavor that this one has, and this one may borrow."""
    if not mine.cohort or one.cohort != mine.cohort:
        return False
    flavors = {row.flavor for row in _rows(mine, resource) if row.borrowing_limit != 0}
    return any(row.flavor in flavors and (_used(row) or 0) > _kept(row) for row in _rows(one, resource))
