"""PodSecurity: the level that a namespace's labels ask for, enforced on pods, warned of on workloads."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from cockpit.kube.resource import NAMESPACES, PODS
from cockpit.sim.port import Tree
from cockpit.sim.server.admission.request import is_pod, is_same, namespace_of, refused
from cockpit.sim.server.admission.security_checks import violations
from cockpit.sim.server.refusals import invalid, wrong
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

LEVELS = ("privileged", "baseline", "restricted")
_LABEL = "pod-security.kubernetes.io/"
_VERSION = re.compile(r"^(latest|v1\.(0|[1-9][0-9]*))$")
_TEMPLATES: dict[tuple[str, str], tuple[str, ...]] = {
    ("", "replicationcontrollers"): ("spec", "template", "spec"),
    ("", "podtemplates"): ("template", "spec"),
    ("apps", "replicasets"): ("spec", "template", "spec"),
    ("apps", "deployments"): ("spec", "template", "spec"),
    ("apps", "statefulsets"): ("spec", "template", "spec"),
    ("apps", "daemonsets"): ("spec", "template", "spec"),
    ("batch", "jobs"): ("spec", "template", "spec"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template", "spec"),
}


class Policy(msgspec.Struct, frozen=True):
    """Level and version for what is refused, and for what is warned of."""

    enforce: str = "privileged"
    enforce_version: str = "latest"
    warn: str = "privileged"
    warn_version: str = "latest"


def policy_of(labels: Mapping[str, str]) -> Policy:
    """The policy of a namespace. A level that is none counts as restricted, but never warns."""

    def level(mode: str) -> str:
        value = labels.get(f"{_LABEL}{mode}", "privileged")
        return value if value in LEVELS else "restricted"

    def version(mode: str) -> str:
        value = labels.get(f"{_LABEL}{mode}-version", "latest")
        return value if _VERSION.match(value) else "latest"

    enforce, warn, warn_version = level("enforce"), level("warn"), version("warn")
    if f"{_LABEL}warn" not in labels:
        if labels.get(f"{_LABEL}enforce") in LEVELS and LEVELS.index(enforce) > 0:
            warn = enforce
            if f"{_LABEL}warn-version" not in labels:
                warn_version = version("enforce")
    elif labels[f"{_LABEL}warn"] not in LEVELS:
        warn = "privileged"
    return Policy(enforce, version("enforce"), warn, warn_version)


def _told(spec: Tree, level: str, version: str) -> str:
    found = violations(level, spec)
    if not found:
        return ""
    details = ", ".join(f"{one.reason} ({one.detail})" if one.detail else one.reason for one in found)
    return f'PodSecurity "{level}:{version}": {details}'


class PodSecurity:
    """The admission, and `warnings` for what is let through. Checks are those of the newest version,
    whatever version a label names."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __call__(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """The tree as it is. Raises PortError 403 for a pod, 422 for labels of a namespace that are none."""
        if is_same(request.resource, NAMESPACES) and not request.subresource:
            self._check_labels(request, new, old)
        elif self._is_looked_at(request, new, old):
            policy = self._policy(namespace_of(request, new))
            told = _told(new.get("spec") or {}, policy.enforce, policy.enforce_version)
            if told:
                raise refused(request, new, f"violates {told}")
        return new

    def warnings(self, request: Request, new: Tree, old: Tree | None) -> tuple[str, ...]:
        """What the answer to a write that was let through warns of."""
        if request.subresource:
            return ()
        if is_same(request.resource, NAMESPACES):
            return self._tightened(new, old)
        if is_same(request.resource, PODS):
            if not self._is_looked_at(request, new, old):
                return ()
            spec: Tree = new.get("spec") or {}
        else:
            path = _TEMPLATES.get((request.resource.group, request.resource.plural))
            if path is None:
                return ()
            spec = _inner(new, path)
        policy = self._policy(namespace_of(request, new))
        told = _told(spec, policy.warn, policy.warn_version)
        return (f"would violate {told}",) if told else ()

    def _policy(self, namespace: str) -> Policy:
        stored = self._storage.get(NAMESPACES, "", namespace)
        return policy_of({} if stored is None else stored.tree["metadata"].get("labels") or {})

    @staticmethod
    def _is_looked_at(request: Request, new: Tree, old: Tree | None) -> bool:
        if not is_pod(request):
            return is_same(request.resource, PODS) and request.subresource == "ephemeralcontainers"
        return old is None or _images(new) != _images(old)

    @staticmethod
    def _check_labels(request: Request, new: Tree, old: Tree | None) -> None:
        """Raises PortError 422 for a level or a version that is none, unless it stood there before."""
        faults = _faulty(new)
        if not faults or (old is not None and faults == _faulty(old)):
            return
        causes = []
        for label, value in faults:
            why = (
                'must be "latest" or "v1.x"'
                if label.endswith("-version")
                else f"must be one of {', '.join(LEVELS)}"
            )
            causes.append(wrong(f"metadata.labels[{label}]", value, why))
        raise invalid(request.resource, new["metadata"].get("name", ""), causes)

    def _tightened(self, new: Tree, old: Tree | None) -> tuple[str, ...]:
        """A stricter level names the pods that are there already and break it."""
        if old is None:
            return ()
        name = new["metadata"]["name"]
        policy = policy_of(new["metadata"].get("labels") or {})
        before = policy_of(old["metadata"].get("labels") or {})
        is_same_version = policy.enforce_version == before.enforce_version
        if is_same_version and LEVELS.index(policy.enforce) <= LEVELS.index(before.enforce):
            return ()
        pods: dict[str, list[str]] = {}
        for stored in self._storage.shelf(PODS).between(name):
            found = violations(policy.enforce, stored.tree.get("spec") or {})
            if found:
                reasons = ", ".join(one.reason for one in found)
                pods.setdefault(reasons, []).append(stored.tree["metadata"]["name"])
        if not pods:
            return ()
        level = f"{policy.enforce}:{policy.enforce_version}"
        head = f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{level}"'
        return (head, *sorted(f"{_and_others(names)}: {reasons}" for reasons, names in pods.items()))


def _and_others(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other {'pod' if others == 1 else 'pods'})"


def _inner(tree: Tree, path: Iterable[str]) -> Tree:
    for word in path:
        tree = tree.get(word) or {}
    return tree


def _images(pod: Tree) -> list[list[tuple[str, str]]]:
    spec = pod.get("spec") or {}
    lists = (spec.get(word) or () for word in ("containers", "initContainers", "ephemeralContainers"))
    return [[(one.get("name", ""), one.get("image", "")) for one in found] for found in lists]


def _faulty(namespace: Tree) -> list[tuple[str, str]]:
    labels = namespace["metadata"].get("labels") or {}
    found = []
    for mode in ("enforce", "audit", "warn"):
        level, version = f"{_LABEL}{mode}", f"{_LABEL}{mode}-version"
        if level in labels and labels[level] not in LEVELS:
            found.append((level, labels[level]))
        if version in labels and not _VERSION.match(labels[version]):
            found.append((version, labels[version]))
    return found
