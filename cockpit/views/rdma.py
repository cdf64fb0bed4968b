"""RDMA devices of pods, by the names under which device plugins offer them.

Sources: Mellanox/k8s-rdma-shared-dev-plugin README.md (rdma/NAME), k8snetworkplumbingwg/
sriov-network-device-plugin docs (any prefix, names such as mlnx_rdma), Mellanox/network-operator values
(nvidia.com/hostdev, rdma/hca_shared_devices_a), aws/aws-efa-k8s-device-plugin (vpc.amazonaws.com/efa).
"""

import re

from cockpit_widgets.types import Cell

from cockpit.model.pod import Pod
from cockpit.views import format as fmt

_RDMA = re.compile(
    r"^rdma/|^vpc\.amazonaws\.com/efa$|^nvidia\.com/hostdev|(^|[^a-z])(rdma|hca|roce)([^a-z]|$)"
)


def is_rdma(resource: str) -> bool:
    """True for the name of an extended resource that counts RDMA devices."""
    return "/" in resource and _RDMA.search(resource) is not None


def devices(pod: Pod) -> tuple[tuple[str, int], ...]:
    """Names and counts of what the pod was given, or asks for while it has no node."""
    return tuple((name, count) for name, count in pod.traits.resources if is_rdma(name))


def count(pod: Pod) -> int:
    """Devices in all."""
    return sum(number for _, number in devices(pod))


def cell(pod: Pod) -> Cell:
    """`1 hca_shared_devices_a`; dim while the pod only asks, nothing where it asks for none."""
    found = devices(pod)
    if not found:
        return fmt.NOTHING
    words = ", ".join(f"{number} {name.rpartition('/')[2]}" for name, number in found)
    return Cell(words, "" if pod.node and not pod.is_finished else "dim")
