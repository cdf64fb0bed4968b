"""Cells of `kubectl get` that are more than the value at a path; `columns.txt` names these functions."""

from collections.abc import Mapping
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import NONE, UNKNOWN, human_duration, joined, part, since
from cockpit.sim.times import seconds_of

_ROLE = "node-role.kubernetes.io/"


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


def data_count(tree: Tree, now_seconds: float) -> int:
    return len(tree.get("data") or ()) + len(tree.get("binaryData") or ())


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


def template_containers(tree: Tree, now_seconds: float) -> str:
    return ",".join(container.get("name", "") for container in _template(tree).get("containers") or ())


def template_images(tree: Tree, now_seconds: float) -> str:
    return ",".join(container.get("image", "") for container in _template(tree).get("containers") or ())


def _template(tree: Tree) -> Any:
    return part(tree, "spec", "template", "spec")


def selector(tree: Tree, now_seconds: float) -> str:
    return selector_text(part(tree, "spec", "selector"))
