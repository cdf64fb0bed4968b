"""The scripted estate with two nodes of a pool that nobody has used for a while, and the machines
behind; or with a job that idles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from cockpit.actions.planning import FreshPlanning, Planning
from cockpit.attach import Attachment
from cockpit.model.batch import Batch
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine
from cockpit.model.record import Kind
from cockpit.model.trace import CardTrace, PodLines, PodTrace
from cockpit.pools.idle import EmptyWatch
from cockpit.telemetry.pod_lines import POINTS
from cockpit.triage.idle_jobs import IDLE_FOR_SECONDS, trace_of
from cockpit.triage.idleness import judge
from tests.tui.estate import NOW, Estate
from tests.tui.why_app import GrowingApp

IDLE: Final = ("gpu-a100-09", "gpu-a100-10")
IDLE_SECONDS: Final = 2_520.0
IDLE_JOB_SECONDS: Final = 4_680.0


class IdleEstate(Estate):
    """Two idle nodes of the a100 pool, whose Machines are seen."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        for name in IDLE:
            self.add(
                Kind.MACHINE,
                Machine(
                    uid=f"machine-{name}", name=name.removeprefix("gpu-"), namespace="fleet",
                    resource_version="9", api_version="cluster.x-k8s.io/v1beta1", kind="Machine", node=name,
                    resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machines",
                    pool_kind="MachineDeployment", pool_key="fleet/a100",
                ),
            )  # fmt: skip


class IdleApp(GrowingApp):
    """A cockpit that has looked at them for 42 minutes."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        assert not self.pool_watch.empty_since, "it has just begun"
        self.pool_watch.empty = EmptyWatch(gap_seconds=10 * IDLE_SECONDS)
        self.pool_watch.empty.look(self.attachment.store, NOW - IDLE_SECONDS)


class IdleJobApp(GrowingApp):
    """A cockpit before a job whose eight cards have done nothing for 78 minutes, and a Prometheus that
    remembers it. `is_at_work` has its pods read data all the while."""

    is_at_work = False

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self.attachment.lines = self._lines  # type: ignore[method-assign]
        store = self.attachment.store
        for at in (NOW - IDLE_JOB_SECONDS, NOW):
            cards = [
                msgspec.structs.replace(one, duty_ratio=0.0, sampled_seconds=at)
                for one in store.records(Kind.GPU).values()
                if one.pod_name.startswith("asr-large")
            ]
            assert len(cards) == 8
            store.apply(Batch(kind=Kind.GPU, changed=tuple(cards)))
        self.attachment.jobs.catch_up()

    def planner(self) -> FreshPlanning:
        """Whoever runs this is called the same on every host."""
        fresh = super().planner()

        def ours(*, reads: bool = False) -> Planning:
            made = fresh(reads=reads)
            return replace(made, pools=replace(made.pools, holder="ada@bastion"))

        return ours

    async def _lines(self, pods: Sequence[Pod]) -> PodLines:
        return remembered(pods, {one.uid: IDLE_JOB_SECONDS for one in pods}, reads_data=self.is_at_work)


class JudgedJobApp(IdleJobApp):
    """And it was judged by what it did."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        judge_at_rest(self.attachment, {"team-b": IDLE_JOB_SECONDS})


def judge_at_rest(attachment: Attachment, idle_seconds: Mapping[str, float]) -> None:
    """What is learnt of jobs whose cards do nothing: for so long by namespace, else for half an hour."""
    known = attachment.verdicts.on_demand.idle
    for job in known.due(attachment.jobs.jobs.values(), attachment.store, NOW):
        pods = attachment.jobs.members(job.key)
        seconds = idle_seconds.get(job.namespace, IDLE_FOR_SECONDS)
        lines = remembered(pods, {pod.uid: seconds for pod in pods})
        known.take(job, judge(trace_of(job, pods, lines, {}), IDLE_FOR_SECONDS), NOW)


def remembered(
    pods: Sequence[Pod], idle_seconds: Mapping[str, float], *, reads_data: bool = False
) -> PodLines:
    """What a Prometheus remembers of pods that worked until they did nothing for so long, by uid."""
    calm, disk = (0.0,) * POINTS, (9e6 if reads_data else 0.0,) * POINTS
    return PodLines(
        end_seconds=NOW,
        step_seconds=60.0,
        cards={one.uid: _cards(one, int(idle_seconds[one.uid] // 60)) for one in pods},
        pods={
            one.uid: PodTrace(
                uid=one.uid, cpu_cores=calm, receive=calm, transmit=calm, disk_read=disk, disk_write=calm
            )
            for one in pods
        },
    )


def _cards(pod: Pod, idle_minutes: int) -> tuple[CardTrace, ...]:
    duty = ((0.8,) * (POINTS - idle_minutes) + (0.0,) * idle_minutes)[-POINTS:]
    return tuple(
        CardTrace(uuid=f"{pod.uid}-{at}", duty=duty, memory_bytes=(3e10,) * POINTS) for at in range(pod.gpus)
    )
