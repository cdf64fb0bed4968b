"""The smaller kinds: nodes, namespaces, services, config maps, secrets, volumes, priority classes."""

import binascii
import re
import string
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from ipaddress import IPv4Address

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import each, filled
from cockpit.sim.server.builtin.services import with_affinity
from cockpit.sim.server.refusals import Cause, bad_request, banned, duplicate, too_long, unsupported, wrong

_NAME_LABEL = "kubernetes.io/metadata.name"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_FIRST_ADDRESS = int(IPv4Address("10.96.0.10"))
_ADDRESSES = 2**20 - 16
_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII).fullmatch
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_BASE64 = frozenset(string.ascii_letters + string.digits + "+/\r\n")
_LINE_BREAKS = str.maketrans("", "", "\r\n")
_MOST_DATA_BYTES = 1024 * 1024
"""Of all values of a config map or secret together (core.MaxSecretSize)."""
_HIGHEST_USER_PRIORITY = 1_000_000_000


def empty_status(tree: Tree, old: Tree | None) -> Tree:
    """A new object has a status that says nothing."""
    return tree if old is not None else {**tree, "status": {}}


def pending_status(tree: Tree, old: Tree | None) -> Tree:
    """A new volume or claim waits."""
    return tree if old is not None else {**tree, "status": {"phase": "Pending"}}


def complete_node(node: Tree) -> Tree:
    """What a node has can be allocated, unless it says otherwise."""
    spec = node.get("spec") or {}
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        node = {**node, "spec": {**spec, "podCIDRs": [spec["podCIDR"]]}}
    capacity = (node.get("status") or {}).get("capacity")
    if not capacity or (node.get("status") or {}).get("allocatable") is not None:
        return node
    return {**node, "status": {**node["status"], "allocatable": capacity}}


def revise_volume(volume: Tree, old: Tree | None) -> Tree:
    """A new volume waits, since now."""
    if old is not None:
        return volume
    now = volume["metadata"]["creationTimestamp"]
    return {**volume, "status": {"phase": "Pending", "lastPhaseTransitionTime": now}}


def revise_node(node: Tree, old: Tree | None) -> Tree:
    """A new node is tainted until its kubelet is ready (admission plugin TaintNodesByCondition)."""
    if old is not None:
        return node
    spec = node.get("spec") or {}
    taints = spec.get("taints") or []
    has_it = any(one["key"] == _NOT_READY["key"] and one["effect"] == "NoSchedule" for one in taints)
    return {**node, "spec": spec if has_it else {**spec, "taints": [*taints, _NOT_READY]}}


def check_node(node: Tree, old: Tree | None) -> Iterator[Cause]:
    """No taint twice; the range of its pods stands once it is given."""
    spec = node.get("spec") or {}
    if old is not None and spec is old.get("spec"):
        return
    # The real server looks at the taints of a changed node twice.
    for _ in range(1 if old is None else 2):
        yield from _taint_faults(spec.get("taints") or ())
    held = ((old or {}).get("spec") or {}).get("podCIDR")
    if held and spec.get("podCIDR") != held:
        yield banned("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    held = ((old or {}).get("spec") or {}).get("providerID")
    if held and spec.get("providerID") != held:
        yield banned("spec.providerID", 'node updates may not change providerID except from "" to valid')


def _taint_faults(taints: Sequence[Tree]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        pair = (taint.get("key", ""), taint.get("effect", ""))
        if pair[1] not in _EFFECTS:
            yield unsupported(f"metadata.taints[{index}].effect", pair[1], _EFFECTS)
        if pair in seen:
            yield _second_taint(f"metadata.taints[{index}]", taint)
        seen.add(pair)


def _second_taint(field: str, taint: Tree) -> Cause:
    shown = {
        "Key": taint.get("key", ""),
        "Value": taint.get("value", ""),
        "Effect": taint.get("effect", ""),
        "TimeAdded": taint.get("timeAdded"),
    }
    cause = duplicate(field, shown)
    return {**cause, "message": f"{cause['message']}: taints must be unique by key and effect pair"}


def complete_namespace(space: Tree) -> Tree:
    """Its name as a label."""
    metadata = space["metadata"]
    name = metadata.get("name", "")
    if name and (metadata.get("labels") or {}).get(_NAME_LABEL) != name:
        labels = {**(metadata.get("labels") or {}), _NAME_LABEL: name}
        space = {**space, "metadata": {**metadata, "labels": labels}}
    return space


def revise_namespace(space: Tree, old: Tree | None) -> Tree:
    """Its finalizer and its phase."""
    if old is None:
        space = {
            **complete_namespace(space),
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
    return space


def end_namespace(space: Tree, now: str) -> Tree:
    """It takes nothing new, and waits until it is empty."""
    return {**space, "status": {**(space.get("status") or {}), "phase": "Terminating"}}


def service_addresses() -> Callable[[Tree, Tree | None], Tree]:
    """Gives every new service the next address of 10.96.0.0/12, one after the other."""
    count = 0

    def revise(service: Tree, old: Tree | None) -> Tree:
        nonlocal count
        if old is not None:
            given = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
            if service["spec"].get("type") == "ExternalName":
                left = {key: value for key, value in service["spec"].items() if key not in given}
                return {**service, "spec": left}
            kept = {key: old["spec"][key] for key in given if key in old["spec"]}
            return {**service, "spec": {**kept, **service["spec"]}}
        spec = service["spec"]
        if spec["type"] != "ExternalName" and "clusterIP" not in spec:
            address = str(IPv4Address(_FIRST_ADDRESS + count % _ADDRESSES))
            count += 1
            spec = {**spec, "clusterIP": address}
        if "clusterIP" in spec:
            # Without addresses and without pods of its own a service is for both families.
            is_bare = spec["clusterIP"] == "None" and not spec.get("selector")
            spec = filled(
                spec,
                clusterIPs=[spec["clusterIP"]],
                ipFamilies=["IPv4", "IPv6"] if is_bare else ["IPv4"],
                ipFamilyPolicy="RequireDualStack" if is_bare else "SingleStack",
            )
        return {**service, "spec": spec, "status": {"loadBalancer": {}}}

    return revise


def complete_service(service: Tree) -> Tree:
    """Type, ports, families."""
    spec = filled(service.get("spec") or {}, type="ClusterIP", sessionAffinity="None")
    if spec["type"] != "ExternalName":
        spec = filled(spec, internalTrafficPolicy="Cluster")
    spec = with_affinity(each(spec, "ports", _service_port))
    return {**service, "spec": spec}


def _service_port(port: Tree) -> Tree:
    port = filled(port, protocol="TCP")
    return port if port.get("targetPort") else {**port, "targetPort": port.get("port", 0)}


def _fixed_faults(tree: Tree, old: Tree | None, parts: tuple[str, ...]) -> Iterator[Cause]:
    if old is None or not old.get("immutable"):
        return
    why = "field is immutable when `immutable` is set"
    if not tree.get("immutable"):
        yield banned("immutable", why)
    for part in parts:
        if tree.get(part) != old.get(part):
            yield banned(part, why)


def complete_config_map(tree: Tree) -> Tree:
    """Its binary data on one line each. Raises PortError 400 for binary data that is not base64."""
    return _with_bytes(tree, "binaryData", "ConfigMap")


def _with_bytes(tree: Tree, part: str, kind: str) -> Tree:
    """A tree whose base64 in `part` is as the server writes it; line breaks are read over, as Go does."""
    data = tree.get(part) or {}
    written = {key: _written(value or "", kind) for key, value in data.items()}
    return tree if written == data or not any(data.values()) else {**tree, part: written}


def _written(text: str, kind: str) -> str:
    try:
        return b64encode(b64decode(text.translate(_LINE_BREAKS), validate=True)).decode()
    except (binascii.Error, TypeError, ValueError) as error:
        at = next((n for n, char in enumerate(text) if char not in _BASE64), len(text))
        why = f"illegal base64 data at input byte {at}"
        raise bad_request(f'{kind} in version "v1" cannot be handled as a {kind}: {why}') from error


def check_config_map(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Keys that can be file names."""
    yield from _fixed_faults(tree, old, ("data", "binaryData"))
    for part in ("data", "binaryData"):
        for key in tree.get(part) or {}:
            if not _KEY(key):
                yield wrong(f"{part}[{key}]", key, _KEY_TEXT)
            if part == "data" and key in (tree.get("binaryData") or {}):
                yield wrong(f"data[{key}]", key, "duplicate of key present in binaryData")
    text_bytes = sum(len((value or "").encode()) for value in (tree.get("data") or {}).values())
    if text_bytes + _decoded_bytes(tree.get("binaryData") or {}) > _MOST_DATA_BYTES:
        yield too_long("", _MOST_DATA_BYTES)


def _decoded_bytes(data: Tree) -> int:
    """How many bytes the values are, without decoding them."""
    return sum(len(text) // 4 * 3 - text[-2:].count("=") for text in data.values() if text)


def complete_limits(tree: Tree) -> Tree:
    """No limits are null."""
    spec = tree.get("spec") or {}
    return tree if spec.get("limits") else {**tree, "spec": {**spec, "limits": None}}


def complete_secret(secret: Tree) -> Tree:
    """Its type; what was given as text becomes data. Raises PortError 400 for data that is not base64."""
    secret = _with_bytes(filled(secret, type="Opaque"), "data", "Secret")
    texts = secret.get("stringData")
    if texts is None:
        return secret
    data = {key: b64encode(text.encode()).decode() for key, text in texts.items()}
    secret = {key: value for key, value in secret.items() if key != "stringData"}
    return {**secret, "data": {**(secret.get("data") or {}), **data}}


def check_secret(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Keys that can be file names; a type that stays."""
    yield from _fixed_faults(tree, old, ("data",))
    for key in tree.get("data") or {}:
        if not _KEY(key):
            yield wrong(f"data[{key}]", key, _KEY_TEXT)
    if _decoded_bytes(tree.get("data") or {}) > _MOST_DATA_BYTES:
        yield too_long("data", _MOST_DATA_BYTES)
    if old is not None and tree.get("type") != old.get("type"):
        yield wrong("type", tree.get("type"), "field is immutable")


def complete_claim(claim: Tree) -> Tree:
    """A claim is for a file system."""
    return {**claim, "spec": filled(claim.get("spec") or {}, volumeMode="Filesystem")}


def complete_volume(volume: Tree) -> Tree:
    """A volume is a file system and is kept when nobody claims it."""
    spec = volume.get("spec") or {}
    if "hostPath" in spec:
        spec = {**spec, "hostPath": filled(spec["hostPath"], type="")}
    return {**volume, "spec": filled(spec, volumeMode="Filesystem", persistentVolumeReclaimPolicy="Retain")}


def complete_storage_class(tree: Tree) -> Tree:
    """Volumes are deleted with their claims and bound at once."""
    return filled(tree, reclaimPolicy="Delete", volumeBindingMode="Immediate")


def complete_priority_class(tree: Tree) -> Tree:
    """It may preempt."""
    return filled(tree, preemptionPolicy="PreemptLowerPriority", value=0)


def check_priority_class(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """Users' priorities end at a thousand million, and a value stands."""
    name, value = tree["metadata"].get("name", ""), tree.get("value", 0)
    if old is not None:
        if value != old.get("value", 0):
            yield banned("value", "may not be changed in an update.")
        return
    if name.startswith("system-"):
        if name not in ("system-node-critical", "system-cluster-critical"):
            why = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {name} is not a known system priority class"
            )
            yield banned("metadata.name", why)
    elif value > _HIGHEST_USER_PRIORITY:
        why = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
        yield banned("value", why)
