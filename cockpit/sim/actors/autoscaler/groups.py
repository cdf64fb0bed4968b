"""Node groups: MachineDeployments that carry both size annotations.

Source: kubernetes/autoscaler cluster-autoscaler/cloudprovider/clusterapi/README.md; group ids as in
clusterapi_unstructured.go: `MachineDeployment/NAMESPACE/NAME`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from cockpit.k8s import labels as well_known
from cockpit.sim.actors.common.machine_template import DEPLOYMENT_LABEL, full_node
from cockpit.sim.port import Tree

MINIMUM = well_known.AUTOSCALER_MINIMUM
MAXIMUM = well_known.AUTOSCALER_MAXIMUM


class NodeGroup(msgspec.Struct, frozen=True):
    """One pool: `target` is what was asked for, `nodes` are those that joined, `failures` the provider's
    sentences about machines that do not come."""

    deployment: Tree
    namespace: str
    name: str
    minimum: int
    maximum: int
    target: int
    nodes: tuple[Tree, ...]
    machines: tuple[Tree, ...]

    @property
    def id(self) -> str:
        """As cluster-autoscaler names it."""
        return f"MachineDeployment/{self.namespace}/{self.name}"

    @property
    def template(self) -> Tree:
        """A node of this group when all is well."""
        return full_node(self.deployment, f"template-{self.name}")

    @property
    def ready(self) -> tuple[Tree, ...]:
        """Nodes that are Ready and advertise every device that the template promises."""
        promised = self.template["status"]["allocatable"]
        return tuple(
            node
            for node in self.nodes
            if is_ready(node) and set(promised) <= set((node.get("status") or {}).get("allocatable") or {})
        )

    @property
    def failures(self) -> tuple[str, ...]:
        """Sentences of the provider about machines that failed, each once."""
        texts = (str((one.get("status") or {}).get("failureMessage") or "") for one in self.machines)
        return tuple(dict.fromkeys(text for text in texts if text))


def is_ready(node: Mapping[str, Any]) -> bool:
    """True when the kubelet of a node says Ready."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def groups_of(
    deployments: Iterable[Tree], nodes: Iterable[Tree], machines: Iterable[Tree]
) -> tuple[NodeGroup, ...]:
    """The groups in the order of their ids. Deployments without both bounds are nobody's but a person's."""
    by_pool: dict[str, list[Tree]] = {}
    for node in nodes:
        pool = (node["metadata"].get("labels") or {}).get(DEPLOYMENT_LABEL)
        if pool:
            by_pool.setdefault(pool, []).append(node)
    by_owner: dict[tuple[str, str], list[Tree]] = {}
    for machine in machines:
        owner = (machine["metadata"].get("labels") or {}).get(DEPLOYMENT_LABEL)
        if owner:
            by_owner.setdefault((machine["metadata"]["namespace"], owner), []).append(machine)
    found: list[NodeGroup] = []
    for tree in deployments:
        metadata = tree["metadata"]
        said = metadata.get("annotations") or {}
        low, high = said.get(MINIMUM, ""), said.get(MAXIMUM, "")
        if not (low.isdigit() and high.isdigit()) or "deletionTimestamp" in metadata:
            continue
        found.append(
            NodeGroup(
                deployment=tree,
                namespace=metadata["namespace"],
                name=metadata["name"],
                minimum=int(low),
                maximum=int(high),
                target=int((tree.get("spec") or {}).get("replicas", 0) or 0),
                nodes=tuple(sorted(by_pool.get(metadata["name"], ()), key=_name)),
                machines=tuple(
                    sorted(by_owner.get((metadata["namespace"], metadata["name"]), ()), key=_name)
                ),
            )
        )
    return tuple(sorted(found, key=lambda group: group.id))


def _name(tree: Mapping[str, Any]) -> str:
    return str(tree["metadata"]["name"])
