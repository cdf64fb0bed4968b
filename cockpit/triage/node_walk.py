"""Nodes and cards: what is wrong with them, the worst first; why a node offers no GPU, as the pods of the
GPU stack on it tell: which of them fails, which wait for it.

Sources: gpu-operator assets/state-*/ (names of DaemonSets; init containers `driver-validation` and
`toolkit-validation` wait for the part below), k8s-device-plugin, ROCm k8s-device-plugin, GKE's
nvidia-driver-installer."""

import enum
from typing import NamedTuple

from msgspec.structs import replace

from cockpit.catalogue import Cause, ListOf
from cockpit.gangs.draft import draft, joined, tell
from cockpit.gangs.sentence import counted
from cockpit.k8s.waiting_reasons import Severity, waiting_reason
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.gpu import Gpu
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind, condition
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.model.xid import xid_class, xid_meaning
from cockpit.pools.promise import BY_LABELS, GpuPromise, gpus_promised, machine_of
from cockpit.pools.stage import GPUS_LIMIT_SECONDS, NodeStage, node_stage
from cockpit.triage import node_signs
from cockpit.triage.context import ClusterView
from cockpit.triage.judgement import finished, not_found, nothing_seen, of_pod, qualified
from cockpit.triage.recurrence import of_readiness


class StackPart(enum.IntEnum):
    """In the order in which each needs the one before."""

    DRIVER = 1
    TOOLKIT = 2
    PLUGIN = 3
    VALIDATOR = 4


_NAMES = (
    ("driver-daemonset", StackPart.DRIVER),
    ("driver-installer", StackPart.DRIVER),
    ("gpu-driver", StackPart.DRIVER),
    ("container-toolkit", StackPart.TOOLKIT),
    ("device-plugin", StackPart.PLUGIN),
    ("operator-validator", StackPart.VALIDATOR),
    ("cuda-validator", StackPart.VALIDATOR),
)
_WORDS = {
    StackPart.DRIVER: "driver",
    StackPart.TOOLKIT: "container toolkit",
    StackPart.PLUGIN: "device plugin",
    StackPart.VALIDATOR: "validator",
}
_SUFFIX = "-daemonset"


class StackTrouble(NamedTuple):
    """The lowest part of the stack that is not up: `pod` fails (`words` says how) or waits; `waiting` are
    the pods that wait for it. `fails`: it does not get up by itself."""

    pod: Pod
    words: str
    fails: bool
    waiting: tuple[Pod, ...] = ()

    @property
    def name(self) -> str:
        """What a person calls the failing part: its DaemonSet without the words that all have."""
        return (self.pod.owner_name or self.pod.name).partition(_SUFFIX)[0]

    @property
    def waiting_words(self) -> str:
        """`device plugin`, "" where none waits."""
        parts = sorted({part for pod in self.waiting if (part := part_of(pod)) is not None})
        return " and ".join(_WORDS[one] for one in parts[:2])


def part_of(pod: Pod) -> StackPart | None:
    """Which part of the GPU stack the pod is, None for any other pod."""
    return next((part for word, part in _NAMES if word in pod.name), None)


def stack_trouble(node: Node, store: StoreReader) -> StackTrouble | None:
    """What of the stack on the node is not up, None where all of it is, or none of it runs as pods."""
    down = [
        (part, pod)
        for pod in store.pods_on(node.name)
        if (part := part_of(pod)) is not None and not pod.is_ready and not pod.is_finished
    ]
    if not down:
        return None
    down.sort(key=lambda pair: (not _fails(pair[1]), pair[0], pair[1].name))
    part, pod = down[0]
    waiting = tuple(one for above, one in down if one is not pod and above > part and not _fails(one))
    return StackTrouble(pod, _words(pod), _fails(pod), waiting)


def _fails(pod: Pod) -> bool:
    """Whether it does not get up by itself: a container of it ended badly, or its state says so."""
    is_stuck = bool(pod.waiting_reason) and waiting_reason(pod.waiting_reason).severity is Severity.STUCK
    return is_stuck or bool(pod.exit_code)


def _words(pod: Pod) -> str:
    """`driver-validation crashes`, `ImagePullBackOff`, `waits in driver-validation`."""
    if not _fails(pod):
        return f"waits in {pod.init_container}" if pod.init_container else "is not ready"
    what = "crashes" if pod.exit_code or not pod.waiting_reason else pod.waiting_reason
    return f"{pod.init_container} {what}" if pod.init_container else what


NODE_LISTS = (ListOf(Kind.NODE, is_wide=True), ListOf(Kind.POD, is_wide=True), ListOf(Kind.GPU, is_wide=True))
"""Lists that tell of a node's trouble."""
JOINING_SECONDS = 900.0
"""So long after it was made a node may take to get ready, or to show again the GPUs that pods hold."""

WAITS = "; {waits} waits"
"""The end of a sentence that names what waits for the part of the GPU stack that fails."""
PRESSURE = {"DiskPressure": "disk", "MemoryPressure": "memory", "PIDPressure": "process ids"}


def of_node(subject: Subject, view: ClusterView) -> Finding:
    """What is wrong with a node."""
    node: Node | None = view.store.by_key(Kind.NODE, subject.name)
    if node is None:
        return not_found(subject, view.store, (Kind.NODE,))
    found = judge(node, view.store, view.now_seconds) or node_signs.judge(
        node, view.store, view.now_seconds, view.around.budgets, view.ended_drains
    )
    if found is None:
        return Finding(subject=subject, sentence=nothing_seen(view.store, NODE_LISTS), sureness=Sureness.SAID)
    return finished(found, subject, gpus=gpus_expected(node, view.store))


def of_card(subject: Subject, view: ClusterView) -> Finding:
    """What is wrong with a card: its own error, else what is wrong with its node, which is the root then."""
    name, _, index = subject.name.rpartition("/")
    for card in view.store.gpus_on(name):
        if str(card.index) == index and card.xid and xid_class(card.xid).is_bad:
            return finished(_of_xid([card], name), subject, gpus=1)
    found = of_node(Subject("node", "", name), view)
    if found.is_trouble:
        return by_node(found, subject, gpus=1)
    return replace(found, subject=subject)


def by_node(found: Finding, subject: Subject, *, gpus: int) -> Finding:
    """The trouble of a node as that of what belongs to it: the sentence begins with the node's name."""
    shorter = replace(found, words=found.words.removesuffix(WAITS))  # the node tells it
    told = joined(shorter, "node {node}: ", node=found.subject.name)
    made = replace(told, root=found.subject, remedies=())
    return finished(made, subject, gpus=gpus)


def judge(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    """The worst that is wrong with a node, None where nothing is seen."""
    found = _worst(node, store, now_seconds)
    return None if found is None else qualified(found, store)


def _worst(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    if node.deleting_seconds is not None:
        return None
    name = f"Node {node.name}"
    if node.ready != "True":
        return _not_ready(node, store, now_seconds)
    errors = [card for card in store.gpus_on(node.name) if card.xid and xid_class(card.xid).is_bad]
    promise, shown = gpus_promised(node, store), node.gpu_allocatable or 0
    if promise is not None and not shown:
        return _dark(node, store, now_seconds, promise, errors)
    if promise is not None and shown < promise.gpus:
        return _fewer(node, store, promise, errors)
    if errors:
        return _of_xid(errors, node.name)
    if (flips := of_readiness(node, store, now_seconds)) is not None:
        said = Evidence(name, "event NodeNotReady", flips.words, flips.first_seconds)
        names, begun = {"times": flips.words}, flips.first_seconds
        return tell(Cause.NODE_NOT_READY, names, said, says="flips", since_seconds=begun)
    for one in node.conditions:
        if one.type in PRESSURE and one.status == "True":
            why, since = one.message or one.reason, one.changed_seconds
            said, names = Evidence(name, f"condition {one.type}", why, since), {"what": PRESSURE[one.type]}
            return tell(Cause.NODE_PRESSURE, {**names, "why": why}, said, since_seconds=since)
    return None


def _of_xid(cards: list[Gpu], node: str) -> Finding:
    said = Evidence(f"Node {node}", "DCGM_FI_DEV_XID_ERRORS", ", ".join(str(one.xid) for one in cards))
    advice = xid_class(cards[0].xid or 0).value
    return draft(Cause.GPUS_UNHEALTHY, f"{_error_words(cards)}: {advice}", {}, said)


def _error_words(cards: list[Gpu]) -> str:
    """`a double-bit memory error on GPU 3 (Xid 48)`."""
    index, code = cards[0].index, cards[0].xid or 0
    more = f" and {len(cards) - 1} more" if len(cards) > 1 else ""
    meaning = xid_meaning(code)
    return f"{meaning} on GPU {index} (Xid {code}){more}" if meaning else f"Xid {code} on GPU {index}{more}"


def _not_ready(node: Node, store: StoreReader, now_seconds: float) -> Finding | None:
    ready = condition(node.conditions, "Ready")
    age = float("inf") if node.created_seconds is None else now_seconds - node.created_seconds
    if node_stage(node, store) == NodeStage.JOINED and age < JOINING_SECONDS:
        return None
    held = store.requests_on(node.name).gpus
    why = "" if ready is None else (ready.message or ready.reason).rstrip(".")
    is_silent = ready is not None and ready.status == "Unknown"
    words = "its kubelet is silent" if is_silent else "not ready: {why}" if why else "not ready"
    flips = of_readiness(node, store, now_seconds)
    if flips is not None:
        words += ", {times}"
    if held:
        words += "; pods on it occupy {gpus}"
    since = None if ready is None else ready.changed_seconds
    said = Evidence(f"Node {node.name}", "condition Ready", why, since)
    names = {"why": why, "times": flips.words if flips else "", "gpus": counted(held, "GPU")}
    since = flips.first_seconds if flips else since
    return draft(Cause.NODE_NOT_READY, words, names, said, since_seconds=since)


def _fewer(node: Node, store: StoreReader, promise: GpuPromise, errors: list[Gpu]) -> Finding:
    shown, expected = node.gpu_allocatable or 0, promise.gpus
    said = Evidence(f"Node {node.name}", f"allocatable {node.gpu_resource}", f"{shown} of {expected}")
    lost = expected - shown
    which = "" if errors else _lost_cards(node, store, lost, expected)
    names = {"lost": lost, "expected": expected, "which": which}
    more = f": {_error_words(errors)}" if errors else ": {which}"
    text = f"{{lost}} of {{expected}} GPUs {'is' if lost == 1 else 'are'} unhealthy{more}"
    return draft(Cause.GPUS_UNHEALTHY, text, names, said, sureness=Sureness.PROVED)


def _lost_cards(node: Node, store: StoreReader, lost: int, expected: int) -> str:
    """`GPU 3`, `GPUs 3, 5`: cards that fell silent, or have no samples at all, while the others of the node
    report; "" where that does not tell which are lost."""
    cards = store.gpus_on(node.name)
    silent = [card.index for card in cards if card.duty_ratio is Absent.STALE]
    if node.gpu_replicas > 1 or node.has_mig or len(silent) == len(cards):
        return ""
    indexes = {card.index for card in cards}
    if not silent and len(indexes) == expected - lost and max(indexes) < expected:
        silent = sorted(set(range(expected)) - indexes)
    if not 0 < len(silent) <= lost:
        return ""
    return f"GPU{'s' * (len(silent) > 1)} {', '.join(map(str, silent))}"


def _dark(
    node: Node, store: StoreReader, now_seconds: float, promise: GpuPromise, errors: list[Gpu]
) -> Finding | None:
    """Ready, and none of the GPUs offered that are promised; None while its driver may be on its way."""
    stack = stack_trouble(node, store)
    fails = stack is not None and stack.fails
    ready = condition(node.conditions, "Ready")
    since = node.created_seconds if ready is None else ready.changed_seconds or node.created_seconds
    if not fails and coming_until(node, store, now_seconds) is not None:
        return None
    if node.gpu_capacity and not fails:  # the plugin came up, and calls them unhealthy
        return _all_unhealthy(node, promise, errors)
    said = Evidence(f"Node {node.name}", "allocatable", f"no {promise.resource}", since)
    evidence = [said, *_of_machine(node, store)]
    gpus = f"its {promise.gpus} GPUs" if promise.gpus > 1 else "its GPUs"
    if not promise.gpus and node.gpu_model:
        gpus = f"its GPUs ({node.gpu_model})"
    cause = Cause.GPU_STACK_DOWN
    if stack is None:
        says = "never came" if _never_came(node, store) and promise.by != BY_LABELS else "down"
        return tell(cause, {"gpus": gpus}, *evidence, says=says, since_seconds=since)
    names = {"part": stack.name, "how": stack.words, "waits": stack.waiting_words}
    names |= {"expected": str(promise.gpus)} if promise.gpus else {}
    text = "offers 0 of {expected} GPUs: " if promise.gpus else "offers no GPU: "
    text += ("{part} fails ({how})" if stack.fails else "{part} {how}") + WAITS * bool(names["waits"])
    evidence.append(of_pod(stack.pod, "status", stack.words, stack.pod.created_seconds))
    evidence += [of_pod(pod, "status", "waits for it", pod.created_seconds) for pod in stack.waiting[:2]]
    facts, sure = (("pod", stack.pod.key),), Sureness.INFERRED
    return draft(cause, text, names, *evidence, sureness=sure, facts=facts, since_seconds=since)


def stage_at(node: Node, store: StoreReader, now_seconds: float) -> str:
    """Its stage by the clock: of a node that had its time what has become of the GPUs that are promised."""
    stage = node_stage(node, store)
    if stage not in (NodeStage.NOT_ADVERTISED, NodeStage.USED) or node.gpu_allocatable:
        return stage
    if gpus_promised(node, store) is None or coming_until(node, store, now_seconds) is not None:
        return stage
    if node.gpu_capacity:
        return NodeStage.UNHEALTHY
    return NodeStage.NEVER_CAME if _never_came(node, store) else NodeStage.GONE


def _never_came(node: Node, store: StoreReader) -> bool:
    """A device plugin that was there leaves its resource with the amount 0."""
    return node.gpu_capacity is None and not store.requests_on(node.name).gpus


def _all_unhealthy(node: Node, promise: GpuPromise, errors: list[Gpu]) -> Finding:
    said = Evidence(f"Node {node.name}", f"allocatable {node.gpu_resource}", f"0 of {promise.gpus}")
    text = "all {expected} GPUs are unhealthy" if promise.gpus > 1 else "its GPU is unhealthy"
    text += f": {_error_words(errors)}" if errors else ""
    names = {"lost": promise.gpus, "expected": promise.gpus}
    return draft(Cause.GPUS_UNHEALTHY, text, names, said, sureness=Sureness.PROVED)


def _of_machine(node: Node, store: StoreReader) -> list[Evidence]:
    machine = machine_of(node, store)
    if machine is None or not machine.gpus:
        return []
    waits = condition(machine.conditions, "Initialized")
    if waits is None or waits.status == "True":
        return []
    name = f"{machine.kind} {machine.name}"
    return [Evidence(name, "condition Initialized", waits.message or waits.reason, waits.changed_seconds)]


def gpus_expected(node: Node, store: StoreReader) -> int:
    """Devices the node ought to offer, as the scheduler counts them (time-slicing multiplies)."""
    promise = gpus_promised(node, store)
    return 0 if promise is None else promise.gpus


def coming_until(node: Node, store: StoreReader, now_seconds: float) -> float | None:
    """Until when (epoch seconds) a node that came lately may take to get ready, or to show its GPUs; None for
    one that has done so, or that had its time."""
    begun, most = node.created_seconds, JOINING_SECONDS
    if node.ready != "True":
        if node_stage(node, store) != NodeStage.JOINED:
            return None
    elif node.gpu_allocatable:
        return None
    elif not store.requests_on(node.name).gpus:  # pods that have some: it came back after a restart
        ready = condition(node.conditions, "Ready")
        begun = begun if ready is None or ready.changed_seconds is None else ready.changed_seconds
        most = GPUS_LIMIT_SECONDS
    return begun + most if begun is not None and now_seconds < begun + most else None
