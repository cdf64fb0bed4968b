"""No room: shortage is not fragmentation, GPUs of pods that are terminating are not in use, and other pods
keep it off nodes by affinity."""

from collections.abc import Collection, Iterator, Sequence

from cockpit.catalogue import Cause, Permanence
from cockpit.fit.inter_pod_affinity import concerns
from cockpit.gangs.draft import draft, tell
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.finding import Finding, Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.scheduling import PodTerm
from cockpit.triage.context import Context
from cockpit.triage.funnel import Room, Sifted, amount
from cockpit.triage.judgement import of_pod

_GRACE_SECONDS = 60.0
_GIB = 1 << 30

SMALLER = "Ask for fewer GPUs on one node, in more pods, or add nodes with that many."


def of_others(sifted: Sifted, context: Context) -> Finding:
    """CPU, memory, or a device besides GPUs."""
    asked = dict(sifted.shape.requests)
    rooms = sifted.short_of("cpu_memory")
    short: dict[str, int] = {}
    for room in rooms:
        for name, each in asked.items():
            if name != sifted.resource and room.left(name) < each:
                short[name] = short.get(name, 0) + 1
    resource = max(short, key=lambda name: (short[name], name == "cpu", name))
    others = [resource_word(name) for name in short if name != resource]
    each = asked[resource]
    largest = max(amount(room.look.node, resource) for room in rooms)
    best = max(rooms, key=lambda room: (room.left(resource), room.name))
    if largest < each:
        return _beyond_nodes(context, resource, each, largest, others)
    names = {"asked": amount_words(resource, each), "free": amount_words(resource, best.left(resource))}
    hog = _hog(context, rooms, resource) if sifted.resource else None
    if hog is None:
        return tell(Cause.OTHER_RESOURCE_SHORT, {**names, "node": best.name}, says="best node")
    held = hog.cpu_millicores if resource == "cpu" else hog.memory_bytes
    names |= {"hog": hog.name, "held": amount_words(resource, held), "node": hog.node}
    text = "needs {asked}: {free} free; CPU pod {hog} has {held} of GPU node {node}" + _too(others)
    return draft(Cause.OTHER_RESOURCE_SHORT, text, names, root=Subject("pod", hog.namespace, hog.name))


def _too(others: Sequence[str]) -> str:
    return f"; short of {', '.join(others)}, too" if others else ""


def others_beyond_nodes(sifted: Sifted, context: Context) -> Iterator[Finding]:
    """Each resource other than GPUs of which no suitable node has enough, in whatever state the nodes are."""
    out = ("selector", "offers")
    nodes = [one.look.node for one in sifted.looks.values() if one.step not in out]
    if not all(node.allocatable for node in nodes):  # what such a node offers is not known
        return
    for resource, each in sifted.shape.requests:
        largest = max((amount(node, resource) for node in nodes), default=each)
        if largest < each and resource != sifted.resource:
            yield _beyond_nodes(context, resource, each, largest)


def _beyond_nodes(
    context: Context, resource: str, each: int, largest: int, others: Sequence[str] = ()
) -> Finding:
    if not largest and (unknown := _offered_by_nobody(context, resource)):
        return unknown
    names = {"asked": amount_words(resource, each), "largest": amount_words(resource, largest)}
    if not largest:
        return tell(Cause.OTHER_RESOURCE_SHORT, {"asked": names["asked"]})
    text = "needs {asked} on one node, no node has more than {largest}" + _too(others)
    return draft(Cause.OTHER_RESOURCE_SHORT, text, names, permanence=Permanence.NEVER)


def _offered_by_nobody(context: Context, resource: str) -> Finding | None:
    """A typo, or another vendor's: no node of the cluster has it, suitable or not."""
    nodes: Collection[Node] = context.store.records(Kind.NODE).values()
    if any(amount(node, resource) for node in nodes):
        return None
    vendor = f"{resource.partition('/')[0]}/"
    alike = ", ".join(sorted({one.gpu_resource for one in nodes if one.gpu_resource.startswith(vendor)}))
    names = {"resource": resource, "offered": alike}
    return tell(Cause.RESOURCE_NOT_OFFERED, names, says="others" if alike else "nothing")


def _hog(context: Context, rooms: Sequence[Room], resource: str) -> Pod | None:
    if resource not in ("cpu", "memory"):
        return None
    found: list[tuple[int, Pod]] = []
    for room in rooms:
        offered = amount(room.look.node, resource)
        for pod in context.store.pods_on(room.name):
            held = pod.cpu_millicores if resource == "cpu" else pod.memory_bytes
            if not pod.is_finished and not pod.asks_for_gpus and held * 2 >= offered > 0:
                found.append((held, pod))
    return max(found, key=lambda pair: (pair[0], pair[1].name))[1] if found else None


def amount_words(resource: str, count: int) -> str:
    """`4 CPU`, `16 GiB of memory`, `2 GPUs`."""
    if resource == "cpu":
        return f"{count / 1000:g} CPU"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        amount = f"{count / _GIB:.1f}".removesuffix(".0") + " GiB"
        return f"{amount} of {resource_word(resource)}"
    return f"{count} {resource_word(resource, count)}"


def of_gpus(sifted: Sifted, context: Context) -> Finding:
    resource = sifted.resource
    each = dict(sifted.shape.requests)[resource]
    rooms = sifted.short_of("gpus")
    names: dict[str, object] = {"asked": amount_words(resource, each)}
    held = _terminating(rooms, context, resource, each)
    if held is not None:
        return held
    free, best = sifted.once("free", lambda: _free(rooms, resource))
    names |= {"free": free, "best": best.left(resource), "node": best.name}
    if free >= each * max(1, context.waiting):
        return tell(Cause.GPUS_IN_PIECES, names, also=(Cause.GPUS_SHORT,))
    if not free:
        total = sum(amount(one.look.node, resource) for one in rooms)
        names |= {"total": total, "nodes": counted(len(rooms), "node")}
        text = f"needs {{asked}}: all {{total}} {resource_word(resource, total)} on {{nodes}} are allocated"
        return draft(Cause.GPUS_SHORT, text, names)
    return tell(Cause.GPUS_SHORT, names, says="best node")


def too_few_seats(pod: Pod, sifted: Sifted, context: Context) -> Finding | None:
    """Nodes with room, but fewer than its siblings need that wait as it does: those of a gang are kept for
    the members that come first."""
    resource = sifted.resource
    if not resource or not pod.owner_uid:
        return None
    each = dict(sifted.shape.requests)[resource]
    seats = sifted.once("seats", lambda: sum(one.left(resource) // each for one in sifted.short_of("")))
    if not 0 < seats < context.waiting:
        return None
    siblings = context.store.pods_under(pod.owner_uid)
    alike = sum(1 for one in siblings if not one.node and not one.is_finished and one.gpus == pod.gpus)
    if alike != context.waiting:
        return None
    names: dict[str, object] = {"pods": alike, "asked": amount_words(resource, each), "seats": seats}
    return tell(Cause.GPUS_SHORT, names, says="seats")


def _free(rooms: Sequence[Room], resource: str) -> tuple[int, Room]:
    """How many are free in all, and where most are: the first of these, as the funnel has it."""
    left = [one.left(resource) for one in rooms]
    return sum(left), rooms[left.index(max(left))]


def _terminating(rooms: Sequence[Room], context: Context, resource: str, each: int) -> Finding | None:
    if context.now_seconds is None:
        return None
    leaving = _going(rooms, context)
    some = [room for room in rooms if room.name in leaving] if leaving else []
    for room in sorted(some, key=lambda one: (-one.left(resource), one.name)):
        going = leaving[room.name]
        held = sum(one.gpus_allocated for one in going)
        if held and room.left(resource) + held >= each:
            everywhere = [pod for one in rooms for pod in leaving.get(one.name, ())]
            first = going[0]
            minutes = int((context.now_seconds - (first.deleting_seconds or 0.0)) // 60)
            whom = first.name if len(everywhere) == 1 else counted(len(everywhere), "pod")
            sum_ = sum(one.gpus_allocated for one in everywhere)
            field, also = "metadata.deletionTimestamp", (Cause.GPUS_SHORT, Cause.STUCK_TERMINATING)
            told = (of_pod(it, field, ", ".join(it.finalizers), it.deleting_seconds) for it in everywhere)
            names = {"held": sum_, "holder": whom, "minutes": minutes}
            root = Subject("pod", first.namespace, first.name)
            return tell(Cause.HOLDERS_TERMINATING, names, *told, also=also, root=root)
    return None


def _going(rooms: Sequence[Room], context: Context) -> dict[str, list[Pod]]:
    """Pods that hold GPUs and have been terminating for long, by node."""
    names = {room.name for room in rooms}
    found: dict[str, list[Pod]] = {}
    for pod in sorted(context.store.leaving_pods(), key=lambda pod: pod.key):
        is_old = context.is_older(pod.deleting_seconds, _GRACE_SECONDS)
        if pod.node in names and pod.gpus_allocated and is_old:
            found.setdefault(pod.node, []).append(pod)
    return found


def of_company(sifted: Sifted, context: Context) -> Finding:
    """Which pods, by the labels of the term that keeps it off."""
    looks = sifted.dropped["company"]
    kinds = [block.kind for look in looks for block in look.blocks]
    shape = sifted.shape
    count = counted(len(looks), "node")
    if "pod_affinity" in kinds and shape.near:
        return tell(Cause.POD_AFFINITY, {"nodes": count, "term": _term_words(shape.near)}, says="near")
    if "pod_anti_affinity" in kinds and shape.keeps_away:
        return tell(Cause.POD_AFFINITY, {"nodes": count, "term": _term_words(shape.keeps_away)}, says="apart")
    labels = dict(shape.labels)
    for other in context.store.restrictive_pods():
        minded = [one for one in other.traits.keeps_away if concerns(one, shape.namespace, labels, {})]
        if minded and other.node and not other.is_finished:
            names = {"other": other.name, "nodes": count, "term": _term_words(minded)}
            root = Subject("pod", other.namespace, other.name)
            return tell(Cause.POD_AFFINITY, names, says="of another", root=root)
    return tell(Cause.POD_AFFINITY, {"nodes": count}, says="of others")


def _term_words(terms: Sequence[PodTerm]) -> str:
    words = []
    for term in terms:
        labels = ", ".join(
            f"{one.key}={one.values[0]}" if one.operator == "In" and len(one.values) == 1 else one.key
            for one in term.selector or ()
        )
        words.append(f"{labels or 'all pods'} by {term.topology_key}")
    return "; ".join(words)
