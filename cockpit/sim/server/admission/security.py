"""PodSecurity: the level that a namespace's labels ask for, enforced on pods, warned of on workloads."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from cockpit.kube.resource import NAMESPACES, PODS
from cockpit.sim.port import Tree
from cockpit.sim.server.admission.request import containers, is_pod, is_same, namespace_of, refused
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


BASELINE_CAPABILITIES = frozenset(
    _words(
        "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP"
        " SETUID SYS_CHROOT"
    )
)
PLAIN_VOLUMES = frozenset(
    _words("configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret")
)
KNOWN_VOLUMES = _words(
    "hostPath gcePersistentDisk awsElasticBlockStore gitRepo nfs iscsi glusterfs rbd flexVolume cinder cephfs"
    " flocker fc azureFile vsphereVolume quobyte azureDisk photonPersistentDisk portworxVolume scaleIO"
    " storageos"
)
PROFILES = ("RuntimeDefault", "Localhost")


class Violation(msgspec.Struct, frozen=True):
    """What a pod does that its namespace does not allow."""

    reason: str
    detail: str


Check = Callable[[Tree], Violation | None]
"""Given a pod's spec."""


def _all(spec: Tree) -> list[Tree]:
    return list(containers(spec, with_ephemeral=True))


def _security(holder: Tree) -> Tree:
    return holder.get("securityContext") or {}


def _names(found: Iterable[Tree]) -> list[str]:
    return [one.get("name", "") for one in found]


def quoted_names(names: Iterable[str]) -> str:
    """`"a", "b"`."""
    return ", ".join(f'"{name}"' for name in names)


def count(names: list[str], one: str, many: str) -> str:
    """The word for as many as there are, and their names."""
    return f"{one if len(names) == 1 else many} {quoted_names(names)}"


def _who(names: list[str]) -> str:
    return count(names, "container", "containers")


def _setters(pod: bool, names: list[str]) -> str:
    return " and ".join([*(["pod"] if pod else []), *([_who(names)] if names else [])])


def host_namespaces(spec: Tree) -> Violation | None:
    found = [f"{word}=true" for word in ("hostNetwork", "hostPID", "hostIPC") if spec.get(word)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def host_path_volumes(spec: Tree) -> Violation | None:
    names = _names(one for one in spec.get("volumes") or () if one.get("hostPath") is not None)
    return Violation("hostPath volumes", count(names, "volume", "volumes")) if names else None


def host_ports(spec: Tree) -> Violation | None:
    def ports(one: Tree) -> list[str]:
        return [str(port["hostPort"]) for port in one.get("ports") or () if port.get("hostPort")]

    found = [one for one in _all(spec) if ports(one)]
    if not found:
        return None
    used = sorted({port for one in found for port in ports(one)})
    verb = "uses" if len(found) == 1 else "use"
    word = "hostPort" if len(used) == 1 else "hostPorts"
    return Violation("hostPort", f"{_who(_names(found))} {verb} {word} {', '.join(used)}")


def privileged(spec: Tree) -> Violation | None:
    names = _names(one for one in _all(spec) if _security(one).get("privileged"))
    detail = f"{_who(names)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if names else None


def _capabilities(one: Tree, word: str) -> list[str]:
    return list((_security(one).get("capabilities") or {}).get(word) or ())


def capabilities_baseline(spec: Tree) -> Violation | None:
    def extra(one: Tree) -> set[str]:
        return set(_capabilities(one, "add")) - BASELINE_CAPABILITIES

    found = [one for one in _all(spec) if extra(one)]
    if not found:
        return None
    added = quoted_names(sorted({name for one in found for name in extra(one)}))
    detail = f"{_who(_names(found))} must not include {added} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def capabilities_restricted(spec: Tree) -> Violation | None:
    def extra(one: Tree) -> set[str]:
        return set(_capabilities(one, "add")) - {"NET_BIND_SERVICE"}

    keeping = _names(one for one in _all(spec) if "ALL" not in _capabilities(one, "drop"))
    adding = [one for one in _all(spec) if extra(one)]
    details = []
    if keeping:
        details.append(f'{_who(keeping)} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        added = quoted_names(sorted({name for one in adding for name in extra(one)}))
        details.append(f"{_who(_names(adding))} must not include {added} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def privilege_escalation(spec: Tree) -> Violation | None:
    names = _names(one for one in _all(spec) if _security(one).get("allowPrivilegeEscalation") is not False)
    detail = f"{_who(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if names else None


def run_as_non_root(spec: Tree) -> Violation | None:
    pod = _security(spec).get("runAsNonRoot")
    refusing = _names(one for one in _all(spec) if _security(one).get("runAsNonRoot") is False)
    if pod is False or refusing:
        detail = f"{_setters(pod is False, refusing)} must not set securityContext.runAsNonRoot=false"
        return Violation("runAsNonRoot != true", detail)
    silent = _names(one for one in _all(spec) if _security(one).get("runAsNonRoot") is None)
    if pod or not silent:
        return None
    detail = f"pod or {_who(silent)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", detail)


def run_as_user(spec: Tree) -> Violation | None:
    pod = _security(spec).get("runAsUser") == 0
    names = _names(one for one in _all(spec) if _security(one).get("runAsUser") == 0)
    if not pod and not names:
        return None
    return Violation("runAsUser=0", f"{_setters(pod, names)} must not set runAsUser=0")


def _profile(holder: Tree, word: str) -> Any:
    profile = _security(holder).get(word)
    return None if profile is None else profile.get("type", "")


def _bad_profiles(spec: Tree, word: str) -> tuple[bool, list[str], list[str]]:
    """Whether the pod sets a bad profile, which containers do, and the values."""
    held = [spec, *_all(spec)]
    bad = [one for one in held if _profile(one, word) not in (None, *PROFILES)]
    values = sorted({_profile(one, word) for one in bad})
    return bool(bad) and bad[0] is spec, _names(one for one in bad if one is not spec), values


def seccomp_baseline(spec: Tree) -> Violation | None:
    pod, names, values = _bad_profiles(spec, "seccompProfile")
    if not values:
        return None
    what = f"must not set securityContext.seccompProfile.type to {quoted_names(values)}"
    return Violation("seccompProfile", f"{_setters(pod, names)} {what}")


def seccomp_restricted(spec: Tree) -> Violation | None:
    bad = seccomp_baseline(spec)
    if bad is not None:
        return bad
    silent = _names(one for one in _all(spec) if _profile(one, "seccompProfile") is None)
    if _profile(spec, "seccompProfile") is not None or not silent:
        return None
    what = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_who(silent)} {what}")


def restricted_volumes(spec: Tree) -> Violation | None:
    bad = [one for one in spec.get("volumes") or () if not PLAIN_VOLUMES & set(one)]
    if not bad:
        return None
    types = sorted({next((word for word in KNOWN_VOLUMES if word in one), "unknown") for one in bad})
    who = count(_names(bad), "volume", "volumes")
    verb = "uses" if len(bad) == 1 else "use"
    word = "restricted volume type" if len(types) == 1 else "restricted volume types"
    return Violation("restricted volume types", f"{who} {verb} {word} {quoted_names(types)}")


BASELINE: dict[str, Check] = {
    "capabilities_baseline": capabilities_baseline,
    "hostNamespaces": host_namespaces,
    "hostPathVolumes": host_path_volumes,
    "hostPorts": host_ports,
    "privileged": privileged,
    "seccompProfile_baseline": seccomp_baseline,
}
RESTRICTED: dict[str, Check] = {
    "allowPrivilegeEscalation": privilege_escalation,
    "capabilities_restricted": capabilities_restricted,
    "restrictedVolumes": restricted_volumes,
    "runAsNonRoot": run_as_non_root,
    "runAsUser": run_as_user,
    "seccompProfile_restricted": seccomp_restricted,
}
_OVERRIDDEN = ("capabilities_baseline", "hostPathVolumes", "seccompProfile_baseline")


def violations(level: str, spec: Tree) -> list[Violation]:
    """What a pod with this spec violates of `baseline` or `restricted`, in the order of the real server:
    baseline first, each by its name. Not looked at: AppArmor, procMount, SELinux, sysctls, hosts of probes,
    Windows and user namespaces."""
    if level == "privileged":
        return []
    checks = BASELINE
    if level == "restricted":
        kept = {name: check for name, check in BASELINE.items() if name not in _OVERRIDDEN}
        checks = {**kept, **RESTRICTED}
    return [found for check in checks.values() if (found := check(spec)) is not None]


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
        """The tree as it is. Raises PortError 403 for a pod."""
        if self._is_looked_at(request, new, old):
            policy = self._policy(namespace_of(request, new))
            told = _told(new.get("spec") or {}, policy.enforce, policy.enforce_version)
            if told:
                raise refused(request, new, f"violates {told}")
        return new

    def warnings(self, request: Request, new: Tree, old: Tree | None) -> tuple[str, ...]:
        """What the answer to a write that was let through warns of."""
        if request.subresource:
            return ()
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


def _inner(tree: Tree, path: Iterable[str]) -> Tree:
    for word in path:
        tree = tree.get(word) or {}
    return tree


def _images(pod: Tree) -> list[list[tuple[str, str]]]:
    spec = pod.get("spec") or {}
    lists = (spec.get(word) or () for word in ("containers", "initContainers", "ephemeralContainers"))
    return [[(one.get("name", ""), one.get("image", "")) for one in found] for found in lists]
