"""Which filter keeps a pod off every node, with names and numbers: shortage is not fragmentation, *never
fits* is not *no room now*, and GPUs of pods that are terminating are not in use."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from cockpit.catalogue import Cause, TextPlace, Trait, by_cause, is_a, understand
from cockpit.gangs import scheduler
from cockpit.gangs.draft import draft, joined, not_understood, tell
from cockpit.gangs.sentence import counted
from cockpit.k8s.gpu_resources import is_gpu_resource
from cockpit.model.finding import Evidence, Finding, Funnel, Subject
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.sureness import Sureness
from cockpit.pools.stage import takes_away
from cockpit.triage import autoscaling, claims
from cockpit.triage.context import Context
from cockpit.triage.funnel import Sifted, amount
from cockpit.triage.node_walk import PRESSURE
from cockpit.triage.room import (
    SMALLER,
    amount_words,
    of_company,
    of_gpus,
    of_others,
    others_beyond_nodes,
    too_few_seats,
)
from cockpit.triage.roots import pool_of

_CAUSES = {
    "selector": Cause.SELECTOR,
    "offers": Cause.RESOURCE_NOT_OFFERED,
    "ready": Cause.NODES_NOT_READY,
    "cordoned": Cause.CORDONED,
    "taints": Cause.TAINT,
    "volume": Cause.VOLUME_ELSEWHERE,
    "attach": Cause.VOLUME_NOT_ATTACHABLE,
    "ports": Cause.HOST_PORT,
    "company": Cause.POD_AFFINITY,
    "spread": Cause.TOPOLOGY_SPREAD,
    "pods": Cause.POD_LIMIT,
    "cpu_memory": Cause.OTHER_RESOURCE_SHORT,
    "gpus": Cause.GPUS_SHORT,
}
_MOST_NAMES = 3


def ruled_out(funnel: Funnel, cause: str) -> int | None:
    """How many nodes the filter of that cause takes out; None where the funnel has no such step."""
    left = funnel.nodes
    for step in funnel.steps:
        if _CAUSES.get(step.filter) == cause:
            return left - step.nodes
        left = step.nodes
    return None


class SchedulerWord(NamedTuple):
    """What the scheduler said of a pod: `parts` are counts of nodes, each with the reason."""

    said: Evidence
    preemption: str = ""
    parts: Sequence[tuple[int, str]] = ()

    @property
    def causes(self) -> frozenset[str]:
        """Causes that its parts name, "" for what is not understood."""
        return frozenset(id_of(reason) for _, reason in self.parts)


def verdict(pod: Pod, sifted: Sifted, context: Context, word: SchedulerWord) -> Finding:
    """The cause that the nodes prove, where the scheduler's word does not speak against it, and what an
    autoscaler does about it."""
    return autoscaling.answered(pod, _of_nodes(pod, sifted, context, word), sifted, context)


def _of_nodes(pod: Pod, sifted: Sifted, context: Context, word: SchedulerWord) -> Finding:
    told, besides = word.causes, sorted(_besides(word.causes, sifted))
    is_short, never = Cause.GPUS_SHORT in told, _never(sifted)
    if never is not None and (is_short or _is_unheard(Cause.GPUS_SHORT, told, sifted)):
        return _said(never, sifted, word, besides, Sureness.PROVED if is_short else Sureness.INFERRED)
    computed = _CAUSES.get(sifted.stopped, "")
    if not computed or not _agrees(computed, told, sifted):
        few = too_few_seats(pod, sifted, context) if is_short else None
        return _as_told(pod, sifted, word) if few is None else _said(few, sifted, word, besides, few.sureness)
    made = _MADE[computed](sifted, context)
    sureness = Sureness.INFERRED if _is_unheard(computed, told, sifted) else Sureness.PROVED
    sureness = sureness if made.sureness is Sureness.SAID else made.sureness
    found = _said(made, sifted, word, (*further(sifted, made.cause, context), *besides), sureness)
    return _preempting(pod, found, word.preemption)


def _said(
    found: Finding, sifted: Sifted, word: SchedulerWord, also: Sequence[str], sureness: Sureness
) -> Finding:
    evidence, since = (word.said, *found.evidence), word.said.since_seconds
    made = replace(found, sureness=sureness, evidence=evidence, funnel=sifted.funnel, since_seconds=since)
    return _beside(made, also)


def _beside(found: Finding, also: Sequence[str]) -> Finding:
    every = dict.fromkeys((*found.also, *also))
    return replace(found, also=tuple(one for one in every if one != found.cause))


def is_of_state(found: Finding, sifted: Sifted) -> bool:
    """Whether that is told of what passes of the nodes themselves: not ready, cordoned, full of pods."""
    return sifted.stopped in ("ready", "cordoned", "pods") and found.cause == _CAUSES[sifted.stopped]


def beyond_nodes(sifted: Sifted, context: Context) -> Iterator[Finding]:
    """What no node that suits the pod ever has, in whatever state it is: more GPUs than any of them, more of
    another resource, or one that none of them offers."""
    never = _never(sifted)
    if never is not None:
        yield replace(never, sureness=Sureness.INFERRED, funnel=sifted.funnel)
    if sifted.stopped not in ("selector", "offers"):
        for found in others_beyond_nodes(sifted, context):
            yield replace(found, sureness=Sureness.INFERRED, funnel=sifted.funnel)


def _never(sifted: Sifted) -> Finding | None:
    """No node that the selector leaves is large enough: waiting, uncordoning and tolerating do not help."""
    resource = sifted.resource
    if not resource:
        return None
    each = dict(sifted.shape.requests)[resource]
    largest = sifted.largest
    if not largest or largest >= each:
        return None
    names = {"asked": amount_words(resource, each), "largest": largest}
    return tell(Cause.GPUS_SHORT, names, says="too large", facts=(("remedy", SMALLER),))


def _besides(told: frozenset[str], sifted: Sifted) -> frozenset[str]:
    """What the scheduler counts nodes for, as causes that hold too: what the nodes themselves show is
    theirs to tell (`further`), and a selector that leaves nodes holds nothing up."""
    is_left = any(one.filter == "selector" and one.nodes for one in sifted.funnel.steps)
    shown = {_CAUSES[step] for steps in sifted.kept_by for step in steps - {"selector"}}
    if shown & {Cause.RESOURCE_NOT_OFFERED}:
        shown.add(Cause.GPUS_SHORT)  # nodes without a GPU are told as short of it
    if shown & {Cause.NODES_NOT_READY, Cause.CORDONED}:
        shown.add(Cause.TAINT)  # a node's own taints are told as taints
    return told - shown - ({"", Cause.SELECTOR} if is_left else {""})


def _agrees(computed: str, told: frozenset[str], sifted: Sifted) -> bool:
    """Whether what was computed is among what the scheduler said. Nodes without a GPU are told as short of
    it."""
    if computed in told or not told:
        return True
    if computed in _BEFORE and computed != Cause.GPUS_SHORT and _is_unheard(computed, told, sifted):
        return True
    if computed == Cause.RESOURCE_NOT_OFFERED:
        return Cause.GPUS_SHORT in told
    # the scheduler stops at a node's first filter, and names a node's own taints as taints
    return computed == Cause.NODES_NOT_READY and bool(told & {Cause.TAINT, Cause.NODES_NOT_READY})


_STATES = frozenset({"ready", "cordoned", "taints"})
_TO_ROOM = _STATES | {"selector", "ports"}
_TO_VOLUMES = _TO_ROOM | {"offers", "pods", "cpu_memory", "gpus"}
_BEFORE: Mapping[str, frozenset[str]] = {
    Cause.SELECTOR: _STATES,
    Cause.HOST_PORT: _STATES | {"selector"},
    **dict.fromkeys((Cause.RESOURCE_NOT_OFFERED, Cause.GPUS_SHORT), _TO_ROOM),
    Cause.VOLUME_NOT_ATTACHABLE: _TO_VOLUMES,
    Cause.VOLUME_ELSEWHERE: _TO_VOLUMES | {"attach"},
    Cause.TOPOLOGY_SPREAD: _TO_VOLUMES | {"attach", "volume"},
    Cause.POD_AFFINITY: _TO_VOLUMES | {"attach", "volume", "spread"},
}
"""Filters that the scheduler passes a node through before the one of that cause."""


def _is_unheard(cause: str, told: frozenset[str], sifted: Sifted) -> bool:
    """Whether the scheduler came to the filter of that cause on no node: it stops at a node's first one."""
    before = _BEFORE.get(cause, frozenset())
    is_before = told <= {_CAUSES[step] for step in before}
    return not told or (is_before and all(before & steps for steps in sifted.kept_by))


def further(sifted: Sifted, cause: str, context: Context) -> list[str]:
    """Causes that hold beside the one that stopped the last node: what alone keeps a node from the pod, and
    what would keep it from every node that suits it, were the first one mended."""
    stopped = sifted.stopped
    alone = {step for steps in sifted.kept_by if len(steps) == 1 for step in steps}
    out = {"selector", "offers"} - {stopped}
    behind = [steps - {stopped} for steps in sifted.kept_by if stopped in steps and not steps & out]
    steps = (alone | (frozenset.intersection(*behind) if behind else frozenset())) - {stopped}
    causes = (
        _of_claims(sifted, context) if one == "volume" else _CAUSES[one] for one in _FURTHER if one in steps
    )
    return [one for one in dict.fromkeys(causes) if one != cause]


def _of_claims(sifted: Sifted, context: Context) -> str:
    found = claims.by_itself(sifted.shape, context)
    return Cause.VOLUME_ELSEWHERE if found is None else found.cause


_FURTHER = (
    *("ready", "cordoned", "taints", "volume", "attach", "ports", "company", "spread"),
    *("pods", "cpu_memory", "gpus"),
)


def computed(sifted: Sifted, context: Context) -> Finding | None:
    """What keeps pods of that shape off every node, as the nodes tell it without a scheduler's word; None
    where some node would take one."""
    found = _never(sifted)
    if found is None:
        cause = _CAUSES.get(sifted.stopped)
        if cause is None:
            return None
        made = _MADE[cause](sifted, context)
        found = _beside(made, further(sifted, made.cause, context))
    sureness = Sureness.INFERRED if found.sureness is Sureness.SAID else found.sureness
    return replace(found, sureness=sureness, funnel=sifted.funnel)


# ---- by filter


def _of_selector(sifted: Sifted, context: Context) -> Finding:
    nodes = [look.node for look in sifted.dropped.get("selector", ())]  # none where there is no node
    labels = [dict(node.labels) for node in nodes]
    if not nodes:
        return tell(Cause.NO_NODES)
    if sifted.shape.node_name:
        return tell(Cause.SELECTOR, {"node": sifted.shape.node_name}, says="node name")
    for key, value in sifted.shape.node_selector:
        if not any(one.get(key) == value for one in labels):
            others = ", ".join(sorted({one[key] for one in labels if key in one})[:_MOST_NAMES])
            names = {"selector": f"{key}={value}", "others": others}
            return tell(Cause.SELECTOR, names, says="other values" if others else "no label")
    labels_asked = ", ".join(f"{key}={value}" for key, value in sifted.shape.node_selector)
    if len(sifted.shape.node_selector) > 1 and sifted.shape.node_terms is None:
        return tell(Cause.SELECTOR, {"selector": labels_asked}, says="labels together")
    every = (one for term in sifted.shape.node_terms or () for one in (*term.expressions, *term.fields))
    words = " or ".join(f"{one.key} {one.operator} {', '.join(one.values)}".strip() for one in every)
    return tell(Cause.SELECTOR, {"selector": words or labels_asked}, says="affinity")


def _of_offers(sifted: Sifted, context: Context) -> Finding:
    resource = sifted.resource
    nodes = [look.node for look in sifted.dropped["offers"]]
    everywhere = [*nodes, *(look.node for look in sifted.dropped.get("selector", ()))]
    is_offered = any(amount(node, resource) for node in everywhere)
    dark = [node for node in nodes if node.gpus_expected and not _gpus(node)]
    units = sorted({name for node in nodes for name in _gpus(node)})
    cause = Cause.RESOURCE_NOT_OFFERED
    if units and _is_other_unit(resource, units):
        return tell(Cause.OTHER_GPU_UNIT, {"resource": resource, "offered": ", ".join(units)}, also=(cause,))
    if is_offered:
        labels = ", ".join(f"{key}={value}" for key, value in sifted.shape.node_selector) or "its affinity"
        return tell(Cause.SELECTOR, {"selector": labels, "resource": resource}, says="no offer")
    if dark:
        names, root = {"resource": resource, "node": _named(dark)}, Subject("node", "", dark[0].name)
        return tell(cause, names, says="dark", also=(Cause.GPU_STACK_DOWN,), root=root)
    offered = ", ".join(sorted({name for node in everywhere for name in _gpus(node)}))
    return tell(cause, {"resource": resource, "offered": offered}, says="others" if offered else "nothing")


def _is_other_unit(resource: str, offered: Sequence[str]) -> bool:
    if resource == "nvidia.com/gpu":
        return all(one.startswith("nvidia.com/mig-") or one.endswith(".shared") for one in offered)
    return resource.startswith("nvidia.com/mig-") and any("gpu" in one or "mig-" in one for one in offered)


def _gpus(node: Node) -> list[str]:
    return [name for name, count in node.allocatable if count > 0 and is_gpu_resource(name)]


def _named(nodes: Sequence[Node]) -> str:
    names = [node.name for node in nodes[:_MOST_NAMES]]
    return ", ".join(names) if len(nodes) <= _MOST_NAMES else f"{len(nodes)} nodes"


def _all_of(nodes: Sequence[Node], is_: str = "is", are: str = "are") -> str:
    several = f"the {len(nodes)} nodes that suit it {are}"
    return f"the one node that suits it {is_}" if len(nodes) == 1 else several


_OTHER_NODE = "Wait for another node, or add one; do not tolerate the taint."


def _of_ready(sifted: Sifted, context: Context) -> Finding:
    nodes = [look.node for look in sifted.dropped["ready"]]
    states: dict[str, list[Node]] = {}
    for node in nodes:
        states.setdefault(_state(node), []).append(node)
    state, most = max(states.items(), key=lambda pair: len(pair[1]))
    words = f"{_all_of(most)} {state}: " + "{node}"
    also = {"not ready": (Cause.NODE_NOT_READY,)}.get(state, (Cause.NODE_PRESSURE,) * ("pressure" in state))
    facts = (("remedy", _OTHER_NODE),) if "being" in state else ()
    names = {"node": _named(most)}
    return draft(Cause.NODES_NOT_READY, words, names, facts=facts, also=also, root=_root(most))


def _state(node: Node) -> str:
    for one in node.conditions:
        if one.status == "True" and one.type in PRESSURE:
            what = one.type.removesuffix("Pressure")
            return f"under {what if what.isupper() else what.lower()} pressure"
    for taint in node.taints:
        name = taint.key.removeprefix("node.kubernetes.io/")
        if name != taint.key and name.endswith("-pressure"):
            return f"under {name.replace('-', ' ')}"
        if name in ("out-of-service", "network-unavailable") and name != taint.key:
            return {"out-of-service": "out of service"}.get(name, "without network")
        if takes_away(taint.key):
            return f"being removed (taint {taint.key})"
    return "being deleted" if node.deleting_seconds is not None else "not ready"


def _root(nodes: Sequence[Node]) -> Subject | None:
    return Subject("node", "", nodes[0].name) if len(nodes) == 1 else pool_of(nodes)


def _of_cordoned(sifted: Sifted, context: Context) -> Finding:
    nodes = [look.node for look in sifted.dropped["cordoned"]]
    words = f"{_all_of(nodes)} cordoned: {{node}}"
    return draft(Cause.CORDONED, words, {"node": _named(nodes)}, root=_root(nodes))


def _of_taints(sifted: Sifted, context: Context) -> Finding:
    looks = sifted.dropped["taints"]
    near = [look for look in looks if look.room and all(block.kind == "taint" for block in look.blocks)]
    taints: dict[str, int] = {}  # first those that are all that keeps the pod from a node
    for look in near or looks:
        for block in look.blocks:
            if block.kind == "taint":
                taints[block.detail] = taints.get(block.detail, 0) + 1
    taint = max(taints, key=lambda one: (taints[one], one))
    nodes = [look.node for look in looks if any(block.detail == taint for block in look.blocks)]
    which = _all_of(nodes, "has", "have")
    if len(nodes) < len(looks):
        which = f"{len(nodes)} of the {len(looks)} nodes that suit it {'have' if len(nodes) > 1 else 'has'}"
    words, names = f"{which} taint {{taint}}, not tolerated", {"taint": taint, "node": _named(nodes)}
    return draft(Cause.TAINT, words, names, root=pool_of(nodes))


def _of_ports(sifted: Sifted, context: Context) -> Finding:
    looks = sifted.dropped["ports"]
    ports = sorted({block.detail for look in looks for block in look.blocks if block.kind == "port"})
    return tell(Cause.HOST_PORT, {"port": ", ".join(ports), "nodes": counted(len(looks), "node")})


def _of_volume(sifted: Sifted, context: Context) -> Finding:
    if (found := claims.by_itself(sifted.shape, context)) is not None:
        return found
    blocks = (block for look in sifted.dropped["volume"] for block in look.blocks)
    why = next((block.detail for block in blocks if block.kind == "volume"), "")
    names = {"claim": ", ".join(sifted.shape.claims), "why": why}
    return tell(Cause.VOLUME_ELSEWHERE, names, says="by its filter")


def _of_attach(sifted: Sifted, context: Context) -> Finding:
    looks = sifted.dropped["attach"]
    drivers = sorted({block.detail for look in looks for block in look.blocks if block.kind == "attach"})
    names = {"claim": ", ".join(sifted.shape.claims), "driver": ", ".join(drivers)}
    names["nodes"] = counted(len(looks), "node")
    return tell(Cause.VOLUME_NOT_ATTACHABLE, names, says="limit")


def _of_spread(sifted: Sifted, context: Context) -> Finding:
    looks = sifted.dropped["spread"]
    blocks = [block for look in looks for block in look.blocks if block.kind in ("skewed", "unlabelled")]
    is_skew = any(block.kind == "skewed" for block in blocks)
    names = {"count": len(looks), "nodes": counted(len(looks), "node"), "key": blocks[0].detail}
    names["lack"] = "lacks" if len(looks) == 1 else "lack"
    return tell(Cause.TOPOLOGY_SPREAD, names, says="skew" if is_skew else "label")


def _of_pods(sifted: Sifted, context: Context) -> Finding:
    nodes = [look.node for look in sifted.dropped["pods"]]
    limit = dict(nodes[0].allocatable).get("pods", 0)
    words = f"{_all_of(nodes)} full of pods: limit {{limit}} a node"
    names = {"limit": limit, "node": _named(nodes)}
    return draft(Cause.POD_LIMIT, words, names, root=pool_of(nodes))


_MADE: dict[str, Callable[[Sifted, Context], Finding]] = {
    Cause.SELECTOR: _of_selector,
    Cause.RESOURCE_NOT_OFFERED: _of_offers,
    Cause.NODES_NOT_READY: _of_ready,
    Cause.CORDONED: _of_cordoned,
    Cause.TAINT: _of_taints,
    Cause.VOLUME_ELSEWHERE: _of_volume,
    Cause.HOST_PORT: _of_ports,
    Cause.POD_AFFINITY: of_company,
    Cause.POD_LIMIT: _of_pods,
    Cause.OTHER_RESOURCE_SHORT: of_others,
    Cause.GPUS_SHORT: of_gpus,
    Cause.TOPOLOGY_SPREAD: _of_spread,
    Cause.VOLUME_NOT_ATTACHABLE: _of_attach,
}


def _preempting(pod: Pod, found: Finding, preemption: str) -> Finding:
    """What the scheduler says of preemption, where it would be the way out: room is all that misses."""
    if not is_a(found.cause, Trait.PREEMPTION_HELPS):
        return found
    if not pod.traits.wishes.preempts and (not preemption or understand(TextPlace.POD, preemption)):
        text, cause = "PriorityClass {name} may not preempt; ", Cause.MAY_NOT_PREEMPT
        key, value = "priority_class", pod.priority_class or "of the pod"
    elif (pod.priority or 0) > 0 and any(  # nodes were looked at for victims, and none had one
        "no preemption victims found" in reason.lower() or "no victims found" in reason
        for _, reason in scheduler.parse(preemption).parts
    ):
        text, cause = "no pod below its priority {name} to preempt; ", Cause.NO_VICTIMS
        key, value = "priority", str(pod.priority)
    else:
        return found
    also = (found.cause, *(one for one in found.also if one != cause))
    return replace(
        joined(found, text, name=value), cause=cause, facts=((key, value), *found.facts), also=also
    )


def _as_told(pod: Pod, sifted: Sifted, word: SchedulerWord) -> Finding:
    """The scheduler's own word, where the nodes do not prove it: room may have come since, or something is
    not known here."""
    said, told, counts = word.said, word.causes, Counter[str]()
    for number, reason in word.parts:
        counts[id_of(reason)] += number
    rows = (by_cause()[one] for one in told if one)
    ranked = sorted((-counts[row.cause], row.specificity, row.cause) for row in rows if row.specificity)
    known = [cause for *_, cause in ranked]
    if not known:
        return not_understood(", ".join(reason for _, reason in word.parts) or said.value, said)
    asked, resource = dict(sifted.shape.requests), sifted.resource
    return Finding(
        cause=known[0],
        sentence=scheduler.plain(said.value, gpus=pod.gpus),
        facts=(("asked", amount_words(resource, asked[resource])),) if resource else (),
        evidence=(said,),
        funnel=sifted.funnel,
        since_seconds=said.since_seconds,
        also=tuple(one for one in known[1:] if one in _besides(told, sifted)),
    )


def id_of(reason: str) -> str:
    """The cause that a part of the scheduler's sentence names, "" where it is not understood."""
    short = scheduler.short_of(reason)
    if short:
        return Cause.GPUS_SHORT if is_gpu_resource(short) else Cause.OTHER_RESOURCE_SHORT
    found = understand(TextPlace.NODES, reason)
    return "" if found is None else found.cause
