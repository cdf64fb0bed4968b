"""What stands behind a pool's demand: an autoscaler of pods asks for more of them, and they find no node."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cockpit.model.pod import Pod
from cockpit.model.scaler import Scaler


class ScalerChain(NamedTuple):
    """A HorizontalPodAutoscaler, and its pods that wait for the pool."""

    scaler: Scaler
    waiting: int
    gpus: int


def chains(scalers: Iterable[Scaler], waiting: Sequence[Pod]) -> tuple[ScalerChain, ...]:
    """Those with pods that wait, most GPUs first."""
    found = []
    for one in scalers:
        own = [pod for pod in waiting if _is_of(pod, one)]
        if own:
            found.append(ScalerChain(one, len(own), sum(pod.gpus for pod in own)))
    return tuple(sorted(found, key=lambda one: (-one.gpus, one.scaler.namespace, one.scaler.name)))


def _is_of(pod: Pod, scaler: Scaler) -> bool:
    """A Deployment's pods belong to its ReplicaSets, which are named after it with one word more."""
    if pod.namespace != scaler.namespace or not scaler.target_name:
        return False
    if scaler.target_kind == "Deployment":
        return pod.owner_kind == "ReplicaSet" and pod.owner_name.rpartition("-")[0] == scaler.target_name
    return (pod.owner_kind, pod.owner_name) == (scaler.target_kind, scaler.target_name)
