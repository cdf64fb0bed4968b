"""What `kubectl logs` says on the bed: kwok answers for the kubelets, from one file for each container name.

Every pod's container `worker` reads the same file, `launcher` another; `append` makes a followed log go on.
The files are in the container runtime's format (RFC 3339 time, stream, F, text), which kwok expects.
"""

from pathlib import Path

from tests.bed.api import Tree

# Container names of the manifests the bed's tests and the cockpit's templates use; "" is every other one.
CONTAINERS = ("launcher", "worker", "")
_FIRST_LINES = {
    "launcher": (
        "+ mpirun -n 8 --allow-run-as-root python train.py",
        "[1,0]<stdout>:Horovod 0.28.1, size 8, NCCL 2.21.5",
        "[1,0]<stdout>:epoch 1 step 100 loss 2.3026 images/s 10240",
        "[1,1]<stderr>:UserWarning: the epoch parameter in scheduler.step() was not necessary",
        "[1,0]<stdout>:epoch 1 step 200 loss 1.9021 images/s 10311",
    ),
    "worker": ("Server listening on 0.0.0.0 port 2222.", "Accepted publickey for mpiuser"),
    "": ("starting", "step 1", "step 2"),
}


def path_of(run_dir: Path, container: str) -> Path:
    """The file behind a container's log."""
    name = container if container in CONTAINERS else ""
    return run_dir / "pod-logs" / f"{name or 'other'}.log"


def format_line(text: str, number: int, *, stream: str = "stdout") -> str:
    """One line as containerd writes it; `number` seconds after a fixed start, so that logs are repeatable."""
    minutes, seconds = divmod(number, 60)
    return f"2026-01-05T09:{minutes % 60:02d}:{seconds:02d}.000000000Z {stream} F {text}\n"


def prepare(run_dir: Path) -> None:
    """Writes the first lines of every file."""
    for name in CONTAINERS:
        path = path_of(run_dir, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(format_line(text, n) for n, text in enumerate(_FIRST_LINES[name])))


def append(run_dir: Path, container: str, text: str) -> None:
    """The container (of every pod) says one more line."""
    path = path_of(run_dir, container)
    number = path.read_text().count("\n")
    with path.open("a") as file:
        file.write(format_line(text, number))


def configuration(run_dir: Path) -> Tree:
    """kwok's ClusterLogs: the first entry that names a container wins, the last is for the rest."""

    def entry(name: str) -> Tree:
        file = str(path_of(run_dir, name))
        return {
            **({"containers": [name]} if name else {}),
            "logsFile": file,
            "previousLogsFile": file,
            "follow": True,
        }

    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterLogs",
        "metadata": {"name": "bed"},
        "spec": {"logs": [entry(name) for name in CONTAINERS]},
    }
