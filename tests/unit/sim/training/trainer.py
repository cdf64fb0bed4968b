"""The scenario `training` alive in this process, with the stand-in; and words for tests to say."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from cockpit.kube.resource import MPIJOBS, PODS, Resource
from cockpit.sim.actors.kubelet.local_images import HOROVOD, STAND_IN
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.port import PortError, Tree
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.serve import Options, running
from tests.waiting import until

"""For a machine that does much else: only a failure waits so long."""
TEAM = "vision"
FORM = {
    "name": "cifar",
    "namespace": TEAM,
    "image": HOROVOD,
    "launcher": "horovodrun",
    "command": "python /app/train.py --checkpoints /checkpoints/cifar"
    " --tensorboard /checkpoints/cifar/events",
    "checkpoint": "checkpoints:/checkpoints",
    "tensorboard": "/checkpoints/cifar/events",
}
"""What is filled in at the template `mpijob` for the scenario's job."""


def is_sshd(pid: int) -> bool:
    """Whether the process is the sshd of a pod, and not the launcher above it."""
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"sshd" in words and b"-S" in words and not any(word.endswith(b"launcher.py") for word in words)


class Trainer:
    """One cluster that trains."""

    def __init__(self, cluster: EmbeddedCluster, folder: Path, image: str) -> None:
        self.image = image
        self.cluster = cluster
        self.folder = folder
        self.port = cluster.engine.port

    def pods(self, part: str = "") -> list[str]:
        """Names of the team's pods that have `part` in them."""
        return sorted(name for space, name in self.cluster.kubelets.pods if space == TEAM and part in name)

    def said(self, part: str = "launcher") -> list[str]:
        """Lines of all pods whose names have `part` in them; of each container its last two runs."""
        lines: list[str] = []
        for name in self.pods(part):
            run = self.cluster.kubelets.run_of(TEAM, name)
            assert run is not None
            for one in run.containers:
                for log in one.logs:
                    lines += [line.text.decode() for line in log.lines(since=0, tail=None, now=0)]
        return lines

    def says(self, text: str, part: str = "launcher") -> bool:
        """Whether a line of them has `text` in it."""
        return any(text in line for line in self.said(part))

    def processes(self, word: str = "") -> list[int]:
        """Living processes of pods with `word` in their command lines."""
        mark, found = os.fsencode(f"COCKPIT_ROOT={self.folder}/"), []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                around = Path(f"/proc/{name}/environ").read_bytes()
                words = Path(f"/proc/{name}/cmdline").read_bytes()
                state = Path(f"/proc/{name}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            except OSError:
                continue
            if state != "Z" and mark in around and word.encode() in words:
                found.append(int(name))
        return found

    async def patch(self, resource: Resource, name: str, change: Tree) -> None:
        """A merge patch."""
        await self.port.patch(resource, TEAM, name, change)

    async def delete(self, resource: Resource, name: str) -> None:
        """Delete, as kubectl does."""
        await self.port.delete(resource, TEAM, name, propagation="Background")

    def object(self, resource: Resource, name: str) -> Tree | None:
        """What the API has."""
        held = self.cluster.operations.storage.get(resource, TEAM, name)
        return None if held is None else held.tree

    async def submit(self, template: str, **values: str) -> None:
        """Create what a template makes of these values; `_` for `-`."""
        given = {key.replace("_", "-"): value for key, value in values.items()}
        made = render(load_library().named(template), {"namespace": TEAM, "image": self.image, **given})
        await self.port.create(MPIJOBS, made, TEAM)

    async def run(
        self, name: str, script: str, container: Mapping[str, Any] | None = None, **spec: Any
    ) -> None:
        """Create a pod that runs a shell script here."""
        main = {"name": "main", "image": "local/shell", "command": ["sh", "-c", script], **(container or {})}
        tree: Tree = {
            "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [main], **spec},
        }
        await self.port.create(PODS, tree, TEAM)

    def phase(self, name: str) -> str:
        """A pod's phase, "" where it is not there."""
        tree = self.object(PODS, name)
        return "" if tree is None else str(tree["status"].get("phase", ""))

    def is_gone(self, resource: Resource, name: str) -> bool:
        """True when the API does not have it any more."""
        try:
            return self.object(resource, name) is None
        except PortError as error:
            return error.is_gone

    def condition(self, job: str, kind: str) -> bool:
        """Whether a condition of an MPIJob is True."""
        tree = self.object(MPIJOBS, job) or {}
        held = (tree.get("status") or {}).get("conditions") or ()
        return any(one["type"] == kind and one["status"] == "True" for one in held)

    async def failed(self, job: str) -> str:
        """Wait until an MPIJob has failed and nothing of it runs; answers what its launcher said."""
        heard: dict[str, None] = {}

        def look() -> bool:
            heard.update(dict.fromkeys(self.said(f"{job}-launcher")))
            return self.condition(job, "Failed")

        await until(look, f"{job} has failed")
        await until(lambda: not self.processes(), "nothing of it runs")
        return "\n".join(heard)


@asynccontextmanager
async def training(folder: Path, image: str = STAND_IN) -> AsyncIterator[Trainer]:
    """The scenario alive; its job `cifar` is about to begin."""
    scenario = load(find("training"), images={HOROVOD: image})
    async with running(scenario, folder, Options(warm_seconds=30.0)) as (_, cluster):
        trainer = Trainer(cluster, folder, image)
        await until(lambda: trainer.object(MPIJOBS, "cifar"), "the scenario's job")
        yield trainer
    left = trainer.processes()
    assert left == [], left
