"""May these pods use this flavor: its taints against their tolerations, its labels against their selectors.

Only label keys that some flavor of the same group carries count; others are the scheduler's business.
Source: kueue pkg/scheduler/flavorassigner/flavorassigner.go, flavorSelector.
"""

from collections.abc import Mapping

from cockpit.k8s.admission.admission_specs import FlavorSpec, Tree
from cockpit.k8s.node_affinity import required_terms_of
from cockpit.k8s.selectors import holds
from cockpit.k8s.tolerations import HARD, is_tolerated, taint_of, tolerations_of


def untolerated(flavor: FlavorSpec, pod_spec: Tree) -> Tree | None:
    """The first taint of the flavor that keeps these pods away."""
    tolerations = tolerations_of([*(pod_spec.get("tolerations") or ()), *flavor.tolerations])
    for taint in flavor.taints:
        if taint.get("effect") in HARD and not is_tolerated(taint_of(taint), tolerations):
            return taint
    return None


def taint_text(taint: Tree) -> str:
    """A taint as Go prints core/v1 Taint: `{key value effect <nil>}`."""
    added = taint.get("timeAdded") or "<nil>"
    return f"{{{taint.get('key', '')} {taint.get('value', '')} {taint.get('effect', '')} {added}}}"


def affinity_matches(pod_spec: Tree, keys: frozenset[str], labels: Mapping[str, str]) -> bool:
    """True when the pods' node selector and required node affinity allow nodes with these labels."""
    for key, value in (pod_spec.get("nodeSelector") or {}).items():
        if key in keys and labels.get(key) != value:
            return False
    kept = []
    for term in required_terms_of(pod_spec) or ():
        wanted = [item for item in term.expressions if item.key in keys]
        if not wanted:  # terms are alternatives: one that says nothing here lets every flavor in
            return True
        kept.append(wanted)
    return not kept or any(all(holds(item, labels) for item in term) for term in kept)
