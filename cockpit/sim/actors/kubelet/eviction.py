"""Node pressure: which pod goes, and with which words.

Source: Kubernetes 1.36 pkg/kubelet/eviction/{eviction_manager.go, helpers.go}: one pod a round of 10 s,
ranked by usage above request, then priority, then by how much; default hard thresholds
memory.available<100Mi, nodefs.available<10%; a condition stays for 5 minutes after its cause.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.k8s.quantity import whole
from cockpit.sim.actors.common.recorder import Recorder
from cockpit.sim.actors.kubelet.behaviour import FOREVER, PREFIX, Habits
from cockpit.sim.actors.kubelet.runs import ContainerRun, Ending, NodeRun, PodRun
from cockpit.sim.actors.kubelet.texts import kibibytes, low_on

PRESSURE_ANNOTATION = f"{PREFIX}pressure"
KINDS = ("memory", "disk", "pid")
ROUND_SECONDS = 10.0
_RESOURCE = {"memory": "memory", "disk": "ephemeral-storage", "pid": "pids"}


def read_pressure(node: NodeRun, annotations: Mapping[str, Any], now: float, habits: Habits) -> bool:
    """Take `cockpit.dev/pressure` (`memory`, `disk:3`); True when the node's condition changes.

    The number is how many pods have to go before the node is well again.
    """
    wanted = str(annotations.get(PRESSURE_ANNOTATION, ""))
    kind = wanted.partition(":")[0]
    if kind not in KINDS:
        kind = ""
    if wanted != node.pressure_asked:
        node.pressure_asked = wanted
        node.evicted = 0
        node.is_relieved = False
        if kind:
            node.evict_at = now
            node.pressed_until = FOREVER
        elif node.pressure:
            node.evict_at = FOREVER
            node.pressed_until = min(node.pressed_until, now + habits.pressure_lasts_seconds)
    before = node.pressure
    if node.pressed_until <= now:
        node.pressure = ""
        node.pressed_until = FOREVER
        node.is_relieved = True
    elif kind and not node.is_relieved:
        node.pressure = kind
    return node.pressure != before


def victims_wanted(node: NodeRun) -> int:
    """How many pods still have to go."""
    number = node.pressure_asked.partition(":")[2]
    count = int(number) if number.isdecimal() else 1
    return max(0, count - node.evicted)


def choose_victim(node: NodeRun, now: float) -> PodRun | None:
    """The pod that goes next, None when there is none to take."""
    found = [
        run
        for run in node.pods.values()
        if run.is_admitted
        and run.ending is None
        and not run.is_final
        and run.pod["spec"].get("priorityClassName")
        not in ("system-node-critical", "system-cluster-critical")
    ]
    return min(found, key=lambda run: _rank(run, now), default=None)


def victim_message(node: NodeRun, run: PodRun, now: float) -> str:
    """The message of the pod's status and event."""
    capacity = (node.tree.get("status") or {}).get("capacity") or {}
    resource = _RESOURCE[node.pressure]
    if node.pressure == "memory":
        threshold = 100 << 20
    else:
        threshold = whole(str(capacity.get("ephemeral-storage", "100Gi"))) // 10
    available = threshold * 2 // 5
    users = []
    for one in run.containers:
        used, asked = _memory(one, now)
        if node.pressure == "memory" and used > asked:
            users.append((one.name, kibibytes(used // 1024 * 1024), kibibytes(asked)))
    return low_on(resource, kibibytes(threshold), kibibytes(available), users)


async def send_one_away(node: NodeRun, recorder: Recorder, now: float, habits: Habits) -> PodRun | None:
    """One round: choose and mark a pod; the caller ends it."""
    text = f"Attempting to reclaim {_RESOURCE[node.pressure]}"
    await recorder.event(node.tree, "Warning", "EvictionThresholdMet", text)
    victim = choose_victim(node, now)
    if victim is not None:
        mark_evicted(victim, victim_message(node, victim, now))
    note_victim(node, now, habits)
    return victim


def note_victim(node: NodeRun, now: float, habits: Habits) -> None:
    """One pod was sent away (or there is none): the next round, or the way back to health."""
    node.evicted += 1
    if victims_wanted(node):
        node.evict_at = now + ROUND_SECONDS
    else:
        node.evict_at = FOREVER
        node.pressed_until = now + habits.pressure_lasts_seconds


def mark_evicted(run: PodRun, message: str) -> None:
    """Status, condition and event of the pod that goes."""
    run.reason, run.message, run.is_disrupted = Ending.EVICTED.value, message, message
    run.tell("Warning", "Evicted", message)


def _memory(one: ContainerRun, now: float) -> tuple[int, int]:
    resources = one.spec.get("resources") or {}
    asked = whole(str((resources.get("requests") or {}).get("memory", "0")))
    used = one.running.usage(now)[1] if one.running is not None else 0
    return used, asked


def _rank(run: PodRun, now: float) -> tuple[bool, int, int, str]:
    used = asked = 0
    for one in run.containers:
        more, wanted = _memory(one, now)
        used, asked = used + more, asked + wanted
    return (
        used <= asked,
        int(run.pod["spec"].get("priority") or 0),
        asked - used,
        f"{run.namespace}/{run.name}",
    )
