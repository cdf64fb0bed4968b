"""podFailurePolicy: what a rule makes of a failed pod (pkg/controller/job/pod_failure_policy.go)."""

from dataclasses import dataclass
from typing import Any

from cockpit.sim.actors.controllers.job.spec import ReadJobSpec
from cockpit.sim.actors.controllers.trees import is_deleting, key_of, phase_of
from cockpit.sim.port import Tree


@dataclass(frozen=True, slots=True)
class Ruling:
    """Whether the failure counts; the sentence that fails the Job ("" none); whether it fails its index."""

    counts: bool = True
    fails_job: str = ""
    fails_index: bool = False


def is_failed(pod: Tree, spec: ReadJobSpec) -> bool:
    """A failed pod; one that was deleted on its way counts as well, unless only failed ones are replaced."""
    if phase_of(pod) == "Failed":
        return True
    return not spec.only_replaces_failed and is_deleting(pod) and phase_of(pod) != "Succeeded"


def judge(pod: Tree, spec: ReadJobSpec) -> Ruling:
    """The first rule that matches decides; without one the failure counts."""
    for place, rule in enumerate(spec.failure_rules or ()):
        sentence = _match(pod, rule, place)
        if not sentence:
            continue
        match rule["action"]:
            case "Ignore":
                return Ruling(counts=False)
            case "FailJob":
                return Ruling(fails_job=sentence)
            case "FailIndex":
                return Ruling(fails_index=True)
            case _:
                return Ruling()
    return Ruling()


def _match(pod: Tree, rule: Tree, place: int) -> str:
    """What matched, as the sentence of the Failed condition; "" for nothing."""
    where = "/".join(key_of(pod))
    status: dict[str, Any] = pod.get("status", {})
    if rule.get("onExitCodes") is not None:
        for group in ("containerStatuses", "initContainerStatuses"):
            for held in status.get(group) or ():
                code = _matching_code(held, rule["onExitCodes"])
                if code is not None:
                    return (
                        f"Container {held['name']} for pod {where} failed with exit code {code} "
                        f"matching {rule['action']} rule at index {place}"
                    )
    for condition in status.get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if condition["type"] == pattern["type"] and condition["status"] == pattern.get("status", "True"):
                type_ = condition["type"]
                return f"Pod {where} has condition {type_} matching {rule['action']} rule at index {place}"
    return ""


def _matching_code(held: Tree, wanted: Tree) -> int | None:
    terminated = (held.get("state") or {}).get("terminated")
    if terminated is None or wanted.get("containerName") not in (None, held["name"]):
        return None
    code = int(terminated.get("exitCode", 0))
    if code == 0:
        return None
    is_in = code in (wanted.get("values") or ())
    return code if is_in == (wanted["operator"] == "In") else None
