"""What a pod's containers do besides their GPUs: CPU, network and disk, as rates that follow from its load.

A worker whose loader is too slow is at the end of its CPU; one that waits for the all-reduce sends about as
much as it receives, all that its link gives. Rates stand still over a pod's life, so counters only ever rise.
"""

from functools import lru_cache
from random import Random

import msgspec

from cockpit.k8s.quantity import parse_quantity
from cockpit.sim.actors.common.gpu_load import ANNOTATION, LoadPattern, load_of
from cockpit.sim.devices import GPU, MIG_PREFIX, SHARED_GPU
from cockpit.sim.port import Tree

CPU_ANNOTATION = "cockpit.dev/cpu"


class Rates(msgspec.Struct, frozen=True):
    """`cpu_ratio` is of what was asked for, None where the runtime's own number counts."""

    cpu_ratio: float | None
    receive_bytes_per_second: float
    transmit_bytes_per_second: float
    read_bytes_per_second: float = 0.0
    write_bytes_per_second: float = 0.0


_PLAIN = Rates(None, 60e3, 40e3, 2e3, 9e3)
_OF = {
    LoadPattern.TRAINING: Rates(0.55, 31e6, 28e6, 40e6, 2e6),
    LoadPattern.DATA_STARVED: Rates(0.97, 14e6, 1e6, 90e6, 1e6),
    LoadPattern.NETWORK_BOUND: Rates(0.35, 1.16e9, 1.14e9, 30e6, 2e6),
    LoadPattern.INFERENCE: Rates(0.4, 2e6, 5e6, 1e3, 8e3),
    LoadPattern.NOTEBOOK: Rates(0.1, 120e3, 90e3, 2e6, 3e5),
    LoadPattern.IDLE: Rates(0.02, 4e3, 4e3, 0.0, 1e3),
    LoadPattern.STEADY: Rates(0.2, 4e3, 4e3, 0.0, 4e3),
}
"""Of a link of 10 Gbit/s, as a worker sees it that exchanges gradients over its pod's own interface."""


def rates_of(pod: Tree) -> Rates:
    """The rates of a pod, a few percent apart from those of its like."""
    metadata = pod["metadata"]
    annotations = metadata.get("annotations") or {}
    if ANNOTATION not in annotations and not _has_gpus(pod):
        found = _PLAIN
    else:
        found = _OF[load_of(annotations, "", 0.0).pattern]
    some = _apart(f"{metadata.get('namespace')}/{metadata['name']}")
    return Rates(
        None if CPU_ANNOTATION in annotations else found.cpu_ratio,
        round(found.receive_bytes_per_second * some),
        round(found.transmit_bytes_per_second * some),
        round(found.read_bytes_per_second * some),
        round(found.write_bytes_per_second * some),
    )


@lru_cache(maxsize=1 << 12)
def _apart(name: str) -> float:
    return Random(name).uniform(0.97, 1.03)


def _has_gpus(pod: Tree) -> bool:
    return any(
        name in (GPU, SHARED_GPU) or name.startswith(MIG_PREFIX)
        for container in pod["spec"].get("containers") or ()
        for name in (container.get("resources") or {}).get("limits") or ()
    )


def cores_asked(container: Tree) -> float:
    """CPU cores that a container asked for; 0 where it did not."""
    resources = container.get("resources") or {}
    asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return float(parse_quantity(str(asked.get("cpu", "0"))))
