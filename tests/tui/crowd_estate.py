"""An estate with one gang of 512 ranks, and one rank odd in each way."""

from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.record import Kind, OwnerRef
from tests.tui.estate import MPI_API, NOW, Estate

RANKS, EACH = 512, 8
POOL, MODEL, MEMORY_GIB = "b200", "NVIDIA-B200", 180
LAGS, AGAIN, STARTING, ELSEWHERE = 317, 12, 400, 511
GANG, SPACE = "llm-512", "team-a"


class CrowdEstate(Estate):
    """The scripted estate, and `team-a/llm-512` on 64 nodes of its own: a GPU a rank, eight ranks a node.

    Rank 317 lags, 12 was restarted, 400 has no node yet, 511 sits alone on an A100.
    """

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        for number in range(RANKS // EACH):
            name = f"gpu-{POOL}-{number:02d}"
            self._node(name, POOL, EACH, MODEL, MEMORY_GIB, "gpu-b200-8x", number)
        self._gang()

    def _gang(self) -> None:
        born, uid = NOW - 9 * 3_600, f"mpi-{SPACE}-{GANG}"
        self._mpi_object(SPACE, GANG, RANKS, 1, born, "gpu-lq", "ada", is_suspended=False)
        self._pod(
            SPACE, f"{GANG}-launcher-q9x2z", "h100", 0, created_seconds=born, started_seconds=born + 40,
            job_label=GANG, role="launcher", owner_api_version="batch/v1", owner_kind="Job",
            owner_name=f"{GANG}-launcher", owner_uid=f"{uid}-launcher",
        )  # fmt: skip
        self.add(
            Kind.JOB,
            JobObject(
                uid=f"{uid}-launcher", name=f"{GANG}-launcher", namespace=SPACE, api_version="batch/v1",
                kind="Job", owner=OwnerRef(MPI_API, "MPIJob", GANG, uid), replicas=(ReplicaSpec("main", 1),),
                created_seconds=born, active=1,
            ),
        )  # fmt: skip
        for rank in range(RANKS):
            self._rank(rank, born, uid)
        self._workload(SPACE, GANG, uid, "gpu-lq", RANKS, 1, born, is_admitted=True, message="", priority=0)

    def _rank(self, rank: int, born: float, uid: str) -> None:
        name, index = f"{GANG}-worker-{rank}", rank % EACH
        node = "gpu-a100-10" if rank == ELSEWHERE else f"gpu-{POOL}-{rank // EACH:02d}"
        is_up = rank != STARTING
        self._pod(
            SPACE, name, "", 1, created_seconds=born, job_label=GANG, role="worker", rank=rank,
            owner_api_version=MPI_API, owner_kind="MPIJob", owner_name=GANG, owner_uid=uid,
            phase="Running" if is_up else "Pending", node=node if is_up else "", is_ready=is_up,
            ready_containers=int(is_up), started_seconds=born + 30 if is_up else None,
            scheduled="True" if is_up else "False", restarts=3 if rank == AGAIN else 0,
        )  # fmt: skip
        if rank == ELSEWHERE or not is_up:
            return
        duty = 0.31 if rank == LAGS else min(1.0, max(0.8, self.rng.gauss(0.92, 0.03)))
        memory = float(MEMORY_GIB << 30)
        self.add(
            Kind.GPU,
            Gpu(
                uuid=f"GPU-{node}-{index}", node=node, index=index, model=MODEL, duty_ratio=round(duty, 2),
                memory_used_bytes=memory * 0.8, memory_total_bytes=memory,
                power_watts=float(round(120 + 800 * duty)), temperature_celsius=float(round(35 + 30 * duty)),
                sm_clock_hertz=1.98e9, xid=0,
                pod_namespace=SPACE, pod_name=name, container="worker", mark=Mark.SURE,
                sampled_seconds=NOW - 6, source="dcgm A",
            ),
        )  # fmt: skip


__all__ = ["AGAIN", "ELSEWHERE", "GANG", "LAGS", "RANKS", "SPACE", "STARTING", "CrowdEstate"]
