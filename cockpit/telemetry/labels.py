"""Which card, node and pod a series speaks of: every exporter's label names and what scrapes do to them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeNames:
    """What the cluster says about names, as a snapshot; empty where nothing is known yet.

    `nodes` are node names, `node_by_ip` internal addresses; `pod_node` tells the node of an exporter's pod
    by `namespace/name`.
    """

    nodes: frozenset[str] = frozenset()
    node_by_ip: Mapping[str, str] = field(default_factory=dict)
    pod_node: Mapping[str, str] = field(default_factory=dict)


class PodOnCard(NamedTuple):
    """The pod on a card as the labels tell. `is_told` is False where the exporter maps no pods."""

    namespace: str
    pod: str
    container: str
    is_told: bool


NOBODY = PodOnCard("", "", "", True)
UNTOLD = PodOnCard("", "", "", False)

UUIDS = ("UUID", "uuid", "gpu_uuid", "serial_number", "accelerator_id", "deviceuuid", "vdie_id", "hw_id")
"""Labels that name a card wherever it is."""
NUMBERED = ("neuroncore", "instance_id", "instance_type", "id")
"""Labels that number a part of a node, of exporters that name no card (`_numbered`)."""
SITE_CARDS: list[str] = []
"""The same of exporters that the site's configuration names (`site_vendors`)."""
SITE_EXPORTERS: list[str] = []
"""Names of those exporters, which their pods' names hold."""
HOSTS = (
    "Hostname",
    "hostname",
    "exported_node",
    "node",
    "node_name",
    "nodename",
    "kubernetes_node",
    "host",
    "exported_instance",
)
"""Labels that name a node, the most trusted first."""
_INDEX = ("gpu", "index", "minor_number", "gpu_index", "gpu_id", "deviceidx", "id")
_MODEL = ("modelName", "model_name", "model", "product", "card_series", "dev_name")
_CORES = {"inf1": 4, "inf2": 2, "trn1": 2, "trn1n": 2}
"""Cores of a device, by the family of AWS' machine types (awsdocs-neuron, Neuron architecture); of others a
core stands for itself."""
_PROFILE = ("GPU_I_PROFILE", "mig_profile")
_INSTANCE = ("GPU_I_ID", "mig_instance")
_MOST_DIGITS = 6
_DEVICE_NUMBER = re.compile(r"nvidia([0-9]{1,6})$")
EXPORTERS = "dcgm|exporter|xpumanager|xpumd|device-plugin|neuron-monitor|all-smi|node-agent|prometheus"
"""Words by which an exporter's own pod or container is known, in any case."""
_EXPORTER = re.compile(EXPORTERS, re.IGNORECASE)


def first(labels: Labels, names: tuple[str, ...]) -> str:
    """The first of these labels that is not empty."""
    for name in names:
        value = labels.get(name)
        if value:
            return value
    return ""


def uuid_of(labels: Labels) -> str:
    return labels.get("UUID") or first(labels, UUIDS) or _of_site(labels) or _numbered(labels)


def _of_site(labels: Labels) -> str:
    told = first(labels, tuple(SITE_CARDS)) if SITE_CARDS else ""
    return f"card-{told}" if told.isdecimal() else told


def _numbered(labels: Labels) -> str:
    """A name for what is only numbered on its node: the device of a Neuron core, a chip of an older
    npu-exporter. The round adds the node where several have one of this name."""
    core = labels.get("neuroncore", "")
    if core.isascii() and core.isdigit() and len(core) <= _MOST_DIGITS:
        return f"{labels.get('instance_id') or 'neuron'}-{_device_of(labels, int(core))}"
    chip = labels.get("id", "")
    return f"npu-{chip}" if chip.isascii() and chip.isdigit() and len(chip) <= _MOST_DIGITS else ""


def _device_of(labels: Labels, core: int) -> int:
    return core // _CORES.get(labels.get("instance_type", "").partition(".")[0], 1)


def instance_of(labels: Labels) -> str:
    """The MIG instance's id on its card, "" for a whole card."""
    return first(labels, _INSTANCE)


def profile_of(labels: Labels) -> str:
    return first(labels, _PROFILE)


def model_of(labels: Labels, label: str = "") -> str:
    """The model as the exporter writes it (some under an unusual label), blanks as dashes so that it reads
    like the node's label."""
    return "-".join((first(labels, _MODEL) or labels.get(label, "")).split())


def index_of(labels: Labels) -> int | None:
    """The card's number on its node, None where no label tells."""
    for name in (*_INDEX, *SITE_CARDS):
        told = labels.get(name, "")
        if told.isascii() and told.isdigit() and len(told) <= _MOST_DIGITS:
            return int(told)
    core = labels.get("neuroncore", "")
    if core.isascii() and core.isdigit() and len(core) <= _MOST_DIGITS:
        return _device_of(labels, int(core))
    match = _DEVICE_NUMBER.match(labels.get("device", ""))
    return int(match[1]) if match else None


def node_of(labels: Labels, places: NodeNames) -> str:
    """The node's name. A host label that names no node (an exporter without NODE_NAME tells its pod) is
    resolved through the exporter's pod or address."""
    for label in HOSTS:
        value = labels.get(label)
        if value and value in places.nodes:
            return value
    told = [value for name in HOSTS if (value := labels.get(name))]
    if not places.nodes:
        return told[0] if told else host_of_instance(labels)
    for name in told:
        short = name.split(".", 1)[0]
        if short in places.nodes:
            return short
    exporter = f"{labels.get('namespace', '')}/{labels.get('pod', '')}"
    through_pod = places.pod_node.get(exporter)
    if through_pod:
        return through_pod
    host = host_of_instance(labels)
    return (
        places.node_by_ip.get(host) or (host if host in places.nodes else "") or (told[0] if told else host)
    )


def is_placed(labels: Labels, places: NodeNames) -> bool:
    """True where a host label names a node that the cluster knows: nothing else is needed to find it."""
    told = [value for name in HOSTS if (value := labels.get(name))]
    return any(name in places.nodes or name.split(".", 1)[0] in places.nodes for name in told)


def host_of_instance(labels: Labels) -> str:
    """`instance` without its port: 10.0.0.7:9400, [fd00::7]:9400, node-3:9400."""
    instance = labels.get("instance", "")
    if instance.startswith("["):
        return instance[1:].split("]", 1)[0]
    return instance.rsplit(":", 1)[0] if instance.count(":") == 1 else instance


def holder_of(labels: Labels) -> PodOnCard:
    """The pod that holds the card.

    Under a scrape with honorLabels: false the exporter's own labels carry the prefix `exported_`, and plain
    `pod` is the exporter's pod. Free cards have the attributes empty or not at all.
    """
    if "exported_pod" in labels or "exported_namespace" in labels or "exported_container" in labels:
        pod = labels.get("exported_pod", "")
        if not pod:
            return NOBODY
        return PodOnCard(
            labels.get("exported_namespace", ""), pod, labels.get("exported_container", ""), True
        )
    if labels.get("kube_pod"):  # Intel's exporter prints it for allocated cards only
        return PodOnCard(
            labels.get("kube_namespace", ""), labels["kube_pod"], labels.get("kube_container", ""), True
        )
    if "pod" in labels and not is_exporter(labels):
        pod = labels["pod"]
        if not pod:
            return NOBODY
        return PodOnCard(labels.get("namespace", ""), pod, labels.get("container", ""), True)
    if "pod_name" in labels:
        pod = labels["pod_name"]
        if not pod:
            return NOBODY
        namespace = first(labels, ("pod_namespace", "namespace_name", "exported_namespace", "namespace"))
        return PodOnCard(namespace, pod, first(labels, ("container_name", "container")), True)
    return UNTOLD


def is_exporter(labels: Labels) -> bool:
    """True where `pod` is the exporter's own: its name or its container says so."""
    told = [labels.get(name, "") for name in ("pod", "container")]
    return any(_EXPORTER.search(name) or any(own in name for own in SITE_EXPORTERS) for name in told)
