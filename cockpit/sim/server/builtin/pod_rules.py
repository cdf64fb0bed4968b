"""What a pod's spec must say, for pods and templates (pkg/apis/core/validation/validation.go)."""

from collections.abc import Iterable, Iterator
from decimal import Decimal

from cockpit.k8s.quantity import quantity
from cockpit.sim.port import Tree
from cockpit.sim.server.names import label_faults, subdomain_faults
from cockpit.sim.server.refusals import Cause, duplicate, required, unsupported, wrong

_RESTARTS = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PROBES = ("exec", "grpc", "httpGet", "tcpSocket")
_OPERATORS = ("Equal", "Exists")
_PULLS = ("Always", "IfNotPresent", "Never")


def pod_spec_faults(spec: Tree, field: str) -> Iterator[Cause]:
    """What is wrong with a spec that stands at `field`."""
    yield from _volume_faults(spec.get("volumes") or [], field)
    if not spec.get("containers"):
        yield required(f"{field}.containers")
    names: set[str] = set()
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    for part in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            yield from _container_faults(container, f"{field}.{part}[{index}]", names, volumes)
    if spec.get("restartPolicy") not in _RESTARTS:
        yield unsupported(f"{field}.restartPolicy", spec.get("restartPolicy"), _RESTARTS)
    if spec.get("dnsPolicy") not in _DNS:
        yield unsupported(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    if spec.get("dnsPolicy") == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        why = "must provide `dnsConfig` when `dnsPolicy` is None"
        yield required(f"{field}.dnsConfig", why)
    if (node := spec.get("nodeName")) is not None:
        for fault in subdomain_faults(node) if node else ():
            yield wrong(f"{field}.nodeName", node, fault)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        why = "must be between 1 and 2147483647, inclusive"
        yield wrong(f"{field}.activeDeadlineSeconds", deadline, why)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        operator = toleration.get("operator")
        if operator and operator not in _OPERATORS:
            yield unsupported(f"{field}.tolerations[{index}].operator", operator, _OPERATORS)


def _volume_faults(volumes: list[Tree], field: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        name = volume.get("name", "")
        if not name:
            yield required(f"{field}.volumes[{index}].name")
            continue
        for fault in label_faults(name):
            yield wrong(f"{field}.volumes[{index}].name", name, fault)
        if name in seen:
            yield duplicate(f"{field}.volumes[{index}].name", name)
        seen.add(name)
        yield from _item_faults(volume, f"{field}.volumes[{index}]")


def _item_faults(volume: Tree, field: str) -> Iterator[Cause]:
    """Files of a volume lie inside it."""
    projected = volume.get("projected") or {}
    sources = [(field, volume)]
    for number, one in enumerate(projected.get("sources") or ()):
        sources.append((f"{field}.projected.sources[{number}]", one))
    for where, source in sources:
        for kind in ("configMap", "secret", "downwardAPI"):
            for index, item in enumerate((source.get(kind) or {}).get("items") or ()):
                at = f"{where}.{kind}.items[{index}].path"
                yield from _path_faults(item.get("path", ""), at, is_file=True)


def _path_faults(path: str, field: str, *, is_file: bool = False) -> Iterator[Cause]:
    """A path that leads downwards; no file begins with two dots, as the kubelet's own do."""
    if path.startswith("/"):
        yield wrong(field, path, "must be a relative path")
    if ".." in path.split("/"):
        yield wrong(field, path, "must not contain '..'")
    elif is_file and path.startswith(".."):
        yield wrong(field, path, "must not start with '..'")


def _container_faults(
    container: Tree, field: str, names: set[str], volumes: set[str | None]
) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{field}.name")
    else:
        for fault in label_faults(name):
            yield wrong(f"{field}.name", name, fault)
        if name in names:
            yield duplicate(f"{field}.name", name)
        names.add(name)
    image = container.get("image", "")
    if not image:
        yield required(f"{field}.image")
    elif image != image.strip():
        yield wrong(f"{field}.image", image, "must not have leading or trailing whitespace")
    if (pull := container.get("imagePullPolicy")) not in _PULLS:
        yield unsupported(f"{field}.imagePullPolicy", pull, _PULLS)
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key)
        if probe is not None and not any(one in probe for one in _PROBES):
            yield required(f"{field}.{key}", "must specify a handler type")
    yield from _mount_faults(container.get("volumeMounts") or (), f"{field}.volumeMounts", volumes)
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield required(f"{field}.env[{index}].name")
    yield from _port_faults(container.get("ports") or [], field)
    yield from resource_faults(container.get("resources") or {}, f"{field}.resources")


def _mount_faults(mounts: Iterable[Tree], field: str, volumes: set[str | None]) -> Iterator[Cause]:
    for index, mount in enumerate(mounts):
        if mount.get("name") not in volumes:
            yield {
                "reason": "FieldValueNotFound",
                "message": f'Not found: "{mount.get("name", "")}"',
                "field": f"{field}[{index}].name",
            }
        if not mount.get("mountPath"):
            yield required(f"{field}[{index}].mountPath")
        for key in ("subPath", "subPathExpr"):
            # without the index: that is how the real server names it
            yield from _path_faults(mount.get(key) or "", f"{field}.{key}")


def _port_faults(ports: list[Tree], field: str) -> Iterator[Cause]:
    for index, port in enumerate(ports):
        for key in ("containerPort", "hostPort"):
            number = port.get(key)
            if not number and key == "containerPort":
                yield required(f"{field}.ports[{index}].containerPort")
            elif number and not 1 <= number <= 65535:
                why = "must be between 1 and 65535, inclusive"
                yield wrong(f"{field}.ports[{index}].{key}", number, why)


def resource_faults(resources: Tree, field: str) -> Iterator[Cause]:
    """Requests within limits; devices whole, and never requested without a limit."""
    limits = resources.get("limits") or {}
    requests = resources.get("requests") or {}
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, text in amounts.items():
            amount = amount_of(text)
            where = f"{field}.{part}[{name}]"
            if amount is not None and amount < 0:
                yield wrong(where, text, "must be greater than or equal to 0")
            elif amount is not None and _is_device(name) and amount % 1:
                yield wrong(where, text, "must be an integer")
    for name, text in requests.items():
        asked = amount_of(text)
        limit = amount_of(limits[name]) if name in limits else None
        if limit is None:
            if _is_device(name):
                yield required(f"{field}.limits", "Limit must be set for non overcommitable resources")
        elif asked is not None and _is_device(name) and asked != limit:
            yield wrong(f"{field}.requests", text, f"must be equal to {name} limit of {limits[name]}")
        elif asked is not None and asked > limit:
            why = f"must be less than or equal to {name} limit of {limits[name]}"
            yield wrong(f"{field}.requests", text, why)


def _is_device(name: str) -> bool:
    """Extended resources: with a domain that is not Kubernetes' own."""
    return "/" in name and not name.startswith("requests.") and "kubernetes.io/" not in name


def amount_of(text: object) -> Decimal | None:
    """A quantity as a number; None for what is not a valid one."""
    try:
        return quantity(text).amount
    except ValueError:
        return None
