"""Why a pod that has a node does not run, or is not ready."""

from collections.abc import Iterator
from itertools import takewhile

from msgspec.structs import replace

from cockpit.catalogue import Cause, TextPlace, Trait, is_a, understand
from cockpit.gangs.draft import draft, followed, not_understood, tell
from cockpit.gangs.sentence import times
from cockpit.jobs.members import end_words
from cockpit.k8s.evictions import EVICTED_BY, PREEMPTED_BY
from cockpit.k8s.gpu_resources import resource_word
from cockpit.k8s.waiting_reasons import CRASHING, START_FAILED, Severity, waiting_reason
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.drain_mark import mark_of
from cockpit.pools.stage import is_going
from cockpit.triage.context import Context
from cockpit.triage.judgement import is_up, of_event, of_pod
from cockpit.triage.node_signs import reclaimed
from cockpit.triage.recurrence import FEWEST_TIMES, is_recent, of_events, of_restarts

STUCK_SECONDS = 60.0
"""Beyond its grace period a pod that is still there is stuck."""

_PULLS = ("ImagePullBackOff", "ErrImagePull")
_STARTING = ("", "ContainerCreating", "PodInitializing")
_ABOUT_START = (
    "FailedMount",
    "FailedAttachVolume",
    "FailedCreatePodSandBox",
    "FailedPrepareDynamicResources",
)


def not_running(pod: Pod, context: Context) -> Finding | None:
    """Why a bound pod does not run; None where it runs and is ready, or has ended well."""
    store, now_seconds, line = context.store, context.now_seconds, context.last_lines.get(pod.uid, "")
    if pod.is_finished:
        end = ended(pod, line) if pod.phase == "Failed" else None
        held = stuck(pod, context)  # it ended, and does not go
        return end if held is None else replace(held, then=() if end is None else (end,))
    if is_up(pod) and pod.deleting_seconds is None:
        return crashing(pod, line, store) if crashes_on(pod, now_seconds) else None
    if pod.deleting_seconds is not None:
        return _terminating(pod, context)
    lost = lost_node(pod, store)
    if lost is not None:
        return lost
    if pod.waiting_reason == CRASHING or crashes_on(pod, now_seconds):
        return crashing(pod, line, store)
    if pod.waiting_reason in _STARTING and not (pod.phase == "Running" and pod.waiting_reason == ""):
        return _unpulled(pod, context) or _starting(pod, context)
    if pod.waiting_reason:
        return _waiting(pod, context)
    if pod.phase == "Running":
        return _unready(pod, store)
    return _starting(pod, context)


def starts_on(pod: Pod, store: StoreReader) -> Node | None:
    """Its node, where that is ready, the pod waits for no more than its containers, and no event warns."""
    if pod.phase != "Pending" or not pod.node or pod.waiting_reason not in ("", "ContainerCreating"):
        return None
    node: Node | None = store.by_key(Kind.NODE, pod.node)
    if node is None or node.ready != "True" or pod.deleting_seconds is not None:
        return None
    return None if any(event.type == "Warning" for event in store.events_of(pod.uid)) else node


def lost_node(pod: Pod, store: StoreReader) -> Finding | None:
    """The node that the pod is on is not ready: nothing that its kubelet said last can be relied on."""
    node: Node | None = store.by_key(Kind.NODE, pod.node)
    if node is None or node.ready in ("True", ""):
        return None
    return tell(
        Cause.NODE_NOT_READY,
        {"node": pod.node},
        Evidence(f"Node {pod.node}", "condition Ready", node.ready),
        says="of a pod",
        root=Subject("node", "", pod.node),
    )


def _texts(pod: Pod) -> dict[str, str]:
    """Its image as repository and tag: the registry and the folders in front say least. Without a host the
    registry is Docker Hub's."""
    image, host = pod.image, pod.image.partition("/")[0]
    is_host = "/" in image and (host == "localhost" or "." in host or ":" in host)
    registry = host if is_host else "docker.io"
    return {"image": image.rpartition("/")[2] or image, "registry": registry, "node": pod.node}


def _understood(pod: Pod, text: str, evidence: Evidence, fallback: str = "") -> Finding:
    """The row of the catalogue that knows a kubelet's text, `Reason: message`."""
    found = understand(TextPlace.KUBELET, text)
    if found is None:
        if fallback:
            return draft(fallback, "{text}", {"text": text}, evidence)
        return not_understood(text, evidence)
    names = {**_texts(pod), **found.names}
    if "resource" in names:
        names["resource"] = resource_word(names["resource"], 2)
    used = {key: value for key, value in names.items() if f"{{{key}" in found.wording.words}
    facts = (("whole_image", pod.image),) if "image" in used else ()  # images of one short name are many
    return draft(found.cause, found.wording.words, used, evidence, facts=facts)


def _unpulled(pod: Pod, context: Context) -> Finding | None:
    """What the newest pull of its image failed with, and how often pulls did; None where none failed, or the
    image has come since."""
    failed: list[Event] = []
    now_seconds = context.now_seconds
    for event in _since_pulled(context.store.events_of(pod.uid)):
        found = understand(TextPlace.KUBELET, f"{event.reason}: {event.message}")
        if event.reason == "Failed" and found is not None and found.cause == Cause.IMAGE_NOT_PULLED:
            failed.append(event)
    if not failed or not (pod.waiting_reason in _PULLS or is_recent(failed[0].last_seconds, now_seconds)):
        return None
    last, came = failed[0], of_events(failed, now_seconds)
    told = _understood(pod, f"Failed: {last.message}", of_event(last), Cause.IMAGE_NOT_PULLED)
    return told if came is None else followed(told, "; tried {times}", times=came.words)


def _waiting(pod: Pod, context: Context) -> Finding:
    """The kubelet's reason. The message of a back-off hides the cause, which an event still holds."""
    said = of_pod(pod, "state.waiting", f"{pod.waiting_reason}: {pod.waiting_message}")
    text = f"{pod.waiting_reason}: {pod.waiting_message}" if pod.waiting_message else pod.waiting_reason
    if pod.waiting_reason in _PULLS:
        told = _unpulled(pod, context)
        return told or _understood(pod, text, said, Cause.IMAGE_NOT_PULLED)
    if waiting_reason(pod.waiting_reason).severity is Severity.PROGRESS:
        return _starting(pod, context)
    return _understood(pod, text, said)


def crashes_on(pod: Pod, now_seconds: float | None) -> bool:
    """Whether it crashes again and again, also while it runs between two crashes or is made again."""
    if pod.restarts < FEWEST_TIMES or not pod.exit_code or pod.is_finished:
        return False
    return pod.waiting_reason == CRASHING or is_recent(pod.crashed_seconds, now_seconds)


def crashing(pod: Pod, line: str, store: StoreReader) -> Finding:
    """Restarts, in what time, exit code and the last line that it wrote: the cause where the line is known.
    The first back-off is its beginning; without one it began with the pod."""
    backs_off = (one.first_seconds for one in store.events_of(pod.uid) if one.reason == "BackOff")
    began = next(backs_off, pod.started_seconds)
    said = of_pod(pod, "lastState.terminated", f"{end_words(pod)}, {pod.restarts} restarts", began)
    came = of_restarts(pod)
    # without a restart the kubelet waits after its first crash
    often = times(max(1, pod.restarts)) if came is None else came.words
    return _of_end(pod, line, said, f"crashed {often}: {end_words(pod)}")


def ended(pod: Pod, line: str) -> Finding:
    """Why a pod failed."""
    reason, message = pod.status_reason, pod.status_message
    if reason:
        text = f"{reason}: {message}"
        found = understand(TextPlace.KUBELET, text)
        if found is not None and is_a(found.cause, Trait.FINAL):
            return _understood(pod, text, of_pod(pod, "status", text, pod.finished_seconds))
        if reason == "DeadlineExceeded":
            return tell(Cause.DEADLINE, {}, of_pod(pod, "status", text, pod.finished_seconds), says="pod")
    if pod.disruption_reason == PREEMPTED_BY:
        return preempted(pod)
    if pod.disruption_reason in EVICTED_BY:
        text = f"Evicted: {pod.disruption_message or pod.disruption_reason}"
        evicted = _understood(pod, text, of_pod(pod, "DisruptionTarget", text, pod.finished_seconds))
        return replace(evicted, facts=(("remedy", _MADE_AGAIN), *evicted.facts))
    said = of_pod(pod, "state.terminated", end_words(pod), pod.finished_seconds)
    if pod.terminated_message:
        text = f"{pod.terminated_reason}: {pod.terminated_message}"
        return _understood(pod, text, of_pod(pod, "state.terminated", text, pod.finished_seconds))
    if pod.terminated_reason in START_FAILED:
        return tell(Cause.CANNOT_START, {"why": end_words(pod)}, said)
    return _of_end(pod, line, said, f"failed: {end_words(pod)}")


_MADE_AGAIN = "Its controller recreates it on another node; without one submit it again."


def preempted(pod: Pod) -> Finding:
    """Somebody of higher priority took its place."""
    said = of_pod(pod, "DisruptionTarget", f"{pod.disruption_reason}: {pod.disruption_message}")
    return tell(Cause.PREEMPTED, {"node": pod.node, "why": pod.disruption_message}, said)


def _of_end(pod: Pod, line: str, said: Evidence, words: str) -> Finding:
    lines = [Evidence(said.object, "last log line", one) for one in line.splitlines() if one.strip()]
    for one in reversed(lines):
        found = understand(TextPlace.LOG, one.value)
        if found is not None:
            names = {**found.names, "end": end_words(pod)}
            return draft(found.cause, found.wording.words + " ({end})", names, said, one)
    if pod.exit_code == 135:
        return tell(Cause.SHARED_MEMORY, {"restarts": pod.restarts}, said)
    text = "{words}: {line}" if lines else "{words}"
    made = draft(
        Cause.CRASHES, text, {"words": words, "line": lines[-1].value if lines else ""}, said, *lines[-1:]
    )
    return replace(made, facts=(("exit", str(pod.exit_code)), ("restarts", str(pod.restarts))))


def _starting(pod: Pod, context: Context) -> Finding:
    """A start takes its course, or something that it needs does not come."""
    events = context.store.events_of(pod.uid)
    for event in events:
        if event.reason in _ABOUT_START:
            found = _understood(pod, f"{event.reason}: {event.message}", of_event(event))
            return _by_claim(found, pod, context)
    for name in pod.traits.wishes.config_maps:
        if context.lacks("ConfigMap", pod.namespace, name):
            return tell(Cause.VOLUME_NOT_MOUNTED, {"object": name}, of_pod(pod, "spec.volumes", name))
    pulling = next((event for event in _since_pulled(events) if event.reason == "Pulling"), None)
    if pulling is not None:
        return tell(Cause.STARTING, _texts(pod), of_event(pulling), since_seconds=pulling.first_seconds)
    if pod.waiting_reason == "PodInitializing":
        return _initialising(pod, events)
    said = of_pod(pod, "status.phase", pod.waiting_reason or pod.phase or "Pending", pod.started_seconds)
    says = "container" if pod.waiting_reason else "node"
    return tell(Cause.STARTING, {"node": pod.node}, said, says=says)


def _by_claim(found: Finding, pod: Pod, context: Context) -> Finding:
    """A volume by the name of the claim that the person wrote, which the text does not have."""
    volume = found.fact("volume")
    if not volume or volume in pod.traits.claims:
        return found
    claim = next(
        (
            str(one["metadata"]["name"])
            for one in context.trees.get(("PersistentVolumeClaim", pod.namespace), ())
            if (one.get("spec") or {}).get("volumeName") == volume
        ),
        pod.traits.claims[0] if len(pod.traits.claims) == 1 else "",
    )
    if not claim:
        return found
    names = {**dict(found.facts), "volume": claim}
    words = _WITH_CLAIM if "why" in names else _ATTACHED
    made = draft(found.cause, words, {**names, "pv": volume}, *found.evidence)
    return replace(made, facts=(*found.facts, ("claim", claim)))


_WITH_CLAIM = "volume {volume} cannot be mounted: {why} ({pv})"
_ATTACHED = "volume {volume} is still attached to another node ({pv})"


def _since_pulled(events: tuple[Event, ...]) -> Iterator[Event]:
    """Those after the last time that an image had come, the newest first."""
    return takewhile(lambda event: event.reason not in ("Pulled", "Started"), events)


def _initialising(pod: Pod, events: tuple[Event, ...]) -> Finding:
    said = of_pod(pod, "state.waiting", "PodInitializing", pod.started_seconds)
    names = [one.message for one in events if one.reason == "Started"]
    started = "" if not names else names[0].rpartition(" ")[2].strip(".")
    containers = pod.traits.wishes.init_containers
    name = started if started in containers else ", ".join(containers)
    return tell(Cause.INIT_CONTAINER, {"container": name}, said, says="by name" if name else "nameless")


def _unready(pod: Pod, store: StoreReader) -> Finding:
    for event in store.events_of(pod.uid):
        text = f"{event.reason}: {event.message}"
        found = understand(TextPlace.KUBELET, text) if event.reason == "Unhealthy" else None
        if found is not None and found.cause == Cause.NOT_READY:
            return _understood(pod, text, of_event(event), Cause.NOT_READY)
    return tell(Cause.NOT_READY, {}, of_pod(pod, "condition Ready", "False"))


def stuck(pod: Pod, context: Context) -> Finding | None:
    """Why a pod that is being deleted does not go, None where it goes or is not being deleted."""
    found = None if pod.deleting_seconds is None else _terminating(pod, context)
    return found if found is not None and found.cause else None


def _terminating(pod: Pod, context: Context) -> Finding:
    since, now_seconds = pod.deleting_seconds, context.now_seconds
    age = None if now_seconds is None or since is None else now_seconds - since
    said = of_pod(pod, "metadata.deletionTimestamp", ", ".join(pod.finalizers), since)
    cause = Cause.STUCK_TERMINATING
    if pod.finalizers and (age is None or age >= STUCK_SECONDS):
        return tell(cause, {"finalizer": said.value}, said, says="finalizer", since_seconds=since)
    if (lost := lost_node(pod, context.store)) is not None:
        made = tell(cause, {"node": pod.node}, said, *lost.evidence, says="node", since_seconds=since)
        return replace(made, root=lost.root, also=(Cause.NODE_NOT_READY,))
    if age is not None and age >= STUCK_SECONDS:
        names = {"minutes": int(age // 60), "node": pod.node}
        return tell(cause, names, said, says="time", since_seconds=since)
    how = "evicted" if pod.disruption_reason in EVICTED_BY else "deleted"
    why = "" if now_seconds is None else _node_goes(pod.node, context.store, now_seconds)
    words = f"is being {how}" + ("; node {node} {why}" if why else "")
    return draft("", words, {"node": pod.node, "why": why}, said, since_seconds=since)


def _node_goes(name: str, store: StoreReader, now_seconds: float) -> str:
    """`is being drained by ann@bastion`; "" for a node that stays."""
    node: Node | None = store.by_key(Kind.NODE, name)
    if node is None:
        return ""
    removal = registry.removal(node, store, now_seconds)
    if removal is not None and not removal.may_stay:
        return f"is {removal.stage}"
    mark = mark_of(node)
    if mark is not None:
        return f"is being drained by {mark.by}" if mark.by else "is being drained"
    if reclaimed(node, store, now_seconds) is not None:
        return "is taken back by the cloud"
    return "is being removed" if is_going(node) else ""
