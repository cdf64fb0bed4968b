"""The Job controller (component `job-controller`).

Not modelled: `managedBy` of other controllers is respected, but no Workload or PodGroup is made for gang Jobs
(alpha in 1.36); pods without an owner are not adopted.
"""

from collections.abc import Iterable

from cockpit.kube.resource import JOBS, PODS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.job.backoff import JobBackoff, finished_seconds, remaining_seconds
from cockpit.sim.actors.controllers.job.indexes import first_free, index_of
from cockpit.sim.actors.controllers.job.pods import new_pod, pods_to_remove
from cockpit.sim.actors.controllers.job.round import (
    FINALIZER,
    JobSync,
    all_failures_of_index,
    deadline_in_seconds,
    has_finalizer,
    is_finished,
    job_condition,
    open_round,
    shaped_status,
)
from cockpit.sim.actors.controllers.job.tracking import (
    ensure_condition,
    interim,
    may_finish,
    note_ended,
    settle_counts,
)
from cockpit.sim.actors.controllers.trees import is_deleting, is_ready, is_terminating, key_of, uid_of
from cockpit.sim.engine import Key
from cockpit.sim.port import ChangeType, ObjectChange, PatchType, PortError, Tree
from cockpit.sim.times import rfc3339

_BATCH_SECONDS = 1.0
"""Changes of pods are looked at together (SyncJobBatchPeriod)."""
_MOST_PER_ROUND = 500
_MANAGER = "kubernetes.io/job-controller"
_ORPHAN = "orphan"


class Jobs(Controller):
    """Keeps as many pods as a Job wants, counts those that ended, and says how it ended."""

    name = "job-controller"
    watches = (JOBS, PODS)

    def __init__(self) -> None:
        super().__init__()
        self._pods = Children(("Job",))
        self._backoffs: dict[str, JobBackoff] = {}

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == JOBS:
            yield key_of(change.tree)
            if change.type is ChangeType.DELETED:
                self._backoffs.pop(uid_of(change.tree), None)
                for pod in self._pods.of(change.tree):
                    yield (*key_of(pod), _ORPHAN)
            return
        owner = self._pods.take(change)
        if owner is None or change.resource != PODS:
            return
        namespace = change.tree["metadata"]["namespace"]
        job = self.engine.cache(JOBS).get(namespace, owner["name"])
        if job is not None and uid_of(job) == owner["uid"] and not is_finished(job):
            self.engine.after(_BATCH_SECONDS, self, (namespace, owner["name"]))
        elif change.type is not ChangeType.DELETED and has_finalizer(change.tree):
            yield (*key_of(change.tree), _ORPHAN)

    async def reconcile(self, key: Key) -> None:
        if len(key) == 3:
            await self._release_orphan(key[0], key[1])
            return
        job = self.engine.cache(JOBS).get(*key)
        if job is None or job["spec"].get("managedBy", _MANAGER) != _MANAGER:
            return
        if is_finished(job):
            self._backoffs.pop(uid_of(job), None)
            for pod in self._pods.of(job):
                await self._release(pod)
            return
        await self._sync(job)

    async def _sync(self, job: Tree) -> None:
        backoff = self._backoffs.get(uid_of(job), JobBackoff())
        turn = open_round(job, self._pods.of(job), backoff, self.engine.now())
        refusal: PortError | None = None
        if turn.verdict is not None:
            refusal = await self._delete_active(turn)
        else:
            left = deadline_in_seconds(turn)
            if left is not None:
                self.engine.after(left, self, key_of(job))
            refusal = await self._run(turn)
        turn.status |= {"active": turn.active, "ready": turn.ready, "terminating": turn.terminating}
        await self._track(turn)
        if refusal is not None:
            raise refusal

    async def _run(self, turn: JobSync) -> PortError | None:
        """Make or delete pods, see whether that was all, say whether the Job is suspended."""
        refusal: PortError | None = None
        is_managed = not is_deleting(turn.job)
        if is_managed:
            try:
                await self._manage(turn)
            except PortError as error:
                refusal = error
        wanted = turn.spec.completions
        is_complete = turn.succeeded > 0 if wanted is None else turn.succeeded >= wanted
        if is_complete and turn.active == 0:
            turn.verdict = job_condition(
                "SuccessCriteriaMet",
                "CompletionsReached",
                "Reached expected number of succeeded pods",
                turn.now,
            )
        elif is_managed:
            await self._tell_suspension(turn)
        return refusal

    async def _tell_suspension(self, turn: JobSync) -> None:
        conditions: list[Tree] = turn.status["conditions"]
        is_suspended = turn.spec.is_suspended
        word = "suspended" if is_suspended else "resumed"
        if not ensure_condition(
            conditions,
            "Suspended",
            str(is_suspended),
            reason=f"Job{word.capitalize()}",
            message=f"Job {word}",
            now=turn.now,
        ):
            return
        if is_suspended:
            turn.status.pop("startTime", None)
        else:
            turn.status["startTime"] = rfc3339(turn.now)
        await self.normal(turn.job, word.capitalize(), f"Job {word}")

    async def _manage(self, turn: JobSync) -> None:
        spec = turn.spec
        if spec.is_suspended:
            await self._remove(turn, pods_to_remove(turn, turn.active))
            return
        if spec.completions is None:
            wanted = turn.active if turn.succeeded else spec.parallelism
        else:
            wanted = max(0, min(spec.completions - turn.succeeded, spec.parallelism))
        surplus = pods_to_remove(turn, max(0, turn.active - wanted))[:_MOST_PER_ROUND]
        if surplus:
            await self._remove(turn, surplus)
            return
        missing = wanted - turn.active - (turn.terminating if spec.only_replaces_failed else 0)
        if missing > 0:
            await self._create(turn, min(missing, _MOST_PER_ROUND))

    async def _create(self, turn: JobSync, count: int) -> None:
        key = key_of(turn.job)
        if turn.spec.backoff_limit_per_index is None:
            wait = turn.backoff.remaining_seconds(turn.now)
            if wait > 0:
                self.engine.after(wait, self, key)
                return
        indexes: list[int | None] = [None] * count
        if turn.spec.is_indexed:
            indexes = list(self._indexes_due(turn, count))
        for index in indexes:
            await self.create_pod(turn.job, new_pod(turn, index), self._pods)
            turn.active += 1

    def _indexes_due(self, turn: JobSync, count: int) -> list[int]:
        """Indexes that want a pod and need not wait; sets a timer where all of them must."""
        taken = {index for pod in turn.active_pods if (index := index_of(pod)) is not None}
        taken |= turn.succeeded_indexes | (turn.failed_indexes or set())
        if turn.spec.only_replaces_failed:
            taken |= {i for pod in turn.pods if is_terminating(pod) and (i := index_of(pod)) is not None}
        free = first_free(taken, count, turn.spec.wanted_indexes)
        if turn.spec.backoff_limit_per_index is None:
            return free
        waits = {index: _wait_of_index(turn.delayed.get(index), turn.now) for index in free}
        due = [index for index in free if waits[index] <= 0]
        if free and not due:
            self.engine.after(min(waits.values()), self, key_of(turn.job))
        return due

    async def _remove(self, turn: JobSync, pods: list[Tree]) -> None:
        """Delete pods that shall not count as failures: their finalizer goes first."""
        for pod in pods:
            await self._release(pod)
            await self.delete_pod(turn.job, pod)
            _take_off(turn, pod)

    async def _delete_active(self, turn: JobSync) -> PortError | None:
        """The Job ends: its active pods go, and count as failed where it fails."""
        for pod in turn.active_pods:
            try:
                await self.delete_pod(turn.job, pod)
            except PortError as error:
                turn.verdict = None
                return error
            _take_off(turn, pod)
        return None

    async def _track(self, turn: JobSync) -> None:
        released, is_all = note_ended(turn)
        final = interim(turn)
        job = await self.write_status(JOBS, turn.job, shaped_status(turn))
        self._backoffs[uid_of(job)] = turn.backoff
        held = {uid_of(pod) for pod in turn.pods if has_finalizer(pod)}
        for pod in released:
            await self._release(pod)
            held.discard(uid_of(pod))
        settle_counts(turn, held)
        is_over = final is not None and is_all and may_finish(turn)
        if final is not None and is_over:
            conditions: list[Tree] = turn.status["conditions"]
            conditions.append(final)
            if final["type"] == "Complete":
                turn.status["completionTime"] = final["lastTransitionTime"]
        job = await self.write_status(JOBS, job, shaped_status(turn))
        if final is not None and is_over:
            self._backoffs.pop(uid_of(job), None)
            await self._tell_end(turn, final)
        elif not is_all:
            self.engine.soon(self, key_of(job))

    async def _tell_end(self, turn: JobSync, final: Tree) -> None:
        if final["type"] != "Complete":
            await self.warning(turn.job, final["reason"], final["message"])
            return
        wanted = turn.spec.completions
        if wanted is not None and turn.status.get("succeeded", 0) > wanted:
            await self.warning(
                turn.job,
                "TooManySucceededPods",
                "Too many succeeded pods running after completion count reached",
            )
        await self.normal(turn.job, "Completed", "Job completed")

    async def _release(self, pod: Tree) -> None:
        """Take the tracking finalizer off a pod, if it has it and is still there."""
        if not has_finalizer(pod):
            return
        namespace, name = key_of(pod)
        # Others may put their finalizers on the pod meanwhile: only this one is named.
        patch = {"metadata": {"uid": uid_of(pod), "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
        try:
            after = await self.engine.port.patch(PODS, namespace, name, patch, type=PatchType.STRATEGIC)
        except PortError as error:
            if not error.is_gone and not error.is_conflict:
                raise
            self._pods.gone(pod)
        else:
            self._pods.put(after)

    async def _release_orphan(self, namespace: str, name: str) -> None:
        pod = self.engine.cache(PODS).get(namespace, name)
        if pod is not None:
            await self._release(pod)


def _take_off(turn: JobSync, pod: Tree) -> None:
    turn.active -= 1
    turn.terminating += 1
    turn.ready -= is_ready(pod)


def _wait_of_index(replaced: Tree | None, now: float) -> float:
    if replaced is None:
        return 0.0
    return remaining_seconds(all_failures_of_index(replaced) + 1, finished_seconds(replaced), now)
