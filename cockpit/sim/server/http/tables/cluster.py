"""Rows of what belongs to the cluster: nodes, namespaces, events, volumes, classes, leases, budgets."""

from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Printer,
    TableColumn,
    age,
    part,
    since,
)

_ROLE = "node-role.kubernetes.io/"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _node_status(tree: Tree) -> str:
    conditions = part(tree, "status").get("conditions") or ()
    words = [
        "Ready" if one.get("status") == "True" else "NotReady"
        for one in conditions
        if one.get("type") == "Ready"
    ] or ["Unknown"]
    if part(tree, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(tree: Tree) -> str:
    found = set()
    for key, value in (part(tree, "metadata").get("labels") or {}).items():
        if key.startswith(_ROLE) and key != _ROLE:
            found.add(key.removeprefix(_ROLE))
        elif key == "kubernetes.io/role" and value:
            found.add(value)
    return ",".join(sorted(found)) or NONE


def _address(tree: Tree, kind: str) -> str:
    for one in part(tree, "status").get("addresses") or ():
        if one.get("type") == kind:
            return str(one.get("address"))
    return NONE


def _node(tree: Tree, now_seconds: float) -> list[Any]:
    info = part(tree, "status", "nodeInfo")
    kernel, architecture = info.get("kernelVersion"), info.get("architecture")
    return [
        tree["metadata"]["name"],
        _node_status(tree),
        _roles(tree),
        age(tree, now_seconds),
        info.get("kubeletVersion", ""),
        _address(tree, "InternalIP"),
        _address(tree, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if kernel and architecture else kernel or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _named_age(tree: Tree, now_seconds: float) -> list[Any]:
    return [tree["metadata"]["name"], age(tree, now_seconds)]


def _phase(tree: Tree, now_seconds: float) -> list[Any]:
    return [tree["metadata"]["name"], part(tree, "status").get("phase", ""), age(tree, now_seconds)]


def _event(tree: Tree, now_seconds: float) -> list[Any]:
    about = tree.get("involvedObject") or tree.get("regarding") or {}
    source = tree.get("source") or tree.get("deprecatedSource") or {}
    component = source.get("component") or tree.get("reportingComponent") or tree.get("reportingController")
    first = tree.get("firstTimestamp") or tree.get("deprecatedFirstTimestamp") or tree.get("eventTime")
    last = tree.get("lastTimestamp") or tree.get("deprecatedLastTimestamp") or first
    count = tree.get("count") or tree.get("deprecatedCount") or 1
    series = tree.get("series") or {}
    if series:
        last, count = series.get("lastObservedTime") or last, series.get("count") or count
    target = about.get("name", "")
    if about.get("kind"):
        target = f"{about['kind'].lower()}/{target}"
    message = str(tree.get("message") or tree.get("note") or "").strip()
    host = source.get("host") or tree.get("reportingInstance")
    return [
        since(last, now_seconds),
        tree.get("type", ""),
        tree.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        ", ".join(word for word in (component, host) if word),
        message,
        since(first, now_seconds),
        count,
        tree["metadata"]["name"],
    ]


def _modes(modes: Any) -> str:
    return ",".join(_MODES.get(one, one) for one in dict.fromkeys(modes or ()))


def _claim(tree: Tree, now_seconds: float) -> list[Any]:
    spec, status = part(tree, "spec"), part(tree, "status")
    phase, capacity, modes = status.get("phase", ""), "", ""
    if part(tree, "metadata").get("deletionTimestamp"):
        phase = "Terminating"
    if spec.get("volumeName"):
        capacity, modes = str(part(status, "capacity").get("storage", "0")), _modes(status.get("accessModes"))
    return [
        tree["metadata"]["name"],
        phase,
        spec.get("volumeName", ""),
        capacity,
        modes,
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        age(tree, now_seconds),
        spec.get("volumeMode") or UNSET,
    ]


def _volume(tree: Tree, now_seconds: float) -> list[Any]:
    spec, status = part(tree, "spec"), part(tree, "status")
    claim = spec.get("claimRef") or {}
    phase = "Terminating" if part(tree, "metadata").get("deletionTimestamp") else status.get("phase", "")
    return [
        tree["metadata"]["name"],
        str(part(spec, "capacity").get("storage", "0")),
        _modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        phase,
        f"{claim['namespace']}/{claim['name']}" if claim else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or UNSET,
        status.get("reason", ""),
        age(tree, now_seconds),
        spec.get("volumeMode") or UNSET,
    ]


def _budget(tree: Tree, now_seconds: float) -> list[Any]:
    spec = part(tree, "spec")
    bounds = (spec.get("minAvailable"), spec.get("maxUnavailable"))
    return [
        tree["metadata"]["name"],
        *("N/A" if one is None else str(one) for one in bounds),
        part(tree, "status").get("disruptionsAllowed") or 0,
        age(tree, now_seconds),
    ]


def _lease(tree: Tree, now_seconds: float) -> list[Any]:
    return [
        tree["metadata"]["name"],
        part(tree, "spec").get("holderIdentity") or "",
        age(tree, now_seconds),
    ]


def _priority(tree: Tree, now_seconds: float) -> list[Any]:
    return [
        tree["metadata"]["name"],
        tree.get("value") or 0,
        bool(tree.get("globalDefault")),
        age(tree, now_seconds),
        tree.get("preemptionPolicy", ""),
    ]


def _storage_class(tree: Tree, now_seconds: float) -> list[Any]:
    name = tree["metadata"]["name"]
    notes = part(tree, "metadata").get("annotations") or {}
    if notes.get("storageclass.kubernetes.io/is-default-class") == "true":
        name = f"{name} (default)"
    return [
        name,
        tree.get("provisioner", ""),
        tree.get("reclaimPolicy") or "Delete",
        tree.get("volumeBindingMode") or "Immediate",
        bool(tree.get("allowVolumeExpansion")),
        age(tree, now_seconds),
    ]


def _quantities(status: Tree, *, limits: bool) -> str:
    hard, used = status.get("hard") or {}, status.get("used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def _quota(tree: Tree, now_seconds: float) -> list[Any]:
    status = part(tree, "status")
    return [
        tree["metadata"]["name"],
        _quantities(status, limits=False),
        _quantities(status, limits=True),
        age(tree, now_seconds),
    ]


def _scaler(tree: Tree, now_seconds: float) -> list[Any]:
    spec, status = part(tree, "spec"), part(tree, "status")
    target = spec.get("scaleTargetRef") or {}
    least = spec.get("minReplicas")
    return [
        tree["metadata"]["name"],
        f"{target.get('kind', '')}/{target.get('name', '')}",
        UNKNOWN if spec.get("metrics") else NONE,
        UNSET if least is None else str(least),
        spec.get("maxReplicas") or 0,
        status.get("currentReplicas") or 0,
        age(tree, now_seconds),
    ]


def _columns(
    *names: str, wide: tuple[str, ...] = (), integers: tuple[str, ...] = ()
) -> tuple[TableColumn, ...]:
    """Columns by name; "Name" and "Age" are the usual ones."""
    usual = {"Name": NAME, "Age": AGE}
    shown = [usual.get(one) or TableColumn(one, "integer" if one in integers else "string") for one in names]
    return (
        *shown,
        *(TableColumn(one, "integer" if one in integers else "string", priority=1) for one in wide),
    )


NODES = Printer(
    _columns(
        *("Name", "Status", "Roles", "Age", "Version"),
        wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    _node,
)
NAMESPACES = Printer(_columns("Name", "Status", "Age"), _phase)
EVENTS = Printer(
    (
        *_columns("Last Seen", "Type", "Reason", "Object"),
        *_columns(wide=("Subobject", "Source")),
        TableColumn("Message"),
        *_columns(wide=("First Seen", "Count")),
        TableColumn("Name", format="name", priority=1),
    ),
    _event,
)
CLAIMS = Printer(
    _columns(
        *("Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass"),
        *("VolumeAttributesClass", "Age"),
        wide=("VolumeMode",),
    ),
    _claim,
)
VOLUMES = Printer(
    _columns(
        *("Name", "Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass"),
        *("VolumeAttributesClass", "Reason", "Age"),
        wide=("VolumeMode",),
    ),
    _volume,
)
BUDGETS = Printer(
    _columns(
        *("Name", "Min Available", "Max Unavailable", "Allowed Disruptions", "Age"),
        integers=("Allowed Disruptions",),
    ),
    _budget,
)
LEASES = Printer(_columns("Name", "Holder", "Age"), _lease)
PRIORITY_CLASSES = Printer(
    (
        *(NAME, TableColumn("Value", "integer"), TableColumn("Global-Default", "boolean"), AGE),
        TableColumn("PreemptionPolicy"),
    ),
    _priority,
)
STORAGE_CLASSES = Printer(
    (
        *(NAME, TableColumn("Provisioner"), TableColumn("ReclaimPolicy"), TableColumn("VolumeBindingMode")),
        *(TableColumn("AllowVolumeExpansion"), AGE),
    ),
    _storage_class,
)
QUOTAS = Printer(_columns("Name", "Request", "Limit", "Age"), _quota)
SCALERS = Printer(
    _columns(
        *("Name", "Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"),
        integers=("MaxPods", "Replicas"),
    ),
    _scaler,
)
PLAIN = Printer(_columns("Name", "Age"), _named_age)
