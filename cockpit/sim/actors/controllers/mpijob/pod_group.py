"""The PodGroup of an MPIJob for the coscheduling plugin (scheduling.x-k8s.io/v1alpha1)."""

from typing import Any

from cockpit.k8s.quantity import Quantity, quantity
from cockpit.sim.actors.controllers.mpijob.spec import MpiSpec
from cockpit.sim.actors.controllers.trees import controller_reference
from cockpit.sim.port import Tree
from cockpit.sim.resources import POD_GROUPS


def pod_group(job: Tree, spec: MpiSpec) -> Tree:
    """All workers and the launcher, unless the scheduling policy says otherwise."""
    policy: dict[str, Any] = spec.run_policy.get("schedulingPolicy") or {}
    members = int(policy.get("minAvailable", spec.workers + 1))
    group: Tree = {"minMember": members, "scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds", 0)}
    resources = policy.get("minResources") or _resources(spec, members)
    if resources:
        group["minResources"] = resources
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": job["metadata"]["name"],
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [controller_reference(job)],
        },
        "spec": group,
    }


def _resources(spec: MpiSpec, members: int) -> dict[str, str]:
    """What launcher and as many workers as are needed ask for; requests before limits."""
    total: dict[str, Quantity] = {}
    workers = min(spec.workers, max(0, members - 1)) if members else 0
    for replicas, count in ((spec.launcher, 1 if members else 0), (spec.worker, workers)):
        if replicas is None or not count:
            continue
        for container in replicas["template"]["spec"]["containers"]:
            held: dict[str, Any] = container.get("resources") or {}
            asked = {**(held.get("limits") or {}), **(held.get("requests") or {})}
            for name, text in asked.items():
                one = quantity(text)
                total[name] = total.get(name, Quantity()) + Quantity(one.amount * count, one.form)
    return {name: str(amount) for name, amount in sorted(total.items())}
