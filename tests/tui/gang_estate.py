"""The scripted estate with a gang that is placed whole or not at all."""

from cockpit.model.gang import PodGroup
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.record import Kind
from cockpit.model.scheduling import PodWishes, Traits
from tests.tui.estate import GPU, NOW
from tests.tui.why_app import EstateWithPast

NAMESPACE, NAME, PODS = "team-a", "llm-left", 6
H100 = PodWishes(node_selector=(("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),))
ASIDE = "0/1 nodes are available: 1 optimistic rejection in PostFilter."
REFUSED = (
    "0/38 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }, 1 node(s)"
    " were unschedulable, 17 node(s) didn't match Pod's node affinity/selector, 19 Insufficient"
    " nvidia.com/gpu. preemption: 0/38 nodes are available: 19 No preemption victims found for incoming pod,"
    f" 19 Preemption is not helpful for scheduling., PodGroup {NAMESPACE}/{NAME} gets rejected due to Pod"
    f" {NAME}-3 is unschedulable even after PostFilter"
)


class GangEstate(EstateWithPast):
    """`team-a/llm-left` has six pods of eight H100s, and three nodes have so many free: the scheduler
    sets these aside for the first three members, and says of the fourth that nothing is left."""

    def _jobs(self) -> None:
        super()._jobs()
        born = NOW - 2_460
        self.add(
            Kind.POD_GROUP,
            PodGroup(
                uid=f"group-{NAME}", name=NAME, namespace=NAMESPACE, engine="Coscheduling",
                api_version="scheduling.x-k8s.io/v1alpha1", created_seconds=born, min_member=PODS,
                phase="Scheduling",
            ),
        )  # fmt: skip
        self.add(
            Kind.JOB,
            JobObject(
                uid=f"job-{NAME}", name=NAME, namespace=NAMESPACE, api_version="batch/v1", kind="Job",
                created_seconds=born, resource_version="77", replicas=(ReplicaSpec("main", PODS, 8, GPU),),
                active=PODS, started_seconds=born,
            ),
        )  # fmt: skip
        for rank in range(PODS):
            self._pod(
                NAMESPACE, f"{NAME}-{rank}", "", 8, created_seconds=born, job_label=NAME, rank=rank,
                owner_api_version="batch/v1", owner_kind="Job", owner_name=NAME, owner_uid=f"job-{NAME}",
                gang=NAME, scheduled_reason="Unschedulable", traits=Traits(wishes=H100),
                scheduled_message=REFUSED if rank == 3 else ASIDE,
            )  # fmt: skip
