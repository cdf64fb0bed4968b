"""The heartbeats of nodes: one Lease each, of 40 s, renewed every 10 s (pkg/kubelet/kubelet.go)."""

import logging

from cockpit.kube.resource import NODES
from cockpit.sim.actors.kubelet.runs import NodeRun
from cockpit.sim.port import Port, PortError, Tree
from cockpit.sim.resources import LEASES
from cockpit.sim.times import rfc3339_micro

_log = logging.getLogger(__name__)

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
RENEW_SECONDS = 10.0
SLOTS = 40


class Leases:
    """Heartbeats of all nodes: a wheel of 40 slots, one timer each, so that 2,500 nodes are 250 writes/s."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self._slots: list[dict[str, NodeRun]] = [{} for _ in range(SLOTS)]
        self._slot_of: dict[str, int] = {}
        self._known: dict[str, None] = {}
        self._turn = 0

    def add(self, node: NodeRun) -> int:
        """Give a node a slot; answers which."""
        slot = self._slot_of.get(node.name)
        if slot is None:
            slot = self._slot_of[node.name] = self._turn % SLOTS
            self._turn += 7  # neighbours far apart, and every slot in turn: 7 and 40 share no factor
        self._slots[slot][node.name] = node
        return slot

    def remove(self, name: str) -> None:
        """The node is gone."""
        slot = self._slot_of.pop(name, None)
        if slot is not None:
            self._slots[slot].pop(name, None)
        self._known.pop(name, None)

    def __contains__(self, name: str) -> bool:
        return name in self._known

    async def begin(self, node: NodeRun, now: float) -> None:
        """The first lease comes with the first status, because the node controller looks for it."""
        try:
            await self.renew(node, now)
        except PortError as error:
            _log.debug("lease of %s: %s", node.name, error)

    def is_empty(self, slot: int) -> bool:
        """True when nobody beats in this slot."""
        return not self._slots[slot]

    async def beat(self, slot: int, now: float) -> None:
        """Renew the leases of a slot; a node that is out stays silent."""
        for node in list(self._slots[slot].values()):
            if not node.is_out:
                try:
                    await self.renew(node, now)
                except PortError as error:
                    self._known.pop(node.name, None)
                    _log.debug("lease of %s: %s", node.name, error)

    async def renew(self, node: NodeRun, now: float) -> None:
        """Renew (or make) one lease."""
        name = node.name
        if name in self._known:
            try:
                patch: Tree = {"spec": {"renewTime": rfc3339_micro(now)}}
                await self._port.patch(LEASES, LEASE_NAMESPACE, name, patch)
            except PortError as error:
                if not error.is_gone:
                    raise
            else:
                return
        await self._make(node, now)
        self._known[name] = None

    async def _make(self, node: NodeRun, now: float) -> None:
        metadata = node.tree["metadata"]
        owner = {"apiVersion": "v1", "kind": NODES.kind, "name": node.name, "uid": metadata.get("uid", "")}
        lease: Tree = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": node.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
            "spec": {
                "holderIdentity": node.name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": rfc3339_micro(now),
            },
        }
        try:
            await self._port.create(LEASES, lease, LEASE_NAMESPACE)
        except PortError as error:
            if not error.is_conflict:
                raise
            patch: Tree = {"spec": lease["spec"]}
            await self._port.patch(LEASES, LEASE_NAMESPACE, node.name, patch)
