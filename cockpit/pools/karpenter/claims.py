"""NodeClaims that we make ourselves, from the NodePool that they are of.

One without the pool's label would be in no pool: no limit, no consolidation, and it would stay until
somebody deletes it. So ours has label, owner and hash of its pool, as those that Karpenter makes: it counts
against the limits, and goes once it idles. Sources: karpenter pkg/apis/v1/nodeclaim.go, labels.go,
pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cockpit.model.plan import Call
from cockpit.model.pool import PoolObject
from cockpit.pools.capacity import CapacityWish, own_metadata

PATH = "/apis/karpenter.sh/v1/nodeclaims"
_HASHES = ("karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version")
_SPEC = ("nodeClassRef", "taints", "startupTaints", "expireAfter", "terminationGracePeriod")


def claim_calls(pool: Mapping[str, Any], wish: CapacityWish, names: Sequence[str]) -> tuple[Call, ...]:
    """One POST for each name. `pool` is the NodePool as the API gave it."""
    meta, template = pool["metadata"], pool["spec"].get("template") or {}
    own, given = own_metadata(wish), template.get("metadata") or {}
    notes, spec = meta.get("annotations") or {}, template.get("spec") or {}
    name = str(meta["name"])
    labels = {**(given.get("labels") or {}), **own["labels"], "karpenter.sh/nodepool": name}
    annotations = {
        **(given.get("annotations") or {}),
        **own["annotations"],
        **{key: notes[key] for key in _HASHES if key in notes},
    }
    requirements = [
        *(spec.get("requirements") or ()),
        *(
            {"key": key, "operator": "In", "values": [str(value)]}
            for key, value in labels.items()
            if _is_asked(key)
        ),
    ]
    owner = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "name": name,
        "uid": meta["uid"],
        "blockOwnerDeletion": True,
    }
    body = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "spec": {
            **{key: spec[key] for key in _SPEC if key in spec},
            "requirements": requirements,
            "resources": {"requests": {wish.resource: str(wish.gpus)}},
        },
    }
    return tuple(
        Call(
            method="POST",
            path=PATH,
            body={
                **body,
                "metadata": {
                    "name": one,
                    "labels": labels,
                    "annotations": annotations,
                    "ownerReferences": [owner],
                },
            },
            target=f"nodeclaim {one}",
        )
        for one in names
    )


def _is_asked(key: str) -> bool:
    """Karpenter chooses a machine by requirements, so those of the pool's label are among them."""
    return key == "karpenter.sh/nodepool"


def claim_lines(found: PoolObject) -> tuple[str, ...]:
    """What Karpenter does with them, before "yes"."""
    after = found.disruption.after if found.disruption is not None else ""
    idle = {"": "once it idles", "Never": "never on its own"}.get(after, f"once it idles for {after}")
    return (
        "Karpenter starts each at once, waits for no pod, and does not check the limits of the NodePool",
        f"it counts them among its own: one is consolidated {idle}; H on the node keeps it",
    )
