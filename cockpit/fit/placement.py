"""How well the members of a gang lie to each other: nodes, racks, zones, kinds of cards.

NUMA is not told by labels of nodes and therefore not judged here.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cockpit.model.node import Node
from cockpit.model.record import Kind, label
from cockpit.model.store_reader import StoreReader

RACK_LABELS: tuple[str, ...] = (
    "topology.kubernetes.io/rack",
    "network.topology.nvidia.com/leaf",
    "cloud.google.com/gce-topology-subblock",
    "topology.k8s.aws/network-node-layer-3",
    "cloud.provider.com/topology-rack",
    "rack",
)
"""Labels that name the closest group of nodes behind one switch, the surest first (sources: NVIDIA
topograph, GKE, AWS network topology, kueue's topology examples)."""

KNOWN_COST = "spread GPUs can be 2 to 5 times slower (Arena)"
"""Source: kubeflow/arena docs/training/mpijob/gputopology.md (ResNet-50 1471.6 to 745.4, VGG16 991.9 to 200.5
images a second)."""


class Placement(NamedTuple):
    """Where the members lie. Names are sorted; a node without a label counts in `unknown_racks`."""

    nodes: int
    racks: tuple[str, ...]
    zones: tuple[str, ...]
    models: tuple[str, ...]
    unknown_racks: int = 0

    @property
    def is_mixed(self) -> bool:
        """Members on cards of different kinds: a step takes as long as on the slowest."""
        return len(self.models) > 1

    @property
    def is_spread(self) -> bool:
        """Members in several racks or zones."""
        return len(self.racks) > 1 or len(self.zones) > 1

    @property
    def cost(self) -> int:
        """For sorting: 0 is best; kinds of cards weigh most, then zones, racks, nodes."""
        extra = (max(0, len(item) - 1) for item in (self.models, self.zones, self.racks))
        models, zones, racks = extra
        return ((models * 100 + zones) * 1_000 + racks) * 100_000 + max(0, self.nodes - 1)

    @property
    def words(self) -> str:
        """For a column: the widest that divides the members, and `mixed`."""
        if not self.nodes:
            return ""
        if len(self.zones) > 1:
            text = f"{len(self.zones)} zones"
        elif len(self.racks) > 1:
            text = f"{len(self.racks)} racks"
        elif len(self.racks) == 1 and not self.unknown_racks and self.nodes > 1:
            text = "1 rack"
        else:
            text = f"{self.nodes} node{'s' * (self.nodes != 1)}"
        return f"{text}, mixed" if self.is_mixed else text

    @property
    def sentence(self) -> str:
        """All of it, and what it is known to cost."""
        if not self.nodes:
            return ""
        parts = [f"{self.nodes} node{'s' * (self.nodes != 1)}"]
        for names, word in ((self.racks, "rack"), (self.zones, "zone")):
            if len(names) == 1:
                parts.append(f"{word} {names[0]}")
            elif names:
                parts.append(f"{len(names)} {word}s")
        if self.unknown_racks and self.racks:
            parts.append(f"{self.unknown_racks} of unknown rack")
        text = ", ".join(parts)
        if self.is_mixed:
            text += f"; cards are mixed ({', '.join(self.models)}): every step waits for the slowest"
        if self.is_spread:
            text += f"; {KNOWN_COST}"
        return text


def placement_of(store: StoreReader, nodes: Iterable[str]) -> Placement:
    """The placement of members on the named nodes; nodes that are gone are not judged."""
    names = sorted(set(nodes))
    found: list[Node] = [
        item for item in (store.by_key(Kind.NODE, name) for name in names) if item is not None
    ]
    racks = [_rack(item) for item in found]
    return Placement(
        nodes=len(found),
        racks=tuple(sorted({item for item in racks if item})),
        zones=tuple(sorted({item.zone for item in found if item.zone})),
        models=tuple(sorted({item.gpu_model for item in found if item.gpu_model})),
        unknown_racks=sum(not item for item in racks),
    )


def _rack(node: Node) -> str:
    return next((value for key in RACK_LABELS if (value := label(node.labels, key))), "")
