"""Pods: defaults, status at birth, what may change later (pkg/registry/core/pod/strategy.go)."""

from collections.abc import Iterator
from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.pod_rules import pod_spec_faults
from cockpit.sim.server.builtin.pod_spec import complete_spec
from cockpit.sim.server.refusals import Cause, banned, wrong

_FIXED = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
    "(allow it to be set to 1 if it was previously negative)"
)


def complete(pod: Tree) -> Tree:
    """A pod with its defaults."""
    spec = pod.get("spec") or {}
    done = filled(complete_spec(spec), enableServiceLinks=True)
    if (done.get("terminationGracePeriodSeconds") or 0) < 0:
        done = {**done, "terminationGracePeriodSeconds": 1}
    return pod if done is spec else {**pod, "spec": done}


def revise(pod: Tree, old: Tree | None) -> Tree:
    """What a new pod's status says."""
    if old is not None:
        return pod
    spec = pod["spec"]
    status: Tree = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": pod["metadata"]["creationTimestamp"],
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
        status["conditions"] = [gated]
    return {**pod, "status": status}


def quality_of_service(spec: Tree) -> str:
    """Guaranteed, Burstable or BestEffort, by CPU and memory alone."""
    has_any = False
    is_guaranteed = True
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = container.get("resources") or {}
        requests = _basic(resources.get("requests"))
        limits = _basic(resources.get("limits"))
        has_any = has_any or bool(requests or limits)
        if set(limits) != {"cpu", "memory"} or (requests and requests != limits):
            is_guaranteed = False
    if not has_any:
        return "BestEffort"
    return "Guaranteed" if is_guaranteed else "Burstable"


def _basic(amounts: Any) -> Tree:
    given = amounts or {}
    return {name: str(given[name]) for name in ("cpu", "memory") if str(given.get(name, "0")) != "0"}


def check(pod: Tree, old: Tree | None) -> Iterator[Cause]:
    """What is wrong with a pod, or with a change of one."""
    if old is None:
        yield from pod_spec_faults(pod["spec"], "spec")
    elif pod["spec"] is not old["spec"] and pod["spec"] != old["spec"]:
        yield from pod_spec_faults(pod["spec"], "spec")
        yield from _change_faults(pod["spec"], old["spec"])


def _change_faults(spec: Tree, old: Tree) -> Iterator[Cause]:
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(old.get(key) or ()):
            yield banned(f"spec.{key}", "pod updates may not add or remove containers")
            return
    late = spec.get("tolerations") or []
    if any(one not in late for one in old.get("tolerations") or ()):
        yield banned(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )
        return
    gates = [one["name"] for one in old.get("schedulingGates") or ()]
    for index, one in enumerate(spec.get("schedulingGates") or ()):
        if one["name"] not in gates:
            why = f"only deletion is allowed, but found new scheduling gate '{one['name']}'"
            yield banned(f"spec.schedulingGates[{index}].name", why)
    if not _same_but_images(spec, old):
        yield banned("spec", _FIXED)


def _same_but_images(spec: Tree, old: Tree) -> bool:
    free = ("containers", "initContainers", "activeDeadlineSeconds", "tolerations", "schedulingGates")
    if any(spec.get(key) != old.get(key) for key in {**spec, **old} if key not in free):
        return False
    gates = [one["name"] for one in spec.get("schedulingGates") or ()]
    if any(one not in [held["name"] for held in old.get("schedulingGates") or ()] for one in gates):
        return False
    for key in ("containers", "initContainers"):
        now, before = spec.get(key) or [], old.get(key) or []
        if len(now) != len(before):
            return False
        for one, other in zip(now, before, strict=True):
            if {**one, "image": ""} != {**other, "image": ""}:
                return False
    return True


def check_status(pod: Tree, old: Tree | None) -> Iterator[Cause]:
    """The class of service stands; the server takes what a kubelet says of a pod's phase."""
    held = ((old or {}).get("status") or {}).get("qosClass")
    given = (pod.get("status") or {}).get("qosClass")
    if held and given != held:
        yield wrong("status.qosClass", given, "field is immutable")
