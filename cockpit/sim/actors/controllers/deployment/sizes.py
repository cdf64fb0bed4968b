"""How many pods each ReplicaSet of a Deployment may have: surge, unavailability, proportions."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from cockpit.sim.actors.controllers.replica_sets import replicas_of
from cockpit.sim.actors.controllers.trees import created_seconds
from cockpit.sim.port import Tree

HASH_LABEL = "pod-template-hash"
REVISION_KEY = "deployment.kubernetes.io/revision"
DESIRED_KEY = "deployment.kubernetes.io/desired-replicas"
MAXIMUM_KEY = "deployment.kubernetes.io/max-replicas"

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def is_rolling(deployment: Tree) -> bool:
    """True for RollingUpdate, the default."""
    strategy: Tree = deployment["spec"].get("strategy") or {}
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def scaled(value: int | str, total: int, *, rounds_up: bool) -> int:
    """An IntOrString of a total: `25%` of it, or the number."""
    if isinstance(value, str):
        if not value.endswith("%"):
            return int(value)
        part = int(value[:-1]) * total / 100
        return math.ceil(part) if rounds_up else math.floor(part)
    return value


def _fences(deployment: Tree) -> tuple[int, int]:
    """(max surge, max unavailable) in pods; never both 0."""
    rolling: Tree = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    total = replicas_of(deployment)
    surge = scaled(rolling.get("maxSurge", "25%"), total, rounds_up=True)
    unavailable = scaled(rolling.get("maxUnavailable", "25%"), total, rounds_up=False)
    return (surge, unavailable if surge or unavailable else 1)


def max_surge(deployment: Tree) -> int:
    """How many pods more than wanted may exist."""
    return _fences(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Tree) -> int:
    """How many of the wanted pods may be missing."""
    total = replicas_of(deployment)
    return min(_fences(deployment)[1], total) if is_rolling(deployment) and total else 0


def total_replicas(sets: Iterable[Tree]) -> int:
    """What the sets want in sum."""
    return sum(map(replicas_of, sets))


def total_status(sets: Iterable[Tree], count: str) -> int:
    """The sum of one count of their statuses."""
    return sum(tree.get("status", {}).get(count, 0) for tree in sets)


def new_set_size(deployment: Tree, sets: Iterable[Tree], current: int) -> int:
    """How large the new ReplicaSet may be at once."""
    wanted = replicas_of(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - total_replicas(sets)
    return current if room <= 0 else current + min(room, wanted - current)


def shares(deployment: Tree, sets: Sequence[Tree]) -> dict[str, int]:
    """New sizes when a Deployment is scaled in the middle of a rollout: each set in proportion."""
    wanted = replicas_of(deployment)
    allowed = wanted + max_surge(deployment) if wanted else 0
    change = allowed - total_replicas(sets)
    newest_first = change > 0
    ordered = sorted(
        sets,
        key=lambda tree: (
            -replicas_of(tree),
            -created_seconds(tree) if newest_first else created_seconds(tree),
            tree["metadata"]["name"],
        ),
    )
    sizes: dict[str, int] = {}
    added = 0
    for tree in ordered:
        part = _share(deployment, tree, change, added)
        sizes[tree["metadata"]["name"]] = replicas_of(tree) + part
        added += part
    if ordered and change:
        first = ordered[0]["metadata"]["name"]
        sizes[first] = max(0, sizes[first] + change - added)
    return sizes


def _share(deployment: Tree, tree: Tree, change: int, added: int) -> int:
    size = replicas_of(tree)
    if size == 0 or change in (0, added):
        return 0
    if replicas_of(deployment) == 0:
        part = -size
    else:
        before = annotated(tree, MAXIMUM_KEY) or deployment.get("status", {}).get("replicas", 0)
        if not before:
            return 0
        part = _rounded(size * (replicas_of(deployment) + max_surge(deployment)) / before) - size
    return min(part, change - added) if change > 0 else max(part, change - added)


def _rounded(value: float) -> int:
    return math.floor(value + 0.5)


def annotated(tree: Tree, key: str) -> int | None:
    """A number in an annotation."""
    text = (tree["metadata"].get("annotations") or {}).get(key, "")
    return int(text) if text.isdigit() else None


def template_without_hash(template: Tree) -> Tree:
    """A pod template as the Deployment has it."""
    metadata: dict[str, Any] = dict(template.get("metadata") or {})
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != HASH_LABEL}
    kept = {name: value for name, value in {**metadata, "labels": labels}.items() if value}
    return {**template, "metadata": kept}


def template_hash(template: Tree, collisions: int) -> str:
    """A short name for a template: FNV-1a of its JSON in letters that spell nothing."""
    value = 2166136261
    for byte in json.dumps([template, collisions], sort_keys=True).encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(value))
