"""Cells of `kubectl get` that are more than the value at a path; `columns.txt` names these functions."""

from collections.abc import Mapping, Sequence
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import NONE, UNKNOWN, UNSET, human_duration, joined, part, since
from cockpit.sim.times import seconds_of

_ROLE = "node-role.kubernetes.io/"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
_MOST_ENDPOINTS = 3


def labels_text(labels: Mapping[str, Any] | None) -> str:
    """`a=1,b=2` in the order of the keys, `<none>` for no label."""
    return joined(f"{key}={value}" for key, value in sorted((labels or {}).items()))


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector in the notation of `-l` (apimachinery `FormatLabelSelector`)."""
    if not selector:
        return NONE
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or ():
        key, values = one["key"], ",".join(sorted(one.get("values") or ()))
        written = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append((key, written.get(one["operator"], key)))
    return joined(text for _, text in sorted(parts))


def node_status(tree: Tree, now_seconds: float) -> str:
    conditions = part(tree, "status").get("conditions") or ()
    words = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in conditions
        if condition.get("type") == "Ready"
    ] or ["Unknown"]
    if part(tree, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def node_roles(tree: Tree, now_seconds: float) -> str:
    roles = set()
    for key, value in (part(tree, "metadata").get("labels") or {}).items():
        if key.startswith(_ROLE) and key != _ROLE:
            roles.add(key.removeprefix(_ROLE))
        elif key == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(roles)) or NONE


def internal_address(tree: Tree, now_seconds: float) -> str:
    return _address(tree, "InternalIP")


def external_address(tree: Tree, now_seconds: float) -> str:
    return _address(tree, "ExternalIP")


def _address(tree: Tree, kind: str) -> str:
    addresses = part(tree, "status").get("addresses") or ()
    return next((str(row.get("address")) for row in addresses if row.get("type") == kind), NONE)


def kernel(tree: Tree, now_seconds: float) -> str:
    info = part(tree, "status", "nodeInfo")
    version, architecture = info.get("kernelVersion"), info.get("architecture")
    return f"{version} ({architecture})" if version and architecture else version or UNKNOWN


def event_first(tree: Tree, now_seconds: float) -> str:
    return since(_first_time(tree), now_seconds)


def _first_time(tree: Tree) -> Any:
    return tree.get("firstTimestamp") or tree.get("deprecatedFirstTimestamp") or tree.get("eventTime")


def event_last(tree: Tree, now_seconds: float) -> str:
    last = tree.get("lastTimestamp") or tree.get("deprecatedLastTimestamp") or _first_time(tree)
    return since((tree.get("series") or {}).get("lastObservedTime") or last, now_seconds)


def event_count(tree: Tree, now_seconds: float) -> int:
    count: int = (
        (tree.get("series") or {}).get("count") or tree.get("count") or tree.get("deprecatedCount") or 1
    )
    return count


def event_object(tree: Tree, now_seconds: float) -> str:
    about = tree.get("involvedObject") or tree.get("regarding") or {}
    name: str = about.get("name", "")
    return f"{about['kind'].lower()}/{name}" if about.get("kind") else name


def event_subobject(tree: Tree, now_seconds: float) -> str:
    path: str = (tree.get("involvedObject") or tree.get("regarding") or {}).get("fieldPath", "")
    return path


def event_source(tree: Tree, now_seconds: float) -> str:
    source = tree.get("source") or tree.get("deprecatedSource") or {}
    component = source.get("component") or tree.get("reportingComponent") or tree.get("reportingController")
    host = source.get("host") or tree.get("reportingInstance")
    return ", ".join(word for word in (component, host) if word)


def event_message(tree: Tree, now_seconds: float) -> str:
    return str(tree.get("message") or tree.get("note") or "").strip()


def phase(tree: Tree, now_seconds: float) -> str:
    is_ending = part(tree, "metadata").get("deletionTimestamp")
    return "Terminating" if is_ending else part(tree, "status").get("phase", "")


def _modes(modes: Any) -> str:
    return ",".join(_MODES.get(mode, mode) for mode in dict.fromkeys(modes or ()))


def claim_capacity(tree: Tree, now_seconds: float) -> str:
    is_bound = part(tree, "spec").get("volumeName")
    return str(part(tree, "status", "capacity").get("storage", "0")) if is_bound else ""


def claim_modes(tree: Tree, now_seconds: float) -> str:
    is_bound = part(tree, "spec").get("volumeName")
    return _modes(part(tree, "status").get("accessModes")) if is_bound else ""


def volume_modes(tree: Tree, now_seconds: float) -> str:
    return _modes(part(tree, "spec").get("accessModes"))


def volume_claim(tree: Tree, now_seconds: float) -> str:
    claim = part(tree, "spec").get("claimRef")
    return f"{claim['namespace']}/{claim['name']}" if claim else ""


def quota_requests(tree: Tree, now_seconds: float) -> str:
    return _quantities(part(tree, "status"), limits=False)


def quota_limits(tree: Tree, now_seconds: float) -> str:
    return _quantities(part(tree, "status"), limits=True)


def _quantities(status: Tree, *, limits: bool) -> str:
    hard, used = status.get("hard") or {}, status.get("used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


def storage_class_name(tree: Tree, now_seconds: float) -> str:
    notes = part(tree, "metadata").get("annotations") or {}
    is_default = notes.get("storageclass.kubernetes.io/is-default-class") == "true"
    return f"{tree['metadata']['name']}{' (default)' if is_default else ''}"


def data_count(tree: Tree, now_seconds: float) -> int:
    return len(tree.get("data") or ()) + len(tree.get("binaryData") or ())


def service_address(tree: Tree, now_seconds: float) -> str:
    spec = part(tree, "spec")
    return str((spec.get("clusterIPs") or [spec.get("clusterIP")])[0] or NONE)


def service_external(tree: Tree, now_seconds: float) -> str:
    spec = part(tree, "spec")
    outside = list(spec.get("externalIPs") or ())
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") != "LoadBalancer":
        return ",".join(outside) or NONE
    entries = part(tree, "status", "loadBalancer").get("ingress") or ()
    return (
        ",".join([entry.get("ip") or entry.get("hostname", "") for entry in entries] + outside) or "<pending>"
    )


def service_ports(tree: Tree, now_seconds: float) -> str:
    written = []
    for port in part(tree, "spec").get("ports") or ():
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        written.append(f"{port['port']}{outside}/{port.get('protocol', 'TCP')}")
    return joined(written)


def service_selector(tree: Tree, now_seconds: float) -> str:
    return labels_text(part(tree, "spec").get("selector"))


def slice_ports(tree: Tree, now_seconds: float) -> str:
    return ",".join(str(port.get("port", "*")) for port in tree.get("ports") or ()) or UNSET


def slice_endpoints(tree: Tree, now_seconds: float) -> str:
    found = [address for row in tree.get("endpoints") or () for address in row.get("addresses") or ()]
    more = f" + {len(found) - _MOST_ENDPOINTS} more..." if len(found) > _MOST_ENDPOINTS else ""
    return (",".join(found[:_MOST_ENDPOINTS]) + more) or UNSET


def binding_role(tree: Tree, now_seconds: float) -> str:
    role = tree.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def binding_users(tree: Tree, now_seconds: float) -> str:
    return ", ".join(subject["name"] for subject in _subjects(tree, "User"))


def binding_groups(tree: Tree, now_seconds: float) -> str:
    return ", ".join(subject["name"] for subject in _subjects(tree, "Group"))


def binding_accounts(tree: Tree, now_seconds: float) -> str:
    accounts = _subjects(tree, "ServiceAccount")
    return ", ".join(f"{account.get('namespace', '')}/{account['name']}" for account in accounts)


def _subjects(tree: Tree, kind: str) -> Sequence[Tree]:
    return [subject for subject in tree.get("subjects") or () if subject.get("kind") == kind]


def job_status(tree: Tree, now_seconds: float) -> str:
    conditions = part(tree, "status").get("conditions") or ()
    held = {condition["type"] for condition in conditions if condition.get("status") == "True"}
    ended = [kind for kind in ("Complete", "Failed") if kind in held]
    if not ended and part(tree, "metadata").get("deletionTimestamp"):
        return "Terminating"
    ended += [kind for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet") if kind in held]
    return ended[0] if ended else "Running"


def job_completions(tree: Tree, now_seconds: float) -> str:
    spec, succeeded = part(tree, "spec"), part(tree, "status").get("succeeded") or 0
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def job_duration(tree: Tree, now_seconds: float) -> str:
    status = part(tree, "status")
    started = status.get("startTime")
    if not started:
        return ""
    ended = status.get("completionTime")
    return human_duration((seconds_of(ended) if ended else now_seconds) - seconds_of(started))


def ready_of_wanted(tree: Tree, now_seconds: float) -> str:
    return f"{part(tree, 'status').get('readyReplicas') or 0}/{part(tree, 'spec').get('replicas') or 0}"


def budget_least(tree: Tree, now_seconds: float) -> str:
    return str(part(tree, "spec").get("minAvailable", "N/A"))


def budget_most(tree: Tree, now_seconds: float) -> str:
    return str(part(tree, "spec").get("maxUnavailable", "N/A"))


def template_node_selector(tree: Tree, now_seconds: float) -> str:
    return labels_text(_template(tree).get("nodeSelector"))


def template_containers(tree: Tree, now_seconds: float) -> str:
    return ",".join(container.get("name", "") for container in _template(tree).get("containers") or ())


def template_images(tree: Tree, now_seconds: float) -> str:
    return ",".join(container.get("image", "") for container in _template(tree).get("containers") or ())


def _template(tree: Tree) -> Any:
    return part(tree, "spec", "template", "spec")


def selector(tree: Tree, now_seconds: float) -> str:
    return selector_text(part(tree, "spec", "selector"))
