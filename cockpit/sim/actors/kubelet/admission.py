"""Whether a kubelet takes a pod that was bound to it, and which devices it gives it.

The order is the kubelet's (Kubernetes 1.36 pkg/kubelet/kubelet.go: device manager, predicates). A
device that is short is told by the device manager (UnexpectedAdmissionError); only while the plugin is not
registered does the predicate tell it (OutOf<resource>).
"""

from collections.abc import Iterable

import msgspec

from cockpit.k8s.pod_requests import container_requests, pod_requests
from cockpit.k8s.quantity import base_units
from cockpit.sim.actors.kubelet.behaviour import PREFIX
from cockpit.sim.actors.kubelet.devices import DevicesUnavailable, DeviceTable
from cockpit.sim.actors.kubelet.runs import NodeRun, PodRun
from cockpit.sim.actors.kubelet.texts import no_devices, no_healthy_devices, not_enough
from cockpit.sim.port import Tree

PLUGIN_ANNOTATION = f"{PREFIX}device-plugin"
_PLAIN = ("cpu", "memory", "ephemeral-storage", "pods")


class Rejection(msgspec.Struct, frozen=True):
    """Why a pod is refused: reason and message of its status."""

    reason: str
    message: str


def requests_of(pod: Tree) -> dict[str, int]:
    """What a pod asks of a node: CPU in millicores, all else in whole units, `pods` 1."""
    return {"pods": 1, **pod_requests(pod["spec"])}


def admit(run: PodRun, node: NodeRun, devices: DeviceTable) -> Rejection | None:
    """Take the pod (its devices are given) or say why not."""
    annotations = node.tree["metadata"].get("annotations") or {}
    has_plugin = annotations.get(PLUGIN_ANNOTATION) != "restarting"
    if has_plugin:
        try:
            _allot(run, devices)
        except DevicesUnavailable as short:
            devices.release(run.node, run.uid)
            if short.none_healthy:
                return Rejection("UnexpectedAdmissionError", no_healthy_devices(short.resource))
            text = no_devices(short.resource, short.requested, short.available)
            return Rejection("UnexpectedAdmissionError", text)
    refused = _fits(run, node, devices, has_plugin=has_plugin)
    if refused is not None:
        devices.release(run.node, run.uid)
    return refused


def _allot(run: PodRun, devices: DeviceTable) -> None:
    served = devices.resources(run.node)
    for one in run.pod["spec"].get("containers", ()):
        for key, amount in container_requests(one).items():
            if key in served and amount:
                devices.allot(run.node, run.pod, one["name"], key, amount)


def _fits(run: PodRun, node: NodeRun, devices: DeviceTable, *, has_plugin: bool) -> Rejection | None:
    allocatable = (node.tree.get("status") or {}).get("allocatable") or {}
    wanted = requests_of(run.pod)
    used = _used(other for other in node.pods.values() if other is not run)
    served = devices.resources(run.node) if has_plugin else ()
    for key in sorted(wanted, key=lambda name: (name not in _PLAIN, name)):
        if key in served or (key not in allocatable):
            continue
        capacity = base_units(key, allocatable[key])
        if wanted[key] > capacity - used.get(key, 0):
            text = not_enough(key, wanted[key], used.get(key, 0), capacity)
            return Rejection(f"OutOf{key}", text)
    return None


def _used(runs: Iterable[PodRun]) -> dict[str, int]:
    total: dict[str, int] = {}
    for one in runs:
        if one.is_admitted and not one.is_final and not one.is_rejected:
            _add(total, one.requests)
    return total


def _add(total: dict[str, int], more: dict[str, int]) -> None:
    for key, amount in more.items():
        total[key] = total.get(key, 0) + amount
