"""PodSecurity: the level that a namespace's labels ask for, enforced on pods, warned of on workloads."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from cockpit.kube.resource import NAMESPACES, PODS
from cockpit.sim.port import Tree
from cockpit.sim.server.admission.request import containers, is_pod, is_same, namespace_of, refused
from cockpit.sim.server.refusals import invalid, wrong
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
SAFE_SYSCTLS = frozenset(
    _words(
        "kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies"
        " net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start net.ipv4.ip_local_reserved_ports"
        " net.ipv4.tcp_keepalive_time"
        " net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes"
        " net.ipv4.tcp_rmem net.ipv4.tcp_wmem"
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
SELINUX_TYPES = frozenset({"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"})
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


def app_armor(spec: Tree) -> Violation | None:
    pod, names, values = _bad_profiles(spec, "appArmorProfile")
    if not values:
        return None
    reason = "forbidden AppArmor profile" if len(values) == 1 else "forbidden AppArmor profiles"
    what = f"must not set AppArmor profile type to {quoted_names(values)}"
    return Violation(reason, f"{_setters(pod, names)} {what}")


def proc_mount(spec: Tree) -> Violation | None:
    found = [one for one in _all(spec) if _security(one).get("procMount") not in (None, "Default")]
    if not found:
        return None
    types = quoted_names(sorted({_security(one)["procMount"] for one in found}))
    return Violation("procMount", f"{_who(_names(found))} must not set securityContext.procMount to {types}")


def selinux_options(spec: Tree) -> Violation | None:
    held = [spec, *_all(spec)]
    options = [(one, _security(one).get("seLinuxOptions") or {}) for one in held]
    bad = [
        (one, given)
        for one, given in options
        if given.get("type", "") not in SELINUX_TYPES or given.get("user") or given.get("role")
    ]
    if not bad:
        return None
    types = sorted({given.get("type", "") for _, given in bad} - SELINUX_TYPES)
    faults = [count(types, "type", "types")] if types else []
    faults += [
        f"{word} may not be set" for word in ("user", "role") if any(given.get(word) for _, given in bad)
    ]
    names = _names(one for one, _ in bad if one is not spec)
    who = _setters(bad[0][0] is spec, names)
    detail = f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(faults)}"
    return Violation("seLinuxOptions", detail)


def sysctls(spec: Tree) -> Violation | None:
    names = [one.get("name", "") for one in _security(spec).get("sysctls") or ()]
    bad = [name for name in names if name not in SAFE_SYSCTLS]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def restricted_volumes(spec: Tree) -> Violation | None:
    bad = [one for one in spec.get("volumes") or () if not PLAIN_VOLUMES & set(one)]
    if not bad:
        return None
    types = sorted({next((word for word in KNOWN_VOLUMES if word in one), "unknown") for one in bad})
    who = count(_names(bad), "volume", "volumes")
    verb = "uses" if len(bad) == 1 else "use"
    word = "restricted volume type" if len(types) == 1 else "restricted volume types"
    return Violation("restricted volume types", f"{who} {verb} {word} {quoted_names(types)}")


def probe_hosts(spec: Tree) -> Violation | None:
    def hosts(one: Tree) -> set[str]:
        lifecycle = one.get("lifecycle") or {}
        handlers = [one.get(word) or {} for word in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get(word) or {} for word in ("postStart", "preStop")]
        found = [
            (handler.get(word) or {}).get("host") for handler in handlers for word in ("httpGet", "tcpSocket")
        ]
        return {host for host in found if host}

    bad = [one for one in _all(spec) if hosts(one)]
    if not bad:
        return None
    used = sorted({host for one in bad for host in hosts(one)})
    verb = "uses" if len(bad) == 1 else "use"
    what = count(used, "probe or lifecycle host", "probe or lifecycle hosts")
    return Violation("probe or lifecycle host", f"{_who(sorted(_names(bad)))} {verb} {what}")


def _unless_windows(check: Check) -> Check:
    """What Windows does not know is not asked of its pods."""
    return lambda spec: None if (spec.get("os") or {}).get("name") == "windows" else check(spec)


def _unless_user_namespace(check: Check) -> Check:
    """A pod in a user namespace of its own is root there only (from 1.35)."""
    return lambda spec: None if spec.get("hostUsers") is False else check(spec)


BASELINE: dict[str, Check] = {
    "appArmorProfile": app_armor,
    "capabilities_baseline": capabilities_baseline,
    "hostNamespaces": host_namespaces,
    "hostPathVolumes": host_path_volumes,
    "hostPorts": host_ports,
    "hostProbesAndHostLifecycle": probe_hosts,
    "privileged": privileged,
    "procMount": _unless_user_namespace(proc_mount),
    "seLinuxOptions": selinux_options,
    "seccompProfile_baseline": seccomp_baseline,
    "sysctls": sysctls,
}
RESTRICTED: dict[str, Check] = {
    "allowPrivilegeEscalation": _unless_windows(privilege_escalation),
    "capabilities_restricted": _unless_windows(capabilities_restricted),
    "procMount_restricted": proc_mount,
    "restrictedVolumes": restricted_volumes,
    "runAsNonRoot": _unless_user_namespace(run_as_non_root),
    "runAsUser": _unless_user_namespace(run_as_user),
    "seccompProfile_restricted": _unless_windows(seccomp_restricted),
}
_OVERRIDDEN = ("capabilities_baseline", "hostPathVolumes", "procMount", "seccompProfile_baseline")


def violations(level: str, spec: Tree) -> list[Violation]:
    """What a pod with this spec violates of `baseline` or `restricted`, in the order of the real server:
    baseline first, each by its name. windowsOptions are not looked at."""
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
