"""All pods run, and the training does not. Log lines: OpenMPI, Horovod, NCCL, PyTorch."""

from cockpit.catalogue.cause import Cause
from cockpit.catalogue.row import Gate, Mender, in_log, row
from cockpit.model.finding import Permanence

_MPI = "mpi-operator pkg/controller/mpi_job_controller.go"
_HOROVOD = "horovod docs/troubleshooting.rst"
_USER = Mender.USER
_HOST = r"(?P<worker>\d+\.\d+\.\d+\.\d+|[^\s:.]+)"
"""An address, or the name of a pod, by which its host name in the cluster begins."""


ROWS = (
    row(
        Cause.LAUNCHER_TOO_EARLY,
        Gate.PROGRESS,
        "the launcher starts before its workers answer",
        "Set launcherCreationPolicy to WaitForWorkersReady and give the workers a readiness probe.",
        _USER,
        Permanence.PASSES,
        "https://github.com/kubeflow/mpi-operator/issues/386",
        "restarts of the launcher; its last log line",
        in_log(rf"Could not resolve hostname {_HOST}", "launcher cannot resolve {worker}"),
        in_log(
            rf"connect to host {_HOST}\S* port \d+: Connection refused", "launcher is refused by {worker}"
        ),
    ),
    row(
        Cause.SSH_REFUSED,
        Gate.PROGRESS,
        "ssh between launcher and workers is refused",
        "Correct fsGroup, the path of the keys, and StrictModes.",
        _USER,
        Permanence.ACTS,
        "https://github.com/kubeflow/mpi-operator/issues/424",
        "last log line of the launcher",
        in_log(r"Permission denied \((?P<method>[^)]+)\)", "ssh to its workers is refused: {method}"),
        in_log(r"UNPROTECTED PRIVATE KEY FILE", "ssh refuses its private key: the file is too open"),
        in_log(r"bad ownership or modes", "ssh refuses its keys: bad ownership or modes"),
    ),
    row(
        Cause.TOO_FEW_SLOTS,
        Gate.PROGRESS,
        "mpirun sees fewer slots than it is asked for",
        "Pass --hostfile: OpenMPI 5 does not read it by itself.",
        _USER,
        Permanence.NEVER,
        "https://github.com/kubeflow/mpi-operator/issues/842",
        "last log line of the launcher",
        in_log(
            r"not enough slots available(?:.*?(?P<slots>\d+) slots)?",
            "mpirun sees too few slots: pass --hostfile",
        ),
    ),
    row(
        Cause.WORKER_FAILED,
        Gate.PROGRESS,
        "a worker failed and is not made again",
        "Delete the failed worker, or restart the job.",
        _USER,
        Permanence.NEVER,
        _MPI,
        "worker phase Failed while MPIJob Running=True",
    ),
    row(
        Cause.RING_HANGS,
        Gate.PROGRESS,
        "the ring hangs",
        "Set NCCL_DEBUG=INFO, look with py-spy, restart.",
        _USER,
        Permanence.ACTS,
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
        "duty of the ranks; silent logs",
        in_log(
            r"Watchdog caught collective operation timeout.*?OpType=(?P<operation>\w+)",
            "ring hangs in {operation}: a rank does not answer",
        ),
        in_log(r"Missing ranks|Stalled (?:ranks|ops)", "ring hangs: ranks are stalled"),
        in_log(r"NCCL.*(?:timed? ?out)", "ring hangs: NCCL timed out"),
    ),
    row(
        Cause.SHARED_MEMORY,
        Gate.PROGRESS,
        "shared or pinned memory cannot be set up",
        "Mount an emptyDir of medium Memory at /dev/shm; add IPC_LOCK and an RDMA resource.",
        _USER,
        Permanence.NEVER,
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
        "last log line; exit code 135",
        in_log(
            r"unable to (?:create|write to|open) shared memory|No space left on device.*(?:shm|nccl)|"
            r"(?:shm|nccl).*No space left on device|insufficient shared memory|bus error",
            "/dev/shm is too small",
        ),
        in_log(
            r"ibv_reg_mr.*Cannot allocate memory",
            "RDMA memory cannot be pinned (ibv_reg_mr): IPC_LOCK is missing",
        ),
    ),
    row(
        Cause.HOROVOD_NOT_BUILT,
        Gate.PROGRESS,
        "Horovod was built without the framework",
        "Build the image again with the framework enabled.",
        _USER,
        Permanence.NEVER,
        _HOROVOD,
        "last log line",
        in_log(
            r"Extension (?P<extension>horovod\.\w+) has not been built",
            "{extension} is not built into the image",
        ),
        in_log(r"You need C\+\+17", "Horovod cannot be built: it needs C++17"),
    ),
    row(
        Cause.NO_RENDEZVOUS,
        Gate.PROGRESS,
        "torchrun's ranks do not find each other",
        "Check the headless Service, subdomain and the number of pods.",
        _USER,
        Permanence.ACTS,
        "https://pytorch.org/docs/stable/elastic/rendezvous.html",
        "last log line",
        in_log(
            r"RendezvousTimeoutError|rendezvous.*timed? ?out|RendezvousConnectionError",
            "torchrun rendezvous timed out: ranks do not find each other",
        ),
        in_log(
            r"(?:client socket|connection to|connect to) .*?timed out",
            "torchrun rendezvous timed out: rank 0 does not answer",
        ),
    ),
    row(
        Cause.BELOW_MINIMUM,
        Gate.PROGRESS,
        "an elastic job has fewer slots than its minimum",
        "See which workers run, and what the others wait for.",
        _USER,
        Permanence.PASSES,
        _HOROVOD,
        "last log line",
        in_log(
            r"Timed out waiting for (?P<slots>\d+) slots",
            "elastic job waits for {slots} slots: too few workers run",
        ),
        in_log(r"Timed out waiting for .*slots", "elastic job waits for slots: too few workers run"),
    ),
    row(
        Cause.WORKERS_LEFT,
        Gate.PROGRESS,
        "the job has ended and its workers still run",
        "Kill the workers; set cleanPodPolicy to Running.",
        _USER,
        Permanence.ACTS,
        _MPI,
        "job condition Succeeded or Failed, pods Running",
    ),
    row(
        Cause.DEADLINE,
        Gate.PROGRESS,
        "the job ran into its deadline",
        "Raise activeDeadlineSeconds: it counts waiting, too.",
        _USER,
        Permanence.NEVER,
        "https://kubernetes.io/docs/concepts/workloads/controllers/job/",
        "Job condition Failed, reason DeadlineExceeded",
    ),
)
