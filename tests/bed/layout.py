"""One bed's folder: which parts it runs, on which ports, and where its files lie.

The layout is written once, as JSON, before anything starts; the process inside the namespace, the parts and
everybody who attaches later read the same file.
"""

import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bed.binaries import NEWER
from tests.bed.cache import BedError

# Part -> the parts that must be there for it.
NEEDS: dict[str, tuple[str, ...]] = {
    "etcd": (),
    "apiserver": ("etcd",),
    "kcm": ("apiserver",),
    "scheduler": ("apiserver",),
    "kwok": ("apiserver", "kcm"),
    "kueue": ("apiserver", "kcm", "scheduler", "kwok"),
    "mpi": ("apiserver", "kcm", "scheduler", "kwok"),
    "exposition": ("apiserver", "kcm"),
    "prometheus": ("apiserver", "kcm", "kwok", "exposition"),
    "machines": ("apiserver", "kcm", "kwok"),
    "native": ("apiserver", "kcm", "scheduler"),
    "pod-groups": ("apiserver",),
    "coscheduling": ("apiserver",),
    "jobset": ("apiserver", "kcm", "scheduler", "kwok"),
    "karpenter": ("apiserver", "kcm", "scheduler", "kwok"),
}
# Not in a full bed: "native" is no program but gates of the others, the rest is compiled only on request.
OPTIONAL: frozenset[str] = frozenset({"native", "pod-groups", "coscheduling", "jobset", "karpenter"})
FULL: frozenset[str] = frozenset(NEEDS) - OPTIONAL
CONTROL_PLANE: frozenset[str] = frozenset({"etcd", "apiserver", "kcm", "scheduler"})
# These use fixed ports, fixed paths under /etc and addresses of a local range: only in a namespace.
NAMESPACE_ONLY: frozenset[str] = frozenset({"kueue", "mpi", "prometheus"})

PROGRAM_OF: dict[str, str] = {
    "etcd": "etcd",
    "apiserver": "kube-apiserver",
    "kcm": "kube-controller-manager",
    "scheduler": "kube-scheduler",
    "kwok": "kwok",
    "kueue": "kueue",
    "mpi": "mpi-operator",
    "pod-groups": "sp-controller",
    "coscheduling": "sp-scheduler",
    "jobset": "jobset",
    "karpenter": "karpenter",
}
# Ports that every part in need of one gets; in a namespace the first three are also answered outside.
FORWARDED: tuple[str, ...] = ("apiserver", "exposition", "prometheus")
PORTS: tuple[str, ...] = (
    *FORWARDED,
    "etcd",
    "etcd-peer",
    "kcm",
    "scheduler",
    "kwok",
    "kueue-health",
    "kueue-metrics",
    "kueue-webhook",
    "mpi-metrics",
    "machines",
    "pod-groups",
    "pod-groups-metrics",
    "coscheduling",
    "jobset-health",
    "jobset-metrics",
    "jobset-webhook",
    "karpenter-health",
    "karpenter-metrics",
)
# Pods get addresses from the lower half of the range that is local inside the namespace.
POD_RANGE = "10.64.0.0/17"
BED_RANGE = "10.64.0.0/16"
ADVERTISED_ADDRESS = "10.64.200.1"


@dataclass(frozen=True)
class Layout:
    """What one bed is made of. `programs` maps part to executable, `manifests` program to YAML folder.

    `generation` says which Kueue and mpi-operator it has (`tests.bed.binaries.GENERATIONS`).
    """

    run_dir: Path
    namespaced: bool
    parts: tuple[str, ...]
    ports: Mapping[str, int]
    programs: Mapping[str, str]
    manifests: Mapping[str, str]
    apiserver_flags: tuple[str, ...] = ()
    forwarded_fds: Mapping[str, int] | None = None  # listening sockets made outside the namespace
    generation: str = NEWER

    @property
    def pki(self) -> Path:
        return self.run_dir / "pki"

    @property
    def logs(self) -> Path:
        return self.run_dir / "logs"

    @property
    def kubeconfig(self) -> Path:
        return self.run_dir / "kubeconfig"

    @property
    def controller_kubeconfig(self) -> Path:
        return self.run_dir / "kubeconfig.controllers"

    @property
    def tokens(self) -> Path:
        return self.run_dir / "tokens.csv"

    @property
    def ca_file(self) -> Path:
        return self.pki / "ca.crt"

    @property
    def control_socket(self) -> Path:
        return self.run_dir / "control.sock"

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.ports['apiserver']}"

    def url(self, port_name: str) -> str:
        """A plain-HTTP address on loopback."""
        return f"http://127.0.0.1:{self.ports[port_name]}"

    def save(self) -> None:
        tree = asdict(self)
        tree["run_dir"] = str(self.run_dir)
        (self.run_dir / "layout.json").write_text(json.dumps(tree, indent=1))

    @classmethod
    def load(cls, run_dir: Path) -> "Layout":
        """Raises BedError when no bed was laid out there."""
        try:
            tree: dict[str, Any] = json.loads((run_dir / "layout.json").read_text())
        except OSError as error:
            raise BedError(f"{run_dir} holds no bed ({error.strerror}): start one with up") from error
        tree["run_dir"] = Path(tree["run_dir"])
        tree["parts"] = tuple(tree["parts"])
        tree["apiserver_flags"] = tuple(tree["apiserver_flags"])
        return cls(**tree)


def closure(parts: Iterable[str]) -> tuple[str, ...]:
    """The given parts and all they need, in the order of starting. Raises BedError for an unknown part."""
    wanted: set[str] = set()
    todo = list(parts)
    while todo:
        part = todo.pop()
        if part not in NEEDS:
            raise BedError(f"part {part!r} is not one of {', '.join(NEEDS)}")
        if part not in wanted:
            wanted.add(part)
            todo.extend(NEEDS[part])
    return tuple(part for part in NEEDS if part in wanted)


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """One free loopback port for each name, all different (they are held open together while choosing)."""
    held: list[socket.socket] = []
    ports: dict[str, int] = {}
    try:
        for name in names:
            one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            held.append(one)
            one.bind(("127.0.0.1", 0))
            ports[name] = one.getsockname()[1]
    finally:
        for one in held:
            one.close()
    return ports
