"""The pod of a process, from /proc/PID/cgroup. Needs the host's process namespace (hostPID)."""

import os
import re
from collections.abc import Callable
from pathlib import Path

_POD = re.compile(
    r"[/-]pod(?P<uid>[0-9a-f]{8}(?P<dash>[-_])[0-9a-f]{4}(?P=dash)[0-9a-f]{4}(?P=dash)[0-9a-f]{4}"
    r"(?P=dash)[0-9a-f]{12}"
    r"|[0-9a-f]{32})(?=[/.]|$)",
    re.MULTILINE,
)
"""kubepods-burstable-pod1c2d_....slice (systemd driver) or kubepods/burstable/pod1c2d-... (cgroupfs); pods
from files have 32 digits."""

MOST_BYTES = 65_536


def pod_uid(cgroup: str) -> str:
    """The UID of the pod that this cgroup file speaks of, "" where it is no pod's. The innermost counts."""
    found = ""
    for match in _POD.finditer(cgroup):
        found = match["uid"].replace("_", "-")
    return found


def pod_of_process(proc: Path) -> Callable[[int], str]:
    """A function from pid to pod UID; "" where the process is gone or not ours to see."""

    def of(pid: int) -> str:
        try:
            with (proc / str(pid) / "cgroup").open("rb") as file:
                return pod_uid(file.read(MOST_BYTES).decode("utf-8", "replace"))
        except OSError:
            return ""

    return of


def pod_names(pod_logs: Path) -> dict[str, tuple[str, str]]:
    """(namespace, name) by UID from the kubelet's log folders namespace_name_uid; empty where unreadable."""
    try:
        entries = os.listdir(pod_logs)
    except OSError:
        return {}
    split = (entry.split("_") for entry in entries)
    return {parts[2]: (parts[0], parts[1]) for parts in split if len(parts) == 3}
