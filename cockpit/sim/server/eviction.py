"""Eviction: a delete that disruption budgets allow (pkg/registry/core/pod/storage/eviction.go)."""

import msgspec

from cockpit.sim.port import PortError, Tree
from cockpit.sim.resources import BUDGETS
from cockpit.sim.server.core import Core, WriteOutcome
from cockpit.sim.server.deleting import check_delete, delete
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.patch.managed import update_managed
from cockpit.sim.server.refusals import bad_request, too_many
from cockpit.sim.server.request import DeleteOptions, Request
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.selectors import object_selector
from cockpit.sim.server.storage import Stored

_MANY_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
_RETRY_SECONDS = 10
_BLOCKED = "Cannot evict pod as it would violate the pod's disruption budget."


def evict(core: Core, kind: ServedKind, request: Request, eviction: Tree) -> WriteOutcome:
    """Delete a pod, or refuse: 429 where its budget has none to give, 500 for more than one budget."""
    given = (eviction.get("metadata") or {}).get("name")
    if given and given != request.name:
        raise bad_request("name in URL does not match name in Eviction object")
    stored = core.found(kind, request)
    options = _options(eviction)
    pod = stored.tree
    core.admit(request, eviction, None)
    if _needs_no_budget(pod):
        return _deleted(core, kind, request, options)
    budgets = _budgets(core, pod)
    if len(budgets) > 1:
        raise PortError(500, "InternalError", _MANY_BUDGETS)
    if not budgets:
        return _deleted(core, kind, request, options)
    budget = budgets[0]
    policy = budget.tree["spec"].get("unhealthyPodEvictionPolicy", "IfHealthyBudget")
    if not _is_ready(pod) and _may_go_unready(budget.tree, policy):
        return _deleted(core, kind, request, options)
    spent = _spend(core, request, budget, pod)
    outcome = _deleted(core, kind, request, options)
    if spent is not None and not request.dry_run:
        core.storage.put(BUDGETS, budget.key, spent)
    return outcome


def _options(eviction: Tree) -> DeleteOptions:
    given = eviction.get("deleteOptions") or {}
    held = given.get("preconditions") or {}
    return DeleteOptions(
        uid=held.get("uid") or "",
        version=held.get("resourceVersion") or "",
        grace_seconds=given.get("gracePeriodSeconds"),
        propagation=given.get("propagationPolicy") or "",
    )


def _deleted(core: Core, kind: ServedKind, request: Request, options: DeleteOptions) -> WriteOutcome:
    stored = core.found(kind, request)
    check_delete(kind, request, options, stored.tree)
    if "deletionTimestamp" not in stored.tree["metadata"]:
        marked = {**stored.tree, "metadata": dict(stored.tree["metadata"])}
        marked["status"] = _disrupted(stored.tree.get("status") or {}, core.now)
        options = _at_new_version(options, core.put(kind, stored.key, marked, request))
    outcome = delete(core, kind, request, options)
    return WriteOutcome(outcome.stored, is_created=True, is_final=outcome.is_final, has_object=False)


def _disrupted(status: Tree, now: str) -> Tree:
    """With the condition that says who ended the pod."""
    said = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    others = [one for one in status.get("conditions") or () if one["type"] != said["type"]]
    return {**status, "conditions": [*others, said]}


def _at_new_version(options: DeleteOptions, stored: Stored) -> DeleteOptions:
    """The version asked for was checked; the mark above has moved it on."""
    return msgspec.structs.replace(options, version=str(stored.version)) if options.version else options


def _needs_no_budget(pod: Tree) -> bool:
    """What has ended, has not begun or is ending anyway disturbs nobody."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _budgets(core: Core, pod: Tree) -> list[Stored]:
    labels = pod["metadata"].get("labels") or {}
    found = core.storage.shelf(BUDGETS).between(pod["metadata"]["namespace"])
    return [one for one in found if object_selector(one.tree["spec"].get("selector"))(labels)]


def _is_ready(pod: Tree) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _may_go_unready(budget: Tree, policy: str) -> bool:
    """A pod that is not ready goes always, or while the budget's own are healthy enough."""
    status = budget.get("status") or {}
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    return policy == "AlwaysAllow" or (healthy >= desired > 0)


def _spend(core: Core, request: Request, budget: Stored, pod: Tree) -> Tree | None:
    """The budget with one disruption less. Raises PortError 429 when there is none."""
    tree = budget.tree
    name = tree["metadata"]["name"]
    status = tree.get("status") or {}
    if status.get("observedGeneration", 0) < tree["metadata"].get("generation", 0):
        refusal = _refusal(f"The disruption budget {name} is still being processed by the server.")
        refusal.retry_after_seconds = _RETRY_SECONDS  # type: ignore[attr-defined]
        raise refusal
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise PortError(
            403,
            "Forbidden",
            f'poddisruptionbudgets.policy "{name}" is forbidden: pdb disruptions allowed is negative',
        )
    if allowed == 0:
        needed = status.get("desiredHealthy", 0)
        now = status.get("currentHealthy", 0)
        raise _refusal(f"The disruption budget {name} needs {needed} healthy pods and has {now} currently")
    allowed -= 1
    disrupted = {**(status.get("disruptedPods") or {}), pod["metadata"]["name"]: core.now}
    spent = {**status, "disruptionsAllowed": allowed, "disruptedPods": disrupted}
    spent["conditions"] = _conditions(spent, tree["metadata"].get("generation", 0), core.now)
    fresh = {**tree, "metadata": dict(tree["metadata"]), "status": spent}
    shape = shape_of(BUDGETS.group, BUDGETS.version, BUDGETS.kind)
    return update_managed(tree, fresh, "kube-apiserver", "Update", "status", core.clock.now(), shape)


def _conditions(status: Tree, generation: int, now: str) -> list[Tree]:
    """Whether a disruption is allowed, as the budget's own controller would say it."""
    is_allowed = status["disruptionsAllowed"] > 0
    said: Tree = {
        "type": "DisruptionAllowed",
        "status": "True" if is_allowed else "False",
        "observedGeneration": generation,
        "lastTransitionTime": now,
        "reason": "SufficientPods" if is_allowed else "InsufficientPods",
        "message": "",
    }
    others = []
    for held in status.get("conditions") or ():
        if held["type"] != said["type"]:
            others.append(held)
        elif held["status"] == said["status"]:
            said["lastTransitionTime"] = held["lastTransitionTime"]
    return [*others, said]


def _refusal(why: str) -> PortError:
    return too_many(_BLOCKED, [{"reason": "DisruptionBudget", "message": why}])
