"""Night shift: causes of trouble, drawn by seed, done to a cluster that is well otherwise.

Each cause does something to the cluster through the same verbs as a scenario's steps, and says in one
sentence what the truth is. The truth is recorded apart; nothing in the cluster tells it by name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.scenarios.schema import BrokenGpu, Outage, Scenario, ScenarioJob, ScenarioStep, Silence

_COUNT_LABEL = "nvidia.com/gpu.count"


class FaultTargets(msgspec.Struct, frozen=True):
    """What a cause may choose from: GPU nodes and how many cards each has, namespaces with and without a
    queue."""

    cards: Mapping[str, int]
    namespaces: Sequence[str]
    queued: Sequence[str]

    @property
    def nodes(self) -> Sequence[str]:
        """Names of the GPU nodes, in their order."""
        return sorted(self.cards)

    @property
    def most_cards(self) -> int:
        """Of the node with the most."""
        return max(self.cards.values(), default=1)


class Incident(msgspec.Struct, frozen=True):
    """What is done, and the truth about it: the cause's name, the object it shows on, one sentence."""

    cause: str
    about: str
    truth: str
    steps: tuple[ScenarioStep, ...]


Draw = Callable[[Random, FaultTargets, int], Incident]


def _job(name: str, namespace: str, **more: object) -> ScenarioJob:
    plain = ScenarioJob(name=name, namespace=namespace)
    return msgspec.structs.replace(plain, **more)


def _submit(job: ScenarioJob) -> ScenarioStep:
    return ScenarioStep(at=0, submit=job)


def _card(random: Random, targets: FaultTargets) -> tuple[str, int]:
    """A node and one of its cards."""
    node = random.choice(targets.nodes)
    return node, random.randrange(targets.cards[node])


def _about(job: ScenarioJob) -> str:
    return f"{job.kind}/{job.namespace}/{job.name}"


def _of_job(cause: str, job: ScenarioJob, truth: str, *before: Tree) -> Incident:
    steps = (*(ScenarioStep(at=0, apply=tree) for tree in before), _submit(job))
    return Incident(cause, _about(job), truth, steps)


def image_not_found(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A tag that does not exist."""
    job = _job(
        f"finetune-{number}", random.choice(targets.namespaces),
        image="registry.example/train:2.31", annotations={"cockpit.dev/image-error": "not-found"},
    )  # fmt: skip
    return _of_job("image-not-found", job, "the image tag 2.31 does not exist in the registry")


def image_unauthorized(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A registry that wants a pull secret."""
    job = _job(
        f"private-{number}", random.choice(targets.namespaces),
        image="private.example/vendor/model:1", annotations={"cockpit.dev/image-error": "unauthorized"},
    )  # fmt: skip
    return _of_job("image-unauthorized", job, "the registry refuses the pull: no pull secret")


def out_of_memory(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A training that outgrows its memory limit again and again."""
    job = _job(
        f"big-batch-{number}", random.choice(targets.namespaces), retries=6,
        annotations={"cockpit.dev/oom-after": "25s"},
    )  # fmt: skip
    return _of_job("out-of-memory", job, "the container is killed at its memory limit of 16Gi, exit 137")


def crash_loop(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A program that ends at once."""
    job = _job(
        f"serve-{number}", random.choice(targets.namespaces), kind="deployment",
        annotations={"cockpit.dev/exit-code": "1", "cockpit.dev/duration": "3s"},
    )  # fmt: skip
    return _of_job("crash-loop", job, "the program exits with 1 after 3 s, each time")


def too_many_gpus(random: Random, targets: FaultTargets, number: int) -> Incident:
    """More GPUs on one node than any node has."""
    wanted = 2 * targets.most_cards
    job = _job(f"wide-{number}", random.choice(targets.namespaces), gpus=wanted)
    truth = f"asks {wanted} GPUs on one node, no node has more than {targets.most_cards}"
    return _of_job("too-many-gpus", job, truth)


def too_much_cpu(random: Random, targets: FaultTargets, number: int) -> Incident:
    """GPUs are free, cores are not."""
    job = _job(f"loader-{number}", random.choice(targets.namespaces), cpu="512")
    return _of_job("too-much-cpu", job, "asks 512 CPUs beside one GPU, no node has as many")


def missing_secret(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A pod that names a Secret that is not there."""
    name, namespace = f"tracked-{number}", random.choice(targets.namespaces)
    tree: Tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/train:2.13",
                    "env": [
                        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "tracker", "key": "token"}}}
                    ],
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                }
            ],
        },
    }
    return Incident(
        "missing-secret",
        f"pod/{namespace}/{name}",
        "the Secret tracker is not there",
        (ScenarioStep(at=0, apply=tree),),
    )


def missing_claim(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A pod that names a volume claim that is not there."""
    name, namespace = f"dataset-{number}", random.choice(targets.namespaces)
    tree: Tree = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}],
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/train:2.13",
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                }
            ],
        },
    }
    return Incident(
        "missing-claim",
        f"pod/{namespace}/{name}",
        "the claim imagenet is not there",
        (ScenarioStep(at=0, apply=tree),),
    )


def wrong_queue(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A job for a LocalQueue that its namespace does not have."""
    job = _job(f"queued-{number}", random.choice(targets.namespaces), queue="gpu-queue", workers=2)
    return _of_job("wrong-queue", job, "the namespace has no LocalQueue gpu-queue")


def beyond_quota(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A gang larger than everything its queue could ever get."""
    job = _job(
        f"llm-{number}", random.choice(targets.queued or targets.namespaces), kind="mpijob", queue="main",
        workers=512, gpus=8,
    )  # fmt: skip
    return _of_job("beyond-quota", job, "the gang asks 4096 GPUs, more than its queue's maximum")


def node_lost(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A kubelet that falls silent."""
    node = random.choice(targets.nodes)
    step = ScenarioStep(at=0, outage=Outage(node=node, seconds=86_400))
    return Incident("node-lost", f"node/{node}", f"the kubelet of {node} stopped posting", (step,))


def gpu_lost(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A card that falls off the bus (XID 79)."""
    node, index = _card(random, targets)
    step = ScenarioStep(at=0, gpu=BrokenGpu(node=node, index=index, lost=True, xid=79))
    return Incident("gpu-lost", f"gpu/{node}/{index}", f"GPU {index} of {node} fell off the bus", (step,))


def gpu_memory_fault(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A double-bit error (XID 48)."""
    node, index = _card(random, targets)
    step = ScenarioStep(at=0, gpu=BrokenGpu(node=node, index=index, xid=48, remapped_rows=1))
    return Incident(
        "gpu-memory-fault", f"gpu/{node}/{index}", f"double-bit ECC error on GPU {index} of {node}", (step,)
    )


def hot_gpu(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A fan that died: the card throttles under load."""
    node, index = _card(random, targets)
    step = ScenarioStep(at=0, gpu=BrokenGpu(node=node, index=index, heat=38))
    return Incident("hot-gpu", f"gpu/{node}/{index}", f"GPU {index} of {node} cannot be cooled", (step,))


def silent_exporter(random: Random, targets: FaultTargets, number: int) -> Incident:
    """An exporter that does not answer: numbers are missing, nothing else is wrong."""
    node = random.choice(targets.nodes)
    step = ScenarioStep(at=0, exporter=Silence(node=node))
    return Incident("silent-exporter", f"node/{node}", f"the exporter of {node} does not answer", (step,))


def cordoned(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A node that somebody cordoned and forgot."""
    node = random.choice(targets.nodes)
    return Incident(
        "cordoned", f"node/{node}", f"{node} was cordoned and forgotten", (ScenarioStep(at=0, cordon=node),)
    )


def starved(random: Random, targets: FaultTargets, number: int) -> Incident:
    """A job whose GPUs wait for data."""
    job = _job(
        f"augment-{number}", random.choice(targets.namespaces), load="saw-teeth:0.12", seconds=86_400,
    )  # fmt: skip
    return _of_job("starved", job, "the data loader is slower than the GPU")


def forgotten_notebook(random: Random, targets: FaultTargets, number: int) -> Incident:
    """Memory held for days, nothing runs."""
    job = _job(
        f"notebook-{number}", random.choice(targets.namespaces), kind="pod", load="idle", seconds=864_000
    )
    return _of_job("forgotten-notebook", job, "a notebook holds a GPU and runs nothing")


CAUSES: dict[str, Draw] = {
    "image-not-found": image_not_found,
    "image-unauthorized": image_unauthorized,
    "out-of-memory": out_of_memory,
    "crash-loop": crash_loop,
    "too-many-gpus": too_many_gpus,
    "too-much-cpu": too_much_cpu,
    "missing-secret": missing_secret,
    "missing-claim": missing_claim,
    "wrong-queue": wrong_queue,
    "beyond-quota": beyond_quota,
    "node-lost": node_lost,
    "gpu-lost": gpu_lost,
    "gpu-memory-fault": gpu_memory_fault,
    "hot-gpu": hot_gpu,
    "silent-exporter": silent_exporter,
    "cordoned": cordoned,
    "starved": starved,
    "forgotten-notebook": forgotten_notebook,
}
"""By the name that a scenario uses."""


def targets_of(scenario: Scenario, nodes: Iterable[Tree]) -> FaultTargets:
    """What causes may choose from, given the nodes that are there."""
    labels = {tree["metadata"]["name"]: tree["metadata"].get("labels") or {} for tree in nodes}
    return FaultTargets(
        cards={name: int(own[_COUNT_LABEL]) for name, own in labels.items() if _COUNT_LABEL in own},
        namespaces=[one.name for one in scenario.namespaces],
        queued=[one.name for one in scenario.namespaces if one.queue],
    )
