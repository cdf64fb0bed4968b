"""Ratios from the GPU performance monitor (Hopper and newer): two samples, and what lies between them."""

from collections.abc import Iterator
from typing import Any

from cockpit_exporter.driver import CallFailed, Nvml
from cockpit_exporter.model import Value
from cockpit_exporter.reads import MIB

_RATIOS = (
    (1, "engine_active_ratio"),
    (2, "sm_active_ratio"),
    (3, "sm_occupancy_ratio"),
    (5, "tensor_active_ratio"),
    (10, "dram_active_ratio"),
)
_RATES = (
    (20, "pcie_transmit_bytes_per_second"),
    (21, "pcie_receive_bytes_per_second"),
    (60, "nvlink_receive_bytes_per_second"),
    (61, "nvlink_transmit_bytes_per_second"),
)
_METRICS = tuple((one, family, 0.01) for one, family in _RATIOS) + tuple(
    (one, family, MIB) for one, family in _RATES
)


class Gpm:
    """Sample pairs of one card and its GPU instances. Used by one thread at a time."""

    def __init__(self, nvml: Nvml) -> None:
        self._nvml = nvml
        self._samples: dict[int | None, list[Any]] = {}  # by GPU instance, None: the card; [old, new]
        self._seen: set[int | None] = set()

    def is_supported(self, handle: Any) -> bool:
        """Raises CallFailed where the driver has no GPM at all."""
        return bool(self._nvml.call("nvmlGpmQueryDeviceSupport", handle).isSupportedDevice)

    def values(self, handle: Any, instance: int | None = None) -> Iterator[Value]:
        """What happened since the last call for this card or instance; nothing the first time."""
        pair = self._samples.get(instance)
        if pair is None:
            pair = [self._nvml.call("nvmlGpmSampleAlloc")]
            self._samples[instance] = pair
            pair.append(self._nvml.call("nvmlGpmSampleAlloc"))
        elif len(pair) == 1:
            pair.append(self._nvml.call("nvmlGpmSampleAlloc"))
        pair.reverse()  # the newest becomes the older one
        if instance is None:
            self._nvml.call("nvmlGpmSampleGet", handle, pair[1])
        else:
            self._nvml.call("nvmlGpmMigSampleGet", handle, instance, pair[1])
        if instance in self._seen:
            yield from self._between(pair[0], pair[1])
        self._seen.add(instance)

    def _between(self, older: Any, newer: Any) -> Iterator[Value]:
        asked = self._nvml.c_nvmlGpmMetricsGet_t()
        asked.version = self._nvml.NVML_GPM_METRICS_GET_VERSION
        asked.numMetrics = len(_METRICS)
        asked.sample1, asked.sample2 = older, newer
        for place, (metric, _, _) in enumerate(_METRICS):
            asked.metrics[place].metricId = metric
        self._nvml.call("nvmlGpmMetricsGet", asked)
        for place, (_, family, factor) in enumerate(_METRICS):
            one = asked.metrics[place]
            if one.nvmlReturn == 0 and one.value == one.value and one.value >= 0:
                yield Value(family, one.value * factor)

    def keep(self, instances: frozenset[int | None]) -> None:
        """Free the samples of all but these."""
        for gone in [sample for sample in self._samples if sample not in instances]:
            self._free(gone)

    def close(self) -> None:
        for sample in list(self._samples):
            self._free(sample)

    def _free(self, instance: int | None) -> None:
        self._seen.discard(instance)
        for sample in self._samples.pop(instance, ()):
            if sample:  # no null pointer
                try:
                    self._nvml.call("nvmlGpmSampleFree", sample)
                except CallFailed:
                    continue  # the driver that lent it is gone, and its memory with it
