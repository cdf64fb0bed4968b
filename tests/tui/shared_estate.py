"""The scripted estate with cards of which Kubernetes counts shares: time-sliced ones and MIG instances."""

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Condition, Kind
from tests.tui.estate import GPU, NOW, Estate


class SharedEstate(Estate):
    """The same, with a node of time-shared cards and one whose cards are cut into MIG instances."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        model = "NVIDIA-A100-SXM4-40GB"
        self._shared_node(
            "gpu-cut-0", model, 12, (("nvidia.com/mig-1g.5gb", 8), ("nvidia.com/mig-3g.20gb", 4))
        )
        self._shared_node("gpu-shared-0", "NVIDIA-A10G", 8, ((GPU, 8),), replicas=4)
        for index in range(2):
            for instance, profile in enumerate(("3g.20gb", "3g.20gb", "1g.5gb"), 1):
                self._instance("gpu-cut-0", model, index, instance, profile)
            self._sharer("gpu-shared-0", index)

    def _shared_node(
        self, name: str, model: str, shares: int, capacity: tuple[tuple[str, int], ...], *, replicas: int = 1
    ) -> None:
        ready = Condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", NOW - 1_500)
        self.add(
            Kind.NODE,
            Node(
                uid=f"node-{name}",
                name=name,
                resource_version="500",
                created_seconds=NOW - 20 * 86_400,
                conditions=(ready,),
                capacity=capacity,
                allocatable=capacity,
                gpu_resource=capacity[0][0],
                gpu_capacity=shares,
                gpu_allocatable=shares,
                gpus_expected=2,
                gpu_replicas=replicas,
                gpu_model=model,
                instance_type="gpu-small",
                zone="eu-1a",
                pool="small",
                kubelet_version="v1.36.3",
            ),
        )

    def _held_by(self, node: str, name: str) -> tuple[str, str]:
        pod = Pod(
            uid=f"pod-team-c-{name}",
            name=name,
            namespace="team-c",
            resource_version="900",
            phase="Running",
            created_seconds=NOW - 3_600,
            node=node,
            gpus=1,
            is_ready=True,
            ready_containers=1,
            total_containers=1,
        )
        self.add(Kind.POD, pod)
        return pod.namespace, pod.name

    def _instance(self, node: str, model: str, index: int, instance: int, profile: str) -> None:
        is_free = (index + instance) % 3 == 0
        namespace, name = ("", "") if is_free else self._held_by(node, f"serve-{index}{instance}")
        self.add(
            Kind.GPU,
            Gpu(
                uuid=f"GPU-{node}-{index}/{instance}",
                node=node,
                index=index,
                model=model,
                mig_profile=profile,
                duty_ratio=0.0 if is_free else 0.35 + 0.2 * instance,
                power_watts=212.0 + 30 * index,
                memory_used_bytes=0.0 if is_free else float(profile[0]) * 5.5 * 2**30,
                memory_total_bytes=float(profile[0]) * 6.5 * 2**30,
                temperature_celsius=58.0,
                sm_clock_hertz=1.41e9,
                xid=0,
                pod_namespace=namespace,
                pod_name=name,
                mark=Mark.UNALLOCATED if is_free else Mark.SURE,
                sampled_seconds=NOW - 12,
                source="dcgm C",
            ),
        )

    def _sharer(self, node: str, index: int) -> None:
        namespace, name = self._held_by(node, f"notebook-{index}")
        self._held_by(node, f"notebook-{index + 2}")
        self.add(
            Kind.GPU,
            Gpu(
                uuid=f"GPU-{node}-{index}",
                node=node,
                index=index,
                model="NVIDIA-A10G",
                duty_ratio=0.31 + index / 3,
                memory_used_bytes=11.0 * 2**30,
                memory_total_bytes=22.5 * 2**30,
                temperature_celsius=61.0,
                power_watts=143.0,
                sm_clock_hertz=1.71e9,
                xid=0,
                pod_namespace=namespace,
                pod_name=name,
                mark=Mark.SHARED,
                sampled_seconds=NOW - 12,
                source="dcgm B",
            ),
        )
