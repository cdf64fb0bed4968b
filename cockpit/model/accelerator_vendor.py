"""A vendor of accelerators as a site's configuration names it."""

import msgspec


class VendorMetric(msgspec.Struct, frozen=True):
    """One quantity of a card: the raw name of its series, and what makes base units of the value.

    `quantity`: duty, memory_used, memory_free, memory_total, temperature, power or sm_clock.
    """

    quantity: str
    name: str
    factor: float


class AcceleratorVendor(msgspec.Struct, frozen=True, kw_only=True):
    """What nodes, pods and exporters call the vendor's accelerators; "" where the site has no such thing."""

    name: str
    resource: str  # extended resource that counts devices
    model_label: str = ""  # of nodes
    count_label: str = ""  # of nodes: devices that there are to be
    card_label: str = ""  # of series: tells a node's cards apart
    exporter: str = ""  # value of app.kubernetes.io/name, app or k8s-app of its pods
    port: int = 9400
    metrics: tuple[VendorMetric, ...] = ()
