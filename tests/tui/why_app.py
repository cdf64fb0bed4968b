"""Why pages with everything on them: an estate with a job that waits for room, and the past of others; and
the cockpit before a server that also tells the objects of pods, so that offers can be tried."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from cockpit.kube.discovery import Served, ServedResource
from cockpit.kube.resource import MPIJOBS, PODS
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.price import MachinePrice, Prices
from cockpit.model.record import Condition, Kind
from cockpit.model.remembered import Growth
from cockpit.pools.forecast import PoolExperience
from tests.tui.deck import ScriptedApp
from tests.tui.estate import GPU, NOW, Estate

PAST = 16


class EstateWithPast(Estate):
    """The scripted estate, and jobs that ended."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        for number in range(PAST):
            self._past(number)

    def _past(self, number: int) -> None:
        born = NOW - 30_000 + 900 * number
        begun, ended = born + 300 + 20 * number, born + 6_000 + 400 * number
        done = Condition("Complete", "True", "CompletionsReached", "", ended)
        self.add(
            Kind.JOB,
            JobObject(
                uid=f"job-sweep-past-{number}", name=f"sweep-{30 + number}", namespace="team-c",
                api_version="batch/v1", kind="Job", created_seconds=born, succeeded=8,
                replicas=(ReplicaSpec("main", 8, 8, GPU),),
                started_seconds=begun, finished_seconds=ended, conditions=(done,),
            ),
        )  # fmt: skip


class WhyEstate(EstateWithPast):
    """And `team-c/sweep-13`, whose three pods of eight GPUs find GPUs in pieces only: two jobs hold five on
    each node that had eight free."""

    def _jobs(self) -> None:
        super()._jobs()
        self._pytorchjob("team-b", "eval-7b", 4, 5, "h100")
        self._pytorchjob("team-b", "eval-13b", 2, 5, "a100")
        self._stuck("team-c", "sweep-13", 3, 8)


class WhyApp(ScriptedApp):
    """Pods are read as the store has them; every other list is empty."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self.asked: list[str] = []
        self.sent: list[str] = []
        session: Any = self.attachment.session
        self._before = session.request
        session.request = self._answer

    async def _answer(self, method: str, path: str, **more: Any) -> Any:
        self.asked.append(path)
        tree: dict[str, Any]
        *_, collection, name = path.split("/")
        is_rehearsal = ("dryRun", "All") in (more.get("query") or ())
        if method != "GET" and not is_rehearsal and name != "selfsubjectaccessreviews":
            self.sent.append(f"{method} {path}")
        if method != "GET" or collection == "leases":
            return await self._before(method, path, **more)
        if collection == "pods" or "/namespaces/" not in path:
            pods = self.attachment.store.records(Kind.POD).values()
            tree = next((_as_read(one) for one in pods if one.name == name), {"items": []})
            return SimpleNamespace(status=200, ok=True, body=b"{}", json=lambda: tree, message=lambda: "")
        found = await self._before(method, path, **more)
        if collection in _SPECS and found.json():
            tree = {
                **found.json(),
                "spec": _SPECS[collection](self.attachment.store.records(Kind.MPIJOB), name),
            }
            return SimpleNamespace(status=200, ok=True, body=b"{}", json=lambda: tree, message=lambda: "")
        return (
            found
            if found.json()
            else SimpleNamespace(
                status=200, ok=True, body=b"{}", json=lambda: {"items": []}, message=lambda: ""
            )
        )


def _pod_template(gpus: int) -> dict[str, Any]:
    asked = {GPU: str(gpus)} if gpus else {}
    container = {
        "name": "main",
        "image": "registry.example/train:1.4",
        "command": ["train"],
        "resources": {"requests": asked, "limits": asked},
    }
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}


def _mpi_spec(jobs: Mapping[str, JobObject], name: str) -> dict[str, Any]:
    """The replicas as the store has them."""
    (job,) = (job for job in jobs.values() if job.name == name)
    roles = {
        part.role.capitalize(): {"replicas": part.replicas, "template": _pod_template(part.gpus_each)}
        for part in job.replicas
    }
    return {"runPolicy": {"suspend": job.is_suspended}, "mpiReplicaSpecs": roles}


_SPECS: dict[str, Callable[[Mapping[str, JobObject], str], dict[str, Any]]] = {
    "jobs": lambda _jobs, _name: {"parallelism": 3, "completions": 3, "template": _pod_template(8)},
    "mpijobs": _mpi_spec,
}


def _as_read(pod: Pod) -> dict[str, Any]:
    """The pod's object, as far as a fit looks at it."""
    asked = {
        "cpu": f"{pod.cpu_millicores}m",
        "memory": str(pod.memory_bytes),
        **({pod.gpu_resource or "nvidia.com/gpu": str(pod.gpus)} if pod.gpus else {}),
    }
    container = {"name": "main", "image": pod.image, "resources": {"requests": asked, "limits": asked}}
    metadata = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    selector = dict(pod.traits.wishes.node_selector)
    return {"metadata": metadata, "spec": {"containers": [container], "nodeSelector": selector}}


class QueuedApp(WhyApp):
    """It is known that MPIJobs are served, so those that wait are read."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self.attachment.served = Served(
            tuple(ServedResource(one, ("get", "list")) for one in (MPIJOBS, PODS))
        )


class GrowingApp(WhyApp):
    """What machines of the a100 pool cost and how long they took is known."""

    def known_of_pools(self) -> PoolExperience:
        prices = Prices(machines=(("gpu-a100-8x", MachinePrice(hourly=32.0)),))
        growths = tuple(
            Growth(
                pool_key="MachineDeployment.cluster.x-k8s.io/fleet/a100",
                asked_seconds=float(at),
                machine_type="gpu-a100-8x",
                stages=(("joined", 185.0), ("GPUs up", seconds)),
            )
            for at, seconds in enumerate((480.0, 540.0, 700.0))
        )
        return PoolExperience(prices, growths)
