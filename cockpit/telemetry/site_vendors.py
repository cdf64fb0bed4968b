"""Exporters of vendors that a site's configuration names, beside those of `exporters.toml`."""

from collections.abc import Iterable

from cockpit.errors import BadInput
from cockpit.model.accelerator_vendor import AcceleratorVendor
from cockpit.telemetry import exporters, labels
from cockpit.telemetry.names import MEANINGS, SAMPLED_AT, SLOTS, ExporterFamily, GpuMetric, Meaning

_declared: list[AcceleratorVendor] = []


def declare(vendors: Iterable[AcceleratorVendor]) -> None:
    """Have these read from now on, and none that was declared before.

    Raises BadInput, and changes nothing, for a series that is known as something else.
    """
    wanted = list(vendors)
    own = {metric.name for vendor in _declared for metric in vendor.metrics}
    for vendor in wanted:
        for metric in vendor.metrics:
            if (known := MEANINGS.get(metric.name)) is not None and metric.name not in own:
                raise BadInput(
                    f'accelerators."{vendor.name}": series {metric.name} is read as {known.quantity.value} of'
                    f" {known.source.value} already: leave it out"
                )
    for name in own:
        del MEANINGS[name]
    SAMPLED_AT[:] = [name for name in SAMPLED_AT if name not in own]
    for vendor in _declared:
        exporters.PORTS.pop(vendor.exporter, None)
    _declared[:] = wanted
    trust = tuple(ExporterFamily).index(ExporterFamily.SITE)
    for vendor in wanted:
        for metric in vendor.metrics:
            quantity = GpuMetric[metric.quantity.upper()]
            MEANINGS[metric.name] = Meaning(
                quantity, metric.factor, ExporterFamily.SITE, SLOTS[quantity], trust
            )
        SAMPLED_AT.extend(metric.name for metric in vendor.metrics[:1])
        if vendor.exporter:
            exporters.PORTS.setdefault(vendor.exporter, vendor.port)
    labels.SITE_EXPORTERS[:] = [vendor.exporter for vendor in wanted if vendor.exporter]
    labels.SITE_CARDS[:] = dict.fromkeys(vendor.card_label for vendor in wanted if vendor.card_label)
