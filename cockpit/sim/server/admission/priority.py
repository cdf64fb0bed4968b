"""Priority: a pod's class becomes its number (plugin/pkg/admission/priority)."""

from collections.abc import Iterable

from cockpit.sim.port import Tree
from cockpit.sim.resources import PRIORITY_CLASSES
from cockpit.sim.server.admission.request import is_pod, is_same, refused, with_spec
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

PREEMPT = "PreemptLowerPriority"


def system_classes() -> list[Tree]:
    """The two classes that every API server makes at its start, as they are written."""
    told = {
        "system-cluster-critical": (
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if "
            "necessary.",
        ),
        "system-node-critical": (
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    }
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        }
        for name, (value, description) in told.items()
    ]


class PriorityAdmission:
    """Resolves `priorityClassName` of new pods, and keeps one default class."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __call__(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """The pod with class, priority and preemption policy. Raises PortError 403."""
        if is_pod(request):
            return self._admit(request, new) if old is None else _keep(new, old)
        if is_same(request.resource, PRIORITY_CLASSES) and not request.subresource:
            self._check_default(request, new, old)
        return new

    def _admit(self, request: Request, new: Tree) -> Tree:
        spec: Tree = new.get("spec") or {}
        name, value, policy = self._resolve(request, new, spec.get("priorityClassName") or "")
        given = spec.get("priority")
        if given is not None and given != value:
            why = (
                f"the integer value of priority ({given}) must not be provided in pod spec; priority "
                f"admission controller computed {value} from the given PriorityClass name"
            )
            raise refused(request, new, why)
        asked = spec.get("preemptionPolicy")
        if asked is not None and asked != policy:
            why = (
                f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority "
                f"admission controller computed {policy} from the given PriorityClass name"
            )
            raise refused(request, new, why)
        fields: Tree = {"priority": value, "preemptionPolicy": policy}
        if name:
            fields["priorityClassName"] = name
        return with_spec(new, **fields)

    def _resolve(self, request: Request, new: Tree, name: str) -> tuple[str, int, str]:
        found: Tree | None = None
        if name:
            stored = self._storage.get(PRIORITY_CLASSES, "", name)
            if stored is None:
                raise refused(request, new, f"no PriorityClass with name {name} was found")
            found = stored.tree
        else:
            found = self._default()
        if found is None:
            return "", 0, PREEMPT
        return found["metadata"]["name"], found.get("value", 0), found.get("preemptionPolicy") or PREEMPT

    def _classes(self) -> Iterable[Tree]:
        return [stored.tree for stored in self._storage.shelf(PRIORITY_CLASSES).between("")]

    def _default(self) -> Tree | None:
        defaults = [tree for tree in self._classes() if tree.get("globalDefault")]
        return min(defaults, key=lambda tree: tree.get("value", 0), default=None)

    def _check_default(self, request: Request, new: Tree, old: Tree | None) -> None:
        if not new.get("globalDefault"):
            return
        default = self._default()
        if default is None or (old is not None and default["metadata"]["name"] == old["metadata"]["name"]):
            return
        name = default["metadata"]["name"]
        why = f"PriorityClass {name} is already marked as default. Only one default can exist"
        raise refused(request, new, why)


def _keep(new: Tree, old: Tree) -> Tree:
    """An update that leaves out what admission wrote keeps it."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    kept = {
        word: before[word]
        for word in ("priority", "preemptionPolicy")
        if spec.get(word) is None and before.get(word) is not None
    }
    return with_spec(new, **kept) if kept else new
