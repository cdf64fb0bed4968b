"""What a drain notes on its node, so that every session sees it, and how far it has come.

Annotations outlive the session that began the drain: who quits leaves the node cordoned and told.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader

PREFIX = "gpu-cockpit/drain"
ID, BY, AT, PODS, AFTER, CORDONED = (
    f"{PREFIX}-{one}" for one in ("id", "by", "at", "pods", "after", "cordoned")
)
KEYS = (ID, BY, AT, PODS, AFTER, CORDONED)
MOST_CHARACTERS = 1000
"""Longer values of annotations are cut where they are decoded."""
_STAYS = ("DaemonSet", "Node")
_AT = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d):\d\dZ")


class DrainMark(msgspec.Struct, frozen=True, kw_only=True):
    """A drain as its node tells it. `pods` are to be evicted in all, `after` names the jobs that it waits
    for."""

    id: str
    by: str = ""  # name@host
    at: str = ""  # as Kubernetes writes a moment, in UTC
    pods: int = 0
    after: tuple[str, ...] = ()
    has_cordoned: bool = False  # the node was schedulable before it

    @property
    def begun(self) -> str:
        """`by ann@bastion at 14:02 UTC`."""
        found = _AT.fullmatch(self.at)
        words = [f"by {self.by}"] if self.by else []
        words += [f"at {found[1]} UTC"] if found else []
        return " ".join(words)

    def annotations(self) -> dict[str, str]:
        """How it is noted."""
        return {
            ID: self.id,
            BY: self.by,
            AT: self.at,
            PODS: str(self.pods),
            AFTER: " ".join(self.after),
            CORDONED: "true" if self.has_cordoned else "false",
        }


def mark_of(node: Node) -> DrainMark | None:
    """The drain that the node is in; None where there is none, or it was made schedulable since."""
    if not node.unschedulable:
        return None
    return _read(dict(node.annotations))


def is_draining(node: Node) -> bool:
    """Whether a drain is noted on the node."""
    return mark_of(node) is not None


def mark_in(tree: Mapping[str, object]) -> DrainMark | None:
    """The same of a node as the server has it now."""
    metadata, spec = tree.get("metadata"), tree.get("spec")
    notes = metadata.get("annotations") if isinstance(metadata, Mapping) else None
    is_cordoned = isinstance(spec, Mapping) and spec.get("unschedulable") is True
    return _read(notes) if is_cordoned and isinstance(notes, Mapping) else None


def _read(notes: Mapping[str, str]) -> DrainMark | None:
    if not notes.get(ID):
        return None
    pods = str(notes.get(PODS, ""))
    return DrainMark(
        id=notes[ID],
        by=notes.get(BY, ""),
        at=notes.get(AT, ""),
        pods=int(pods) if pods.isascii() and pods.isdecimal() and len(pods) < 6 else 0,
        after=tuple(notes.get(AFTER, "").split()),
        has_cordoned=notes.get(CORDONED) == "true",
    )


def still_there(node: str, store: StoreReader) -> list[Pod]:
    """Pods that have yet to leave the node: not finished, and not of DaemonSets or the kubelet."""
    return [one for one in store.pods_on(node) if not one.is_finished and one.owner_kind not in _STAYS]


def progress(node: Node, mark: DrainMark, store: StoreReader) -> str:
    """`drains after team-a/llm-7b`, `draining 3/7`, `drained`."""
    left = still_there(node.name, store)
    if not left:
        return "drained"
    if _waits(mark.after, left):
        more = f" +{len(mark.after) - 1}" if len(mark.after) > 1 else ""
        return f"drains after {mark.after[0]}{more}"
    return f"draining {max(0, mark.pods - len(left))}/{max(mark.pods, len(left))}"


def _waits(after: Iterable[str], left: Iterable[Pod]) -> bool:
    """Whether a pod of one of these jobs is there: named by its labels, its group or its owner."""
    names = set(after)
    return bool(names) and any(
        f"{pod.namespace}/{name}" in names
        for pod in left
        for name in (pod.job_label, pod.gang, pod.owner_name, pod.name)
        if name
    )
