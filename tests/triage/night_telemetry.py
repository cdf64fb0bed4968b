"""What telemetry remembers of a night from before the cockpit was opened: cards that work, idle, wait for
data, rest for a while."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple

from cockpit.actions.idle_reads import IdleReads, read_idle_once
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.trace import CardTrace, PodLines, PodTrace
from cockpit.store.store import Store
from cockpit.telemetry.lately import RANGE_SECONDS, STEP_SECONDS, Stretch, replayed
from cockpit.triage.idle_jobs import IdleJobs
from tests.triage.builders import GPU, pod_spec
from tests.triage.case import Tree
from tests.triage.fixture_stage import FixtureStage
from tests.triage.incidents import Told

_MEMORY_BYTES = 80 << 30
_MINUTES = 181
_OLD_SECONDS = 6 * 3600.0


class Habit(Enum):
    """How the cards of a job are used: minutes until now that they do nothing, duty before that, duty at the
    end, the share of their memory that is in use, and whether disk is measured."""

    WORKS = (0, 0.9, 0.95, 0.7, True)
    IDLE = (90, 0.9, 0.0, 0.6, True)
    STARVED = (0, 0.1, 0.1, 0.9, True)
    UNMEASURED = (90, 0.9, 0.0, 0.6, False)
    RESTS = (20, 0.9, 0.0, 0.6, True)  # as long as a notebook between two cells
    LIGHT = (0, 0.2, 0.2, 0.1, True)  # a server of a small model

    @property
    def calm_minutes(self) -> int:
        return self.value[0]

    @property
    def memory_ratio(self) -> float:
        return self.value[3]

    @property
    def has_disk(self) -> bool:
        return self.value[4]

    def duty(self, minutes_ago: float) -> float:
        """How busy a card was then."""
        return self.value[2] if minutes_ago <= self.calm_minutes else self.value[1]


class Telemetry(NamedTuple):
    """By pod (`namespace/name`) how its cards are used."""

    habits: Mapping[str, Habit]

    def fill(self, store: Store, jobs: JobIndex, idle: IdleJobs, now_seconds: float) -> None:
        """What the first round brings, and what was judged of jobs that look idle."""
        cards = [card for pod in self._pods(store) for card in self._cards(pod, now_seconds)]
        known = {card.uuid: (self._lately(card, now_seconds),) for card in cards}
        for some in (*replayed(cards, known), cards):
            store.apply(Batch(kind=Kind.GPU, changed=tuple(some)))
        live = StreamStatus(kind=Kind.GPU, phase=Phase.LIVE, objects=len(cards), since_seconds=now_seconds)
        store.apply(Batch(kind=Kind.GPU, status=live))
        jobs.update(store.take_delta())
        session: Any = None  # no container was started again
        reads = IdleReads(store, session, lambda pods: self._lines(pods, now_seconds))
        asyncio.run(read_idle_once(idle, jobs.jobs, reads, now_seconds))

    def _pods(self, store: Store) -> list[Pod]:
        every: Iterable[Pod] = store.records(Kind.POD).values()
        return sorted((pod for pod in every if pod.key in self.habits), key=lambda pod: pod.key)

    def _cards(self, pod: Pod, now_seconds: float) -> list[Gpu]:
        habit = self.habits[pod.key]
        return [
            Gpu(
                uuid=f"GPU-{pod.uid}-{index}",
                node=pod.node,
                index=index,
                duty_ratio=habit.duty(0),
                memory_used_bytes=habit.memory_ratio * _MEMORY_BYTES,
                memory_total_bytes=_MEMORY_BYTES,
                pod_namespace=pod.namespace,
                pod_name=pod.name,
                container="train",
                mark=Mark.SURE,
                sampled_seconds=now_seconds,
                source="dcgm A",
            )
            for index in range(pod.gpus)
        ]

    def _lately(self, card: Gpu, now_seconds: float) -> Stretch:
        habit = self.habits[f"{card.pod_namespace}/{card.pod_name}"]
        ago = range(RANGE_SECONDS, 0, -STEP_SECONDS)
        points = tuple((now_seconds - one, habit.duty(one / 60)) for one in ago)
        return Stretch(card.pod_namespace, card.pod_name, points)

    async def _lines(self, pods: Sequence[Pod], now_seconds: float) -> PodLines:
        return PodLines(
            end_seconds=now_seconds,
            step_seconds=60.0,
            cards={pod.uid: tuple(self._trace(pod, index) for index in range(pod.gpus)) for pod in pods},
            pods={pod.uid: self._besides(pod) for pod in pods},
        )

    def _trace(self, pod: Pod, index: int) -> CardTrace:
        habit = self.habits[pod.key]
        duty = tuple(habit.duty(_MINUTES - 1 - at) for at in range(_MINUTES))
        memory = (habit.memory_ratio * _MEMORY_BYTES,) * _MINUTES
        return CardTrace(uuid=f"GPU-{pod.uid}-{index}", duty=duty, memory_bytes=memory)

    def _besides(self, pod: Pod) -> PodTrace:
        habit, calm = self.habits[pod.key], (0.0,) * _MINUTES
        cpu = tuple(0.01 if habit.duty(_MINUTES - 1 - at) == 0.0 else 2.0 for at in range(_MINUTES))
        disk = calm if habit.has_disk else ()
        return PodTrace(
            uid=pod.uid, cpu_cores=cpu, receive=calm, transmit=calm, disk_read=disk, disk_write=disk
        )


def used(stage: FixtureStage, habit: Habit, habits: dict[str, Habit]) -> Told:
    """A job that has run for hours and uses its cards so. Of habits that are no incident nothing is named."""
    where, workers = stage.pool(1).nodes[0], stage.draw.number(1, 2)
    spec = pod_spec(gpus=stage.draw.number(1, 4))
    made = stage.job(stage.draw.job(), spec, pods=workers, status={"ready": workers})
    gpus = workers * int(spec["containers"][0]["resources"]["limits"][GPU])
    for index in range(workers):
        pod = stage.job_pod(made, spec, on=where, phase="Running", status=stage.running(), index=index)
        _age(pod, stage)
        habits[f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"] = habit
    _age(made, stage)
    key = f"{made['metadata']['namespace']}/{made['metadata']['name']}"
    return key, {
        Habit.IDLE: (str(gpus), "no CPU, network or disk for 91 min"),
        Habit.STARVED: (str(gpus), "underutilised", "duty 10%"),
        Habit.UNMEASURED: (str(gpus), "duty 0%", "disk not collected"),
    }.get(habit, ())


def _age(tree: Tree, stage: FixtureStage) -> None:
    """As if it had been there for hours."""
    since, status = stage.ago(_OLD_SECONDS), tree.get("status", {})
    tree["metadata"]["creationTimestamp"] = since
    if "startTime" in status:
        status["startTime"] = since
    for one in (*status.get("conditions", ()), *status.get("containerStatuses", ())):
        if "lastTransitionTime" in one:
            one["lastTransitionTime"] = since
        if "running" in one.get("state", {}):
            one["state"]["running"]["startedAt"] = since


def healthy(pods: Iterable[Tree]) -> dict[str, Habit]:
    """Pods that work."""
    found = (pod["metadata"] for pod in pods)
    return {f"{meta['namespace']}/{meta['name']}": Habit.WORKS for meta in found}
