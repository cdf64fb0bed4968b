"""One side of a play about controllers, and the objects that plays use."""

from collections.abc import Callable
from typing import Any, Protocol

Tree = dict[str, Any]


class Side(Protocol):
    """One cluster with one namespace of its own."""

    space: str

    def make(self, tree: Tree) -> None:
        """Create an object in the namespace."""

    def change(self, plural: str, name: str, patch: Tree) -> None:
        """A merge patch."""

    def remove(self, plural: str, name: str, propagation: str = "Background") -> None:
        """Delete an object."""

    def pods(self, prefix: str) -> list[str]:
        """Names of the pods that begin so, in the order of their indexes, or of their names."""

    def named(self, plural: str) -> list[str]:
        """Names of the objects of one kind, in their order."""

    def become(self, *names: str, **status: Any) -> None:
        """What becomes of these pods, together: fields of their status."""

    def place(self) -> None:
        """Every pod that only one node can take is bound to it."""

    def bury(self) -> None:
        """Every pod that is being deleted is gone now."""

    def beat(self, *nodes: str) -> None:
        """From now on the kubelets of these nodes are heard of, and those of no other."""

    def wait(self, seconds: float) -> None:
        """Time passes."""

    def look(self, *alike: str) -> None:
        """Both sides show the same now, or will soon. Which of the names `alike` is which is chance."""


Play = Callable[[Side], None]


def pod_spec(restart: str | None = "Never") -> Tree:
    held: Tree = {"containers": [{"name": "main", "image": "train:1"}]}
    return held if restart is None else {**held, "restartPolicy": restart}


def job(name: str = "train", **spec: Any) -> Tree:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"metadata": {"labels": {"app": "train"}}, "spec": pod_spec()}, **spec},
    }


def ended(code: int) -> Tree:
    state = {"terminated": {"exitCode": code, "finishedAt": None}}
    status = {"name": "main", "image": "train:1", "imageID": "", "ready": False, "restartCount": 0}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{**status, "state": state}]}


def running() -> Tree:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


def run_all(side: Side, prefix: str) -> None:
    side.become(*side.pods(prefix), **running())
