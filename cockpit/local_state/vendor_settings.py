"""The part of the configuration that names accelerators of vendors that are not built in.

```toml
[accelerators.Tensorwave]
resource = "tensorwave.example/chip"
model-label = "tensorwave.example/model"
duty = "tw_utilization %"           # name and unit of the series
memory-used = "tw_memory_used MiB"
```
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from cockpit.k8s.gpu_resources import is_built_in
from cockpit.local_state.cloud_settings import SettingsReader
from cockpit.local_state.setting_list import VENDOR, names
from cockpit.model.accelerator_vendor import AcceleratorVendor, VendorMetric

_MEMORY: Final = {"bytes": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30}
UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "duty": {"%": 0.01, "ratio": 1.0},
    "memory-used": _MEMORY,
    "memory-free": _MEMORY,
    "memory-total": _MEMORY,
    "temperature": {"C": 1.0, "mC": 0.001},
    "power": {"W": 1.0, "mW": 0.001},
    "clock": {"Hz": 1.0, "MHz": 1e6},
}
"""The units in which a quantity may be printed, with the factor to the base unit. A duty in % is 0 to 100, a
ratio 0 to 1."""
_QUANTITIES: Final = {"clock": "sm_clock"}
_WORD: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_KEY: Final = re.compile(f"{_DOMAIN}/{_WORD}")
_LABEL: Final = re.compile(f"({_DOMAIN}/)?{_WORD}")
_VALUE: Final = re.compile(_WORD)
_SERIES: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_SERIES_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_PORT: Final = 65_535


def read_vendors(reader: SettingsReader, tree: Mapping[str, Any]) -> tuple[AcceleratorVendor, ...]:
    """The vendors of the table `accelerators`. Raises BadInput for what cannot be used."""
    found: list[AcceleratorVendor] = []
    for name in tree:
        vendor = _vendor(reader, reader.table(tree, name, "accelerators"), name)
        _refuse_twice(reader, vendor, found)
        found.append(vendor)
    return tuple(found)


def _vendor(reader: SettingsReader, tree: Mapping[str, Any], name: str) -> AcceleratorVendor:
    section = f'accelerators."{name}"'
    reader.refuse_unknown(tree, names(VENDOR), section)

    def text(key: str, shape: re.Pattern[str], example: str) -> str:
        value = reader.text(tree, key, section)
        if value and not shape.fullmatch(value):
            raise reader.fault(key, section, f"give {example}, not {value!r}")
        return value

    found = AcceleratorVendor(
        name=name,
        resource="",
        model_label=text("model-label", _LABEL, "the name of a node's label"),
        count_label=text("count-label", _LABEL, "the name of a node's label"),
        card_label=text("card-label", _SERIES_LABEL, "the name of a label of its series, such as device"),
        exporter=text("exporter", _VALUE, "the value of app.kubernetes.io/name of its exporter's pods"),
        port=_port(reader, tree, section),
        metrics=tuple(_metric(reader, tree, key, section) for key in UNITS if key in tree),
    )
    return msgspec.structs.replace(found, resource=_resource(reader, tree, section))


def _resource(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> str:
    """Without it the rest of the table means nothing, so it is looked at last."""
    value = reader.text(tree, "resource", section)
    if not _KEY.fullmatch(value):
        fault = "give the extended resource that counts its devices, such as vendor.example/chip"
        what = f"{fault}, not {value!r}" if value else fault
        raise reader.fault("resource", section, what, rules_table=True)
    if is_built_in(value):
        fault = f"{value} is built in; leave the table out"
        raise reader.fault("resource", section, fault, rules_table=True)
    return value


def _port(reader: SettingsReader, tree: Mapping[str, Any], section: str) -> int:
    value = tree.get("exporter-port", AcceleratorVendor(name="", resource="").port)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_PORT:
        raise reader.fault("exporter-port", section, f"give a port from 1 to {_MOST_PORT}, not {value!r}")
    return value


def _metric(reader: SettingsReader, tree: Mapping[str, Any], key: str, section: str) -> VendorMetric:
    name, _, unit = reader.text(tree, key, section).partition(" ")
    units = UNITS[key]
    if not _SERIES.fullmatch(name) or unit not in units:
        what = f'give the name of a series and its unit, as in "chip_x {next(iter(units))}"'
        raise reader.fault(key, section, f"{what}; units: {', '.join(units)}")
    return VendorMetric(_QUANTITIES.get(key, key.replace("-", "_")), name, units[unit])


def _refuse_twice(reader: SettingsReader, vendor: AcceleratorVendor, others: list[AcceleratorVendor]) -> None:
    """Raise BadInput for a resource or series that means two things."""
    section = f'accelerators."{vendor.name}"'
    if any(other.resource == vendor.resource for other in others):
        raise reader.fault("resource", section, f"{vendor.resource} is named by another vendor above")
    seen = {metric.name for other in others for metric in other.metrics}
    for metric in vendor.metrics:
        if metric.name in seen:
            key = metric.quantity.removeprefix("sm_").replace("_", "-")
            raise reader.fault(key, section, f"{metric.name} is read as something else already")
        seen.add(metric.name)
