"""Every family the exporter can emit, as `families.toml` has them."""

import tomllib
from pathlib import Path
from typing import Any, Literal, NamedTuple

Kind = Literal["gauge", "counter"]


class Family(NamedTuple):
    """One metric family. `labels` are those it has beside the device's own."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


DEVICE_LABELS = ("gpu", "uuid", "device", "model", "node", "pci_bus_id")
"""On every series of a card: index, UUID, /dev name, model, node, PCI address."""

MIG_LABELS = ("mig_profile", "mig_instance", "mig_uuid")
"""On series of a MIG instance, beside the labels of its card (`uuid` is the card's)."""

HOLDER_LABELS = ("namespace", "pod", "container")
"""On series of a card or instance where attribution runs; empty where no pod or several have it."""

PREFIX = "cockpit_gpu_"


def _read(table: str, prefix: str = "") -> dict[str, Family]:
    """Families of one table of the file, by the names that they have there."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    rows: dict[str, list[Any]] = tomllib.loads(text)[table]
    return {
        name: Family(prefix + name, kind, meaning, tuple(labels))
        for name, (kind, meaning, *labels) in rows.items()
    }


CARD_FAMILIES = _read("card", PREFIX)
"""Families of cards and instances by their short names."""

NODE_FAMILIES = _read("node")

FAMILIES: dict[str, Family] = {item.name: item for item in (*CARD_FAMILIES.values(), *NODE_FAMILIES.values())}
"""Every family by its full name."""
