"""The scripted estate with a pool that grows: two machines of four are here, one waits for its GPU driver,
one starts; what former growths took; who waits; a node that the cloud takes back."""

from types import SimpleNamespace
from typing import Any

from cockpit.model.event import Event
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.node import Node, Taint
from cockpit.model.pool import Machine, MachineStage, PoolObject
from cockpit.model.price import MachinePrice, Prices
from cockpit.model.record import Condition, Kind
from cockpit.model.remembered import Growth, PoolSample
from cockpit.model.scheduling import PodWishes, Traits
from tests.tui.deck import ScriptedApp
from tests.tui.estate import GPU, NOW, Estate

POOL = "b200"
MACHINE = "p6-b200.48xlarge"
MODEL = "NVIDIA-B200"
OWN_LABEL = ("karpenter.sh/nodepool", POOL)
ASKED = NOW - 460.0
STOCKOUT = (
    "creating instance, insufficient capacity, with fleet error(s),"
    " InsufficientInstanceCapacity: We currently"
    " do not have sufficient p6-b200.48xlarge capacity in the Availability Zone you requested (eu-1b)."
)


class PoolsEstate(Estate):
    """Pool b200 of a NodePool with a fixed size, 2 → 4."""

    fails = False

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        self.add(
            Kind.POOL,
            PoolObject(
                uid="np-b200",
                name=POOL,
                resource_version="4411",
                created_seconds=NOW - 40 * 86_400,
                api_version="karpenter.sh/v1",
                kind="NodePool",
                resource_path="/apis/karpenter.sh/v1/nodepools",
                replicas=4,
                status_replicas=2,
                max_replicas=4,
                instance_type=MACHINE,
            ),
        )
        for number in range(3):
            self._member(number)
        for number in range(4):
            self._machine(number)
        for number in range(2):
            self._pod(
                "team-d", f"moe-base-{number}", "", 8, job_label="moe-base", node=f"gpu-b200-0{number}",
                phase="Running", started_seconds=NOW - 7_000, scheduled="True", is_ready=True,
                ready_containers=1, owner_kind="StatefulSet", owner_name="moe-base",
            )  # fmt: skip
        for name, count, kind, owner in (
            ("llm-moe", 2, "Job", "llm-moe"),
            ("assistant", 3, "ReplicaSet", "assistant-5d4f"),
        ):
            for number in range(count):
                self._pod(
                    "team-d", f"{name}-{number}", "", 8 if count == 2 else 1, created_seconds=NOW - 480,
                    owner_kind=kind, owner_name=owner, owner_uid=f"{kind.lower()}-{owner}",
                    owner_api_version="batch/v1" if kind == "Job" else "apps/v1",
                    job_label=name if kind == "Job" else "",
                    traits=Traits(wishes=PodWishes(node_selector=(OWN_LABEL,))),
                    priority=10 if count == 2 else 0,
                )  # fmt: skip
        self.add(
            Kind.JOB,
            JobObject(
                uid="job-llm-moe", name="llm-moe", namespace="team-d", api_version="batch/v1", kind="Job",
                created_seconds=NOW - 480, replicas=(ReplicaSpec("main", 2, 8, GPU),),
            ),
        )  # fmt: skip
        self._said()

    def _member(self, number: int) -> None:
        is_new = number == 2
        taken_back = Taint("aws-node-termination-handler/spot-itn", "1", "PreferNoSchedule")
        amounts = (("cpu", 190_000), ("memory", 2 << 40), ("pods", 110))
        shown = 8 if not is_new else None
        ready = Condition("Ready", "True", "KubeletReady", "", ASKED + 220 if is_new else NOW - 90_000)
        self.add(
            Kind.NODE,
            Node(
                uid=f"node-b200-{number}",
                name=f"gpu-b200-0{number}",
                created_seconds=ASKED + 185 if is_new else NOW - 90_060,
                labels=(OWN_LABEL, *((("karpenter.sh/capacity-type", "spot"),) * (number == 1))),
                taints=(taken_back,) * (number == 1),
                conditions=(ready,),
                kubelet_version="v1.36.3",
                internal_ip=f"10.66.0.{number + 10}",
                capacity=(*amounts, *(((GPU, 8),) if shown else ())),
                allocatable=(*amounts, *(((GPU, 8),) if shown else ())),
                gpu_resource=GPU,
                gpu_capacity=shown,
                gpu_allocatable=shown,
                gpus_expected=8,
                gpu_model=MODEL,
                instance_type=MACHINE,
                zone="eu-1a",
                pool=POOL,
                pool_label=OWN_LABEL[0],
            ),
        )

    def _machine(self, number: int) -> None:
        asked = ASKED if number > 1 else NOW - 90_300
        stage = MachineStage.INITIALIZED
        if number == 2:
            stage = MachineStage.JOINED
        if number == 3:
            stage = MachineStage.LAUNCHING if self.fails else MachineStage.LAUNCHED
        has_launched = number < 3 or not self.fails
        refused = (Condition("Launched", "Unknown", "LaunchFailed", STOCKOUT, NOW - 40),)
        self.add(
            Kind.MACHINE,
            Machine(
                uid=f"claim-{number}",
                name=f"b200-{['tx4rk', 'm9zqp', 'w7c2d', 'h5n8s'][number]}",
                created_seconds=asked + 1,
                api_version="karpenter.sh/v1",
                kind="NodeClaim",
                resource_path="/apis/karpenter.sh/v1/nodeclaims",
                pool_kind="NodePool",
                pool_key=POOL,
                node=f"gpu-b200-0{number}" if number < 3 else "",
                provider_id=f"aws:///eu-1a/i-0{number}" if has_launched else "",
                instance_type=MACHINE,
                zone="eu-1a",
                stage=stage,
                launching_seconds=None if has_launched else asked + 3,
                launched_seconds=asked + 130 + 40 * (number == 3) if has_launched else None,
                joined_seconds=asked + 185 if number < 3 else None,
                initialized_seconds=asked + 700 if number < 2 else None,
                conditions=refused if self.fails and number == 3 else (),
            ),
        )

    def _said(self) -> None:
        for at, reason, message in (
            (NOW - 459, "Scaled", "replicas 2 → 4"),
            (NOW - 88_000, "Ready", "NodePool is ready"),
        ):
            self.add(
                Kind.EVENT,
                Event(
                    uid=f"event-b200-{reason}", name=f"b200-{reason}", namespace="default", reason=reason,
                    message=message, component="karpenter", first_seconds=at, last_seconds=at,
                    object_kind="NodePool", object_name=POOL, object_uid="np-b200", type="Normal",
                ),
            )  # fmt: skip


class FailingEstate(PoolsEstate):
    """The second machine does not come: the cloud has none left."""

    fails = True


WEB = {
    "metadata": {"namespace": "team-d", "name": "assistant"},
    "spec": {
        "scaleTargetRef": {"kind": "Deployment", "name": "assistant"},
        "minReplicas": 1,
        "maxReplicas": 12,
        "metrics": [
            {"type": "Pods", "pods": {"metric": {"name": "queue_depth"}, "target": {"averageValue": "4"}}}
        ],
    },
    "status": {
        "currentReplicas": 5,
        "desiredReplicas": 8,
        "currentMetrics": [
            {"type": "Pods", "pods": {"metric": {"name": "queue_depth"}, "current": {"averageValue": "9"}}}
        ],
    },
}


class PoolsApp(ScriptedApp):
    """What former sessions remember of the pool; autoscalers of pods; prices."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        session: Any = self.attachment.session
        before = session.request

        async def answer(method: str = "", path: str = "", *more: Any, **named: Any) -> SimpleNamespace:
            if "horizontalpodautoscalers" in path:
                return SimpleNamespace(status=200, json=lambda: {"items": [WEB]})
            found: SimpleNamespace = await before(method, path, *more, **named)
            return found

        session.request = answer
        self.pool_watch.remember(past_growths(), past_samples())

    @property
    def prices(self) -> Prices:
        known = {"gpu-h100-8x": 98.32, "gpu-a100-8x": 40.97, MACHINE: 113.9}
        machines = {name: MachinePrice(hourly=one, spot_hourly=one * 0.4) for name, one in known.items()}
        return Prices(machines=tuple(machines.items()))


def past_growths() -> tuple[Growth, ...]:
    """Three growths, of which the driver took most."""
    steps = ("accepted", "launched", "joined", "ready", "GPUs up", "used")
    return tuple(
        Growth(
            pool_key=f"NodePool.karpenter.sh/{POOL}",
            asked_seconds=NOW - 86_400.0 * ago,
            machine_type=MACHINE,
            stages=tuple(
                zip(
                    steps, (1.0, 120.0 + ago, 180.0 + ago, 210.0 + ago, 930.0 + ago, 950.0 + ago), strict=True
                )
            ),
        )
        for ago in (1, 3, 6)
    )


def past_samples() -> tuple[PoolSample, ...]:
    """Six hours in which a fourth job came, and then a fifth."""
    found = []
    for ago in range(178, 0, -1):
        allocated = 8 if ago > 120 else 16
        wanted = allocated + (0 if ago > 130 else 8 if ago > 60 else 3) + (16 if ago < 5 else 0)
        found.append(PoolSample(f"NodePool.karpenter.sh/{POOL}", NOW - 120.0 * ago, 2, 16, wanted, allocated))
    return tuple(found)
