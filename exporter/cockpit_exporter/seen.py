"""What one scrape shows: the collector's snapshot and everything beside it, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cockpit_exporter.attribution import Holder, Joined
from cockpit_exporter.model import Card, Instance, Snapshot, Xid


@dataclass(frozen=True, slots=True)
class AttributionState:
    """How the pods of cards are known. `reason` is empty where they are; `source` is pod-resources or off.
    `slices_reason` says why ResourceSlices are not read, None where they are not asked for."""

    source: str = "off"
    reason: str = ""
    age_seconds: float | None = None
    slices_reason: str | None = None

    @property
    def is_up(self) -> bool:
        return self.source != "off" and not self.reason


@dataclass(frozen=True, slots=True)
class Seen:
    """Input of every exposition. `joined` is None where the pods of cards are unknown: then no series has
    labels of a pod, which is not the same as labels that are empty."""

    now_seconds: float
    snapshot: Snapshot
    node: str = ""
    joined: Joined | None = None
    attribution: AttributionState = field(default_factory=AttributionState)
    xids: Mapping[str, Xid] = field(default_factory=dict)
    is_xid_watched: bool = False
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    version: str = ""

    def holders(self, card: Card, instance: Instance | None = None) -> tuple[Holder, ...]:
        """Those that hold the card or instance."""
        if self.joined is None:
            return ()
        return self.joined.holders.get((card.device.uuid, instance.uuid if instance else ""), ())


def instance_label(card: Card, one: Instance) -> str:
    """The GPU instance's id; with the compute instance's where it is cut further."""
    shared = sum(other.gpu_instance == one.gpu_instance for other in card.instances) > 1
    return f"{one.gpu_instance}-{one.compute_instance}" if shared else str(one.gpu_instance)


def pci_address(bus_id: str) -> str:
    """As dcgm-exporter writes it: eight digits of the domain, all upper case."""
    return bus_id.upper()
