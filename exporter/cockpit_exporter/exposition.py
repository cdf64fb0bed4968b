"""The exporter's own names as prometheus_client families. Pure: one Seen gives one page."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.metrics_core import Metric

from cockpit_exporter.attribution import Holder
from cockpit_exporter.families import CARD_FAMILIES, NODE_FAMILIES, Family
from cockpit_exporter.model import Card, Instance, Process
from cockpit_exporter.seen import Seen, instance_label, pci_address

Labels = dict[str, str]


class MetricsPage:
    """Families in the order of their first sample."""

    def __init__(self) -> None:
        self._found: dict[str, Metric] = {}

    def add(self, family: Family, labels: Mapping[str, str], value: float) -> None:
        metric = self._found.get(family.name)
        if metric is None:
            # prometheus_client wants counters without their suffix and knows none that never had it: those of
            # dcgm-exporter's names go as of unknown type (see dcgm_names.encoding)
            name = family.name.removesuffix("_total") if family.kind == "counter" else family.name
            kind = family.kind if family.kind == "gauge" or name != family.name else "unknown"
            metric = self._found[family.name] = Metric(name, family.help, kind)
        metric.add_sample(family.name, labels, value)  # type: ignore[arg-type]  # any mapping will do

    def metrics(self) -> Iterator[Metric]:
        yield from self._found.values()


def page(seen: Seen) -> Iterable[Metric]:
    """All families with the names of families.py."""
    found = MetricsPage()
    add_node(found, seen, "cockpit")
    for card in seen.snapshot.cards:
        _add_card(found, seen, card)
    return found.metrics()


def add_node(found: MetricsPage, seen: Seen, names: str) -> None:
    """What is said of the node and of the exporter itself."""

    def add(name: str, value: float, **labels: str) -> None:
        found.add(NODE_FAMILIES[name], labels, value)

    snapshot, attribution = seen.snapshot, seen.attribution
    add("cockpit_exporter_info", 1.0, version=seen.version, names=names)
    add("cockpit_nvml_up", float(not snapshot.reason), reason=snapshot.reason)
    versions = snapshot.versions
    if versions.driver:
        add("cockpit_gpu_driver_info", 1.0, driver=versions.driver, nvml=versions.nvml, cuda=versions.cuda)
    if not snapshot.reason:
        add("cockpit_gpus", float(sum(card.down != "missing" for card in snapshot.cards)))
    add(
        "cockpit_attribution_up",
        float(attribution.is_up),
        source=attribution.source,
        reason=attribution.reason,
    )
    if attribution.age_seconds is not None:
        add("cockpit_attribution_age_seconds", attribution.age_seconds)
    if attribution.slices_reason is not None:
        reason = attribution.slices_reason
        add("cockpit_attribution_slices_up", float(not reason), reason=reason)
    if seen.joined is not None:
        add("cockpit_attribution_unmatched", float(len(seen.joined.unmatched)))
    add("cockpit_exporter_snapshot_age_seconds", max(0.0, seen.now_seconds - snapshot.taken_seconds))
    add("cockpit_exporter_collect_seconds", snapshot.round_seconds, collector="nvml")
    add("cockpit_exporter_rounds_total", float(snapshot.rounds))
    add("cockpit_exporter_hung_calls", float(snapshot.hung_calls))
    for (function, error), count in sorted(snapshot.failure_counts.items()):
        add("cockpit_exporter_call_failures_total", float(count), function=function, error=error)


def _device_labels(seen: Seen, card: Card) -> Labels:
    device = card.device
    return {
        "gpu": str(device.index),
        "uuid": device.uuid,
        "device": "" if device.minor is None else f"nvidia{device.minor}",
        "model": device.model,
        "node": seen.node,
        "pci_bus_id": pci_address(device.pci_bus_id),
    }


def _holder_labels(seen: Seen, holders: tuple[Holder, ...]) -> Labels:
    """Of one holder; empty where there is none or several, absent if unknown. Processes alone show
    which pods use a card, and never that it is free."""
    if seen.joined is None or (not holders and seen.attribution.source == "off"):
        return {}
    one = holders[0] if len(holders) == 1 else Holder("", "", "", "")
    return {"namespace": one.namespace, "pod": one.pod, "container": one.container}


def _add_card(found: MetricsPage, seen: Seen, card: Card) -> None:
    device = _device_labels(seen, card)
    holders = seen.holders(card)
    labels = {**device, **_holder_labels(seen, holders)}

    def add(name: str, value: float, **more: str) -> None:
        found.add(CARD_FAMILIES[name], {**labels, **more} if more else labels, value)

    add("up", float(not card.down), reason=card.down)
    add("lost", float(card.is_lost))
    minor = "" if card.device.minor is None else str(card.device.minor)
    add("info", 1.0, serial=card.device.serial, minor=minor, mig_mode=card.mig_mode)
    for failure in sorted(set(card.failures)):
        add("read_failed", 1.0, function=failure.function, error=failure.error)
    _add_xids(found, seen, card, labels)
    _add_holders(found, seen, (card.device.uuid, ""), device, holders)
    if card.down:
        return
    add("sample_age_seconds", max(0.0, seen.now_seconds - card.sampled_seconds))
    for value in card.values:
        add(value.family, value.value, **dict(value.labels))
    for instance in card.instances:
        _add_instance(found, seen, card, instance, device)
    _add_processes(found, seen, card, device)


def _add_instance(found: MetricsPage, seen: Seen, card: Card, one: Instance, device: Labels) -> None:
    own = {
        **device,
        "mig_profile": one.profile,
        "mig_instance": instance_label(card, one),
        "mig_uuid": one.uuid,
    }
    holders = seen.holders(card, one)
    labels = {**own, **_holder_labels(seen, holders)}
    for value in one.values:
        found.add(CARD_FAMILIES[value.family], {**labels, **dict(value.labels)}, value.value)
    _add_holders(found, seen, (card.device.uuid, one.uuid), own, holders)


def _add_holders(
    found: MetricsPage, seen: Seen, unit: tuple[str, str], device: Labels, holders: tuple[Holder, ...]
) -> None:
    """One series for each holder, so that shared cards have all their pods and sums count a card once."""
    for holder in holders:
        labels = {
            **device,
            "namespace": holder.namespace,
            "pod": holder.pod,
            "container": holder.container,
            "source": holder.source,
            "pod_uid": holder.pod_uid,
            "claim": holder.claim,
            "replicas": str(holder.replicas),
        }
        found.add(CARD_FAMILIES["holder"], labels, 1.0)
    if seen.joined is not None and seen.joined.allocatable is not None:
        found.add(CARD_FAMILIES["allocatable"], device, float(unit in seen.joined.allocatable))


def _add_xids(found: MetricsPage, seen: Seen, card: Card, labels: Labels) -> None:
    """Nothing where XIDs are not watched: silence is no health."""
    xid = seen.xids.get(card.device.uuid)
    if xid is None:
        if seen.is_xid_watched and card.device.uuid:
            found.add(CARD_FAMILIES["xid"], labels, 0.0)
        return
    found.add(CARD_FAMILIES["xid"], labels, float(xid.last))
    found.add(CARD_FAMILIES["xid_age_seconds"], labels, max(0.0, seen.now_seconds - xid.last_seconds))
    for code, count in sorted(xid.counts.items()):
        found.add(CARD_FAMILIES["xid_errors_total"], {**labels, "xid": str(code)}, float(count))


def _add_processes(found: MetricsPage, seen: Seen, card: Card, device: Labels) -> None:
    for kind in sorted({process.kind for process in card.processes}):
        count = sum(process.kind == kind for process in card.processes)
        found.add(CARD_FAMILIES["processes"], {**device, "kind": kind}, float(count))
    with_duty: set[int] = set()
    for process in card.processes:
        labels = {**device, **_process_labels(seen, card, process)}
        if process.memory_bytes is not None:
            found.add(
                CARD_FAMILIES["process_memory_bytes"], {**labels, "kind": process.kind}, process.memory_bytes
            )
        if process.duty_ratio is not None and process.pid not in with_duty:
            with_duty.add(process.pid)
            found.add(CARD_FAMILIES["process_duty_ratio"], labels, process.duty_ratio)


def _process_labels(seen: Seen, card: Card, process: Process) -> Labels:
    """The pod by the process's cgroup where names are known, else the only holder of the card or instance."""
    instance = next(
        (instance for instance in card.instances if instance.gpu_instance == process.instance), None
    )
    labels = {"pid": str(process.pid), "name": process.name, "pod_uid": process.pod_uid}
    if instance is not None:
        labels["mig_instance"] = instance_label(card, instance)
    if seen.joined is None:
        return labels
    told = seen.names.get(process.pod_uid)
    if told is not None:
        return {**labels, "namespace": told[0], "pod": told[1]}
    holders = {(holder.namespace, holder.pod) for holder in seen.holders(card, instance)}
    only = next(iter(holders)) if len(holders) == 1 else ("", "")
    return {**labels, "namespace": only[0], "pod": only[1]}
