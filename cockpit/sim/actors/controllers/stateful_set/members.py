"""The pods of a StatefulSet: their names, their claims, and which of them are well.

Source: pkg/controller/statefulset/stateful_set_utils.go.
"""

import re
from typing import NamedTuple

from cockpit.sim.actors.controllers.controller import pod_of_template
from cockpit.sim.actors.controllers.nodes.daemon_sets import HASH_LABEL
from cockpit.sim.actors.controllers.replica_sets import is_available, replicas_of
from cockpit.sim.actors.controllers.trees import is_deleting, is_ready, phase_of
from cockpit.sim.port import Tree

_NAME = re.compile(r"(.*)-([0-9]+)", re.DOTALL)


class StatefulStanding(NamedTuple):
    """A set and its pods at one moment: those that it wants, by ordinal, and those with too high or too low
    an ordinal, the highest first. `now` in seconds since the epoch."""

    tree: Tree
    wanted: dict[int, Tree]
    surplus: list[Tree]
    now: float

    @property
    def is_parallel(self) -> bool:
        """Pods come and go without waiting for each other."""
        return bool(self.tree["spec"].get("podManagementPolicy") == "Parallel")

    @property
    def pods(self) -> list[Tree]:
        """All of them."""
        return [*self.wanted.values(), *self.surplus]

    def is_available(self, pod: Tree) -> bool:
        """Running, and ready for as long as the set asks."""
        least = self.tree["spec"].get("minReadySeconds", 0)
        return phase_of(pod) == "Running" and is_available(pod, least, self.now)

    @property
    def first_unavailable(self) -> Tree | None:
        """The pod with the lowest ordinal that is not available, of the surplus only when all others are;
        None also where that pod has yet to be made."""
        for ordinal in ordinals_of(self.tree):
            pod = self.wanted.get(ordinal)
            if pod is None:
                return None
            if is_deleting(pod) or not self.is_available(pod):
                return pod
        for pod in reversed(self.surplus):
            if is_deleting(pod) or not self.is_available(pod):
                return pod
        return None


def standing(tree: Tree, pods: list[Tree], now: float) -> StatefulStanding:
    """Which of the pods the set wants; pods without an ordinal are left alone."""
    span = ordinals_of(tree)
    wanted: dict[int, Tree] = {}
    surplus: dict[int, Tree] = {}
    for pod in pods:
        parent, ordinal = parent_and_ordinal(pod)
        if parent == tree["metadata"]["name"]:
            (wanted if ordinal in span else surplus)[ordinal] = pod
    return StatefulStanding(
        tree,
        {ordinal: wanted[ordinal] for ordinal in sorted(wanted)},
        [surplus[ordinal] for ordinal in sorted(surplus, reverse=True)],
        now,
    )


def parent_and_ordinal(pod: Tree) -> tuple[str, int]:
    """(name of the set, ordinal) as the pod's name has them; ("", -1) where it has none."""
    found = _NAME.fullmatch(pod["metadata"]["name"])
    return (found[1], int(found[2])) if found else ("", -1)


def first_ordinal(tree: Tree) -> int:
    """`spec.ordinals.start`, 0 where it is not set."""
    return int((tree["spec"].get("ordinals") or {}).get("start", 0))


def ordinals_of(tree: Tree) -> range:
    """The ordinals that the set wants."""
    first = first_ordinal(tree)
    return range(first, first + replicas_of(tree))


def member(tree: Tree, template: Tree, revision: str, ordinal: int) -> Tree:
    """The pod with that ordinal, of that revision's template."""
    name = f"{tree['metadata']['name']}-{ordinal}"
    pod = pod_of_template(tree, template)
    pod["metadata"]["name"] = name
    pod["metadata"].setdefault("labels", {}).update(
        {
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(ordinal),
            HASH_LABEL: revision,
        }
    )
    spec = pod["spec"]
    spec["hostname"] = name
    spec["subdomain"] = tree["spec"].get("serviceName", "")
    claims = {template["metadata"]["name"]: claim for template, claim in _claims(tree, ordinal)}
    own = [
        {"name": volume, "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
        for volume, claim in claims.items()
    ]
    rest = [volume for volume in spec.get("volumes") or () if volume["name"] not in claims]
    if own or rest:
        spec["volumes"] = [*own, *rest]
    return pod


def claims_of(tree: Tree, ordinal: int) -> list[Tree]:
    """The claims of the pod with that ordinal, as they are made."""
    return [claim for _, claim in _claims(tree, ordinal)]


def _claims(tree: Tree, ordinal: int) -> list[tuple[Tree, Tree]]:
    labels = tree["spec"]["selector"].get("matchLabels") or {}
    made = []
    for template in tree["spec"].get("volumeClaimTemplates") or ():
        held = template["metadata"]
        metadata = {
            **held,
            "name": f"{held['name']}-{tree['metadata']['name']}-{ordinal}",
            "namespace": tree["metadata"]["namespace"],
            "labels": {**(held.get("labels") or {}), **labels},
        }
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": template["spec"],
        }
        made.append((template, claim))
    return made


def counts(now: StatefulStanding, current: str, update: str) -> Tree:
    """The counts of a status, given the names of both revisions."""
    ready = [pod for pod in now.pods if phase_of(pod) == "Running" and is_ready(pod)]
    staying = [revision_of(pod) for pod in now.pods if not is_deleting(pod)]
    return {
        "replicas": len(now.pods),
        "readyReplicas": len(ready),
        "availableReplicas": sum(map(now.is_available, ready)),
        "currentReplicas": staying.count(current),
        "updatedReplicas": staying.count(update),
    }


def revision_of(pod: Tree) -> str:
    """Name of the revision that the pod was made from, "" where it does not say."""
    return str((pod["metadata"].get("labels") or {}).get(HASH_LABEL, ""))
