"""Pod Security Standards as checks of one pod (pod-security-admission, policy of 1.35 and later).

A check answers what is forbidden, in short and in detail, or None.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.server.admission.request import containers


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
