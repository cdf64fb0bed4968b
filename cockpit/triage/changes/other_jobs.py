"""Jobs whose end would give the subject its seats or its quota: wait for one, suspend one, kill one."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from cockpit.fit.demand import held_by
from cockpit.fit.node_filters import NodeFit
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted
from cockpit.gangs.suspend_field import suspend_field
from cockpit.gangs.wording import short
from cockpit.k8s.kubectl import merge_patch
from cockpit.model.finding import Subject
from cockpit.model.gang import ClusterQueue
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.triage.changes.in_line import turn_of
from cockpit.triage.changes.offer import OTHERS, TIME, ChangeOffers, Desk, Records, made

ENDING_KINDS: Final = frozenset(
    (
        *("Job", "MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "TrainJob"),
        *("JobSet", "RayJob", "Pod", "SparkApplication", "Workflow", "AppWrapper"),
    )
)
"""Kinds that end by themselves; nobody waits for a service, and whoever deletes one of its pods gets
another."""
_STUCK_SECONDS: Final = 120.0
"""Longer than any usual grace period."""
_MOST_TRIED: Final = 6
_MOST_TOGETHER: Final = 3


class _Holder(NamedTuple):
    """A job, its living pods, and how many more members find room without it."""

    job: Job
    pods: tuple[Pod, ...]
    gain: int
    gpus: int


def other_jobs(desk: Desk) -> ChangeOffers:
    """ChangeOffers for single jobs, the one that holds least first, then for a few together."""
    missing = max(1, desk.answer.missing)
    found = sorted(_holders(desk), key=lambda one: (one.gpus, one.job.key))
    enough = [one for one in found if one.gain >= missing]
    for one in enough[:_MOST_TRIED]:
        yield from _about(desk, (one,))
    if not enough:
        yield from _about(desk, _together(found, missing))
    yield from _stuck(desk)


def _together(found: Sequence[_Holder], missing: int) -> tuple[_Holder, ...]:
    """The fewest jobs whose rooms add up; () where more than a few would be needed."""
    chosen: list[_Holder] = []
    for one in sorted(found, key=lambda each: (-each.gain, each.gpus, each.job.key)):
        chosen.append(one)
        if sum(each.gain for each in chosen) >= missing:
            return tuple(chosen)
        if len(chosen) == _MOST_TOGETHER:
            break
    return ()


def _holders(desk: Desk) -> Iterator[_Holder]:
    """Jobs that end by themselves and hold what the subject misses: seats on nodes that would take it, or
    quota."""
    own = desk.wanted.job
    rooms = _Rooms(desk)
    lacked = {one.resource for one in turn_of(desk, desk.base).lacks}
    for job in desk.view.jobs.jobs.values():
        if (own is not None and job.key == own.key) or job.kind not in ENDING_KINDS:
            continue
        if job.state in (JobState.FINISHING, *JobState.ENDED) or not job.pod_uids:
            continue
        pods = tuple(pod for pod in desk.view.jobs.members(job.key) if pod.node and not pod.is_finished)
        gain = rooms.gain(pods) if desk.answer.missing else 0
        if not desk.answer.missing and lacked:
            gain = int(_frees_quota(desk, job, lacked))
        if gain:
            yield _Holder(job, pods, gain, job.gpus_allocated)


class _Rooms:
    def __init__(self, desk: Desk) -> None:
        part = next((one for one in desk.answer.parts if one.missing), desk.answer.parts[desk.answer.main])
        self._asked = {**dict(part.part.shape.requests), "pods": 1}
        self._looks: Mapping[str, NodeFit] = {one.node.name: one for one in part.node_fits if not one.blocks}
        self._snapshot = ClusterSnapshot(desk.view.store, desk.view.around)

    def gain(self, pods: Iterable[Pod]) -> int:
        """Members more that find room without these pods."""
        by_node: dict[str, list[Pod]] = {}
        for pod in pods:
            if pod.node in self._looks:
                by_node.setdefault(pod.node, []).append(pod)
        return sum(self._on(name, some) for name, some in by_node.items())

    def _on(self, name: str, pods: Sequence[Pod]) -> int:
        look = self._looks[name]
        free = dict(zip(self._asked, self._snapshot.free(look.node, self._asked), strict=True))
        for pod in pods:
            given = held_by(pod)
            for resource in free:
                free[resource] += given.get(resource, 0)
        room = min(max(0, free[resource]) // each for resource, each in self._asked.items())
        return max(0, room - look.room)


def _about(desk: Desk, holders: tuple[_Holder, ...]) -> ChangeOffers:
    if not holders:
        return
    uids = frozenset(pod.uid for one in holders for pod in desk.view.jobs.members(one.job.key))
    then: dict[str, Any] = {"without": uids, "records": _without_quota(desk, [one.job for one in holders])}
    staying = [one for one in holders if not _is_going(one)]
    if not staying or all(one.job.state == JobState.RUNNING for one in holders):
        # a half-placed gang waits itself
        cost = TIME + 10 * len(holders) + min(sum(one.gpus for one in holders), 90)
        until = "" if staying else "the end of "
        words = f"wait for {until}{_named(holders)}{_held(holders)}"
        yield made(desk, cost, "wait_for", words, target=_target(holders), **then)
    if not staying or not all(_may_be_ended(desk, one) for one in staying):
        return  # what ends needs no one to end it
    idle = _idle_seconds(desk, staying)
    held = _held(staying, "" if idle is None else f" idle for {idle / 60:.0f} min")
    cost = (OTHERS if idle is None else TIME - 10) + sum(one.gpus for one in staying)
    jobs = [one.job for one in staying]
    can_suspend = all(one.workload_uid or suspend_field(one.api_version, one.kind) for one in jobs)
    kind, more = ("suspend", 0) if can_suspend else ("kill", OTHERS)
    ends = [one for one in holders if one not in staying]
    words = f"{kind} {_named(staying)}{held}" + (f", beside the end of {_named(ends)}" if ends else "")
    keys = tuple(_key(one) for one in staying)
    yield made(desk, cost + more, kind, words, keys, verb=f"job.{kind}", target=_target(staying), **then)


def _key(holder: _Holder) -> str:
    return f"{holder.job.namespace}/{holder.job.name}"


def _named(holders: Iterable[_Holder]) -> str:
    return " and ".join(short(_key(one)) for one in holders)


def _held(holders: Iterable[_Holder], more: str = "") -> str:
    gpus = sum(one.gpus for one in holders)
    return f" ({counted(gpus, 'GPU')}{more})" if gpus else more and f" ({more.strip()})"


def _target(holders: Sequence[_Holder]) -> Subject:
    return Subject("job", holders[0].job.namespace, holders[0].job.name)


def _is_going(holder: _Holder) -> bool:
    """Whether all that it holds was asked to end: it was suspended or killed a moment ago."""
    return bool(holder.pods) and all(pod.deleting_seconds is not None for pod in holder.pods)


def _may_be_ended(desk: Desk, holder: _Holder) -> bool:
    """Nobody is asked to end what is more important than the subject."""
    own = [pod.priority or 0 for pod in desk.wanted.pods]
    stated = [one.shape.priority for one in desk.wanted.parts if one.shape.priority is not None]
    priority = max([*own, *stated], default=0)
    return all((pod.priority or 0) <= priority for pod in holder.pods)


def _idle_seconds(desk: Desk, holders: Iterable[_Holder]) -> float | None:
    """For how long all of them have been idle; None where one is not, or nobody can say."""
    known, now_seconds = desk.view.idle, desk.view.now_seconds
    since: list[float] = []
    for one in holders:
        judged = None if known is None else known.idle(one.job, desk.view.store, now_seconds)
        if judged is None or judged.since_seconds is None:
            return None
        since.append(judged.since_seconds)
    return now_seconds - max(since)


def _stuck(desk: Desk) -> ChangeOffers:
    now = desk.view.now_seconds
    going = [pod for pod in desk.view.store.gpu_pods() if pod.deleting_seconds is not None]
    for pod in sorted(going, key=lambda one: one.key):
        since = pod.deleting_seconds or now
        if now - since < _STUCK_SECONDS or not pod.gpus_allocated:
            continue
        age = f"terminating for {(now - since) / 60:.0f} min"
        where = ("pod", pod.name, "-n", pod.namespace)
        words = f"force-delete {short(pod.key)}, {age}"
        command: tuple[str, ...] = ("kubectl", "delete", *where, "--force", "--grace-period=0")
        if pod.finalizers:  # as long as one is there no deletion ends
            held = " and ".join(short(one) for one in pod.finalizers)
            words = f"take {held} off {short(pod.key)}, {age}, if its owner agrees"
            command = (
                *merge_patch(where, {"metadata": {"finalizers": None}}),
                *("&&", *command, "--ignore-not-found"),
            )
        target = Subject("pod", pod.namespace, pod.name)
        cost, gone = TIME - 20 + pod.gpus_allocated, frozenset({pod.uid})
        yield made(desk, cost, "force_delete", words, command, target=target, without=gone)


# ---- quota


def _frees_quota(desk: Desk, job: Job, lacked: Collection[str]) -> bool:
    workload, mine = registry.workload_of(job, desk.view.store), desk.queue
    if workload is None or mine is None or not workload.cluster_queue:
        return False
    held: ClusterQueue | None = desk.view.store.by_key(Kind.CLUSTER_QUEUE, workload.cluster_queue)
    if held is None or (held.name != mine.name and not (mine.cohort and held.cohort)):
        return False
    return any(name in lacked for one in workload.pod_sets for name, _ in one.resources)


def _without_quota(desk: Desk, jobs: Iterable[Job]) -> Records:
    """Workloads of these jobs as they read once they hold nothing and ask for nothing."""
    found = (registry.workload_of(job, desk.view.store) for job in jobs if desk.wanted.queue)
    return tuple(
        (Kind.WORKLOAD, replace(one, cluster_queue="", is_active=False))
        for one in found
        if one is not None and one.cluster_queue
    )
