"""The same numbers under dcgm-exporter's names, for dashboards that know only those. Pure.

A: names and units up to 4.8.4 (etc/default-counters.csv), label `Hostname`. C: names and units since 4.9.0,
label `hostname`; its further labels could not be checked and are those of A without the driver's version.
Families that a generation has no known name for are left out. As with dcgm-exporter's virtual-GPU option a
shared card has its series once for each pod: count UUIDs, not series.

Its counters lack the suffix `_total`, which OpenMetrics demands of a counter. So these pages are text of
version 0.0.4 for every scraper, as dcgm-exporter's own are: there a counter may have any name.
"""

import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cockpit_exporter.attribution import Holder
from cockpit_exporter.exposition import MetricsPage, add_node
from cockpit_exporter.families import CARD_FAMILIES, Family, Kind
from cockpit_exporter.model import Card, Instance, Value
from cockpit_exporter.seen import Seen, instance_label, pci_address

Generation = Literal["A", "C"]


class Name(NamedTuple):
    """A name, what one of its units is worth in ours, and the type that dcgm-exporter declares."""

    name: str
    unit: float
    kind: Kind


class Names(NamedTuple):
    """One number under both generations; None where a generation has no known name."""

    a: Name | None
    c: Name | None


def _names(kind: Kind, a: str, unit: float, c: str) -> Names:
    return Names(Name(a, unit, kind) if a else None, Name(c, 1.0, kind) if c else None)


TABLE: dict[tuple[str, ...], Names] = {
    tuple(key): _names(kind, a, unit, c)
    for key, kind, unit, a, c in tomllib.loads(
        Path(__file__).with_name("dcgm_table.toml").read_text(encoding="utf-8")
    )["rows"]
}
"""By our family and the values of its labels (without the link's: links are added up)."""

XID = _names("gauge", "DCGM_FI_DEV_XID_ERRORS", 1.0, "DCGM_FI_DEV_XID_ERROR")
"""The last code, not a count."""


def page(seen: Seen, generation: Generation) -> Iterable[Metric]:
    """Families of dcgm-exporter's names, and those of the node and of the exporter itself."""
    found = MetricsPage()
    add_node(found, seen, f"dcgm {generation}")
    for card in seen.snapshot.cards:
        if not card.down:
            _add_card(found, seen, card, generation)
    return found.metrics()


def names(generation: Generation) -> frozenset[str]:
    """All names that a page of this generation may have."""
    told = (_pick(item, generation) for item in (*TABLE.values(), XID))
    return frozenset(item.name for item in told if item is not None)


_UNTYPED = re.compile(rb"^(# TYPE \S+) untyped$", re.MULTILINE)


def encoding(accept: str) -> tuple[Callable[[Collector], bytes], str]:
    """How such a page is written, and its content type; independent of the scraper's Accept header."""
    return _typed_text, CONTENT_TYPE_PLAIN_0_0_4


def _typed_text(collector: Collector) -> bytes:
    # the library has no counters without the suffix, so Page hands these over as of unknown type
    return _UNTYPED.sub(rb"\1 counter", generate_latest(collector))


def _pick(both: Names, generation: Generation) -> Name | None:
    return both.a if generation == "A" else both.c


def _labels(seen: Seen, card: Card, instance: Instance | None, generation: Generation) -> dict[str, str]:
    device = card.device
    labels = {
        "gpu": str(device.index),
        "UUID": device.uuid,
        "pci_bus_id": pci_address(device.pci_bus_id),
        "device": "" if device.minor is None else f"nvidia{device.minor}",
        "modelName": device.model,
    }
    if instance is not None:
        labels["GPU_I_PROFILE"] = instance.profile
        labels["GPU_I_ID"] = instance_label(card, instance)
    labels["Hostname" if generation == "A" else "hostname"] = seen.node
    if generation == "A" and seen.snapshot.versions.driver:
        labels["DCGM_FI_DRIVER_VERSION"] = seen.snapshot.versions.driver
    return labels


def _add_card(found: MetricsPage, seen: Seen, card: Card, generation: Generation) -> None:
    values = list(card.values)
    xid = seen.xids.get(card.device.uuid)
    code = xid.last if xid is not None else 0
    for labels in _for_each(seen, card, None, generation):
        _add_values(found, values, labels, generation)
        name = _pick(XID, generation)
        if name is not None and (xid is not None or seen.is_xid_watched):
            family = Family(name.name, name.kind, CARD_FAMILIES["xid"].help)
            found.add(family, {**labels, "err_code": str(code)}, code)
    for instance in card.instances:
        for labels in _for_each(seen, card, instance, generation):
            _add_values(found, instance.values, labels, generation)


def _for_each(
    seen: Seen, card: Card, instance: Instance | None, generation: Generation
) -> Iterable[dict[str, str]]:
    """The labels for each pod on the card, or without a pod."""
    labels = _labels(seen, card, instance, generation)
    holders = seen.holders(card, instance) or (Holder("", "", "", ""),)
    for holder in holders:
        if seen.joined is None or not holder.pod:
            yield labels
            return
        yield {**labels, "container": holder.container, "namespace": holder.namespace, "pod": holder.pod}


def _add_values(
    found: MetricsPage, values: Iterable[Value], labels: dict[str, str], generation: Generation
) -> None:
    sums: dict[tuple[str, ...], float] = {}
    for value in values:
        key = (value.family, *(told for label, told in value.labels if label != "link"))
        sums[key] = sums.get(key, 0.0) + value.value
    for key, total in sums.items():
        both = TABLE.get(key)
        name = _pick(both, generation) if both is not None else None
        if name is not None:
            family = Family(name.name, name.kind, CARD_FAMILIES[key[0]].help)
            found.add(family, labels, _in_unit(total, name.unit))


def _in_unit(value: float, unit: float) -> float:
    """57 percent for 0.57, without the dust of a division."""
    if unit < 1.0:
        return round(value * round(1.0 / unit), 6)
    return value / unit
