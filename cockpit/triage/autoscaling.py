"""What an autoscaler says of a pod for which no node has room, and what has come of the machine it makes.

Its word is newer than the shortage that it answers: a machine is on its way, a pool is at its maximum, the
cloud has none. A machine that has joined counts before all words: then the pod waits for its GPU driver."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from cockpit.catalogue import Cause, Permanence, TextPlace, Trait, is_a, lasts, understand
from cockpit.fit.demand import shape_of_pod
from cockpit.fit.node_filters import fit_nodes
from cockpit.fit.remedies import another_node
from cockpit.fit.scheduling_context import UNKNOWN, Surroundings
from cockpit.fit.shape import Shape
from cockpit.fit.snapshot import ClusterSnapshot
from cockpit.gangs.draft import draft, followed, joined, tell, without_empty
from cockpit.k8s.tolerations import HARD, is_tolerated
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.node import Node, Taint
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine
from cockpit.model.record import Condition, Kind
from cockpit.model.scheduling import Toleration
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.pools import registry
from cockpit.pools.demand import lasting_taints
from cockpit.pools.failures import failure_of_machine
from cockpit.pools.next_nodes import may_serve
from cockpit.pools.node_labels import is_unlabelled
from cockpit.pools.owner import FailureClass, GroupRefusal, PoolFailure
from cockpit.pools.promise import gpus_promised, whole_sibling
from cockpit.pools.prospects import PoolGrowth, Prospect, Serving, all_serving, prospects
from cockpit.triage.context import Context
from cockpit.triage.funnel import Sifted, amount
from cockpit.triage.judgement import of_event
from cockpit.triage.node_walk import WAITS, coming_until, judge
from cockpit.triage.pool_walk import evidence_of
from cockpit.triage.room import SMALLER, amount_words

NEWS_SECONDS: Final = 900.0
"""A word that a node is on its way is old after so long: machines that do not join by then are given up."""

_SAYING = frozenset(
    {"NotTriggerScaleUp", "TriggeredScaleUp", "Nominated", "FailedScheduling", "FailedToScaleUpGroup"}
)
_IN_SHORT: Final[dict[str, str]] = {
    Cause.POOL_AT_MAXIMUM: "; the autoscaler adds no node",
    Cause.NODE_COMING: "; a node is on its way",
    Cause.NO_MACHINE: "; no machine comes",
}
_ANY = 1 << 30
"""GPUs of a node for which nothing tells how many it has."""
_NO_CAPACITY = "InsufficientCapacityError"
_MOST_NODES = 3


def answered(pod: Pod, found: Finding, sifted: Sifted, context: Context) -> Finding:
    """The cause with what the autoscaler says, or with the new node whose GPUs the pod waits for."""
    if not (is_a(found.cause, Trait.NODE_LIKE_THESE) or is_a(found.cause, Trait.OTHER_NODE)):
        return found
    return (
        _without_gpus_yet(found, sifted, context)
        or _on_lost_gpus(found, sifted, context)
        or _by_pools(pod, said(pod, found, context), context)
    )


def said(pod: Pod, found: Finding, context: Context) -> Finding:
    """The cause with the autoscaler's newest word behind it, where there is one."""
    for event in context.store.events_of(pod.uid):
        if event.reason not in _SAYING:
            continue
        if refusals := registry.refusals(event):
            return _refused(pod, found, refusals, event, context)
        known = understand(TextPlace.POD, event.message)
        if known is None or known.cause not in _IN_SHORT:
            continue
        if known.cause == Cause.NODE_COMING and (late := _given_up(known.names.get("node", ""), context)):
            machine, why = late
            words, pool = "machine {machine}: {why}", machine.pool_key.rpartition("/")[2]
            names = {"machine": machine.name, "why": why.kind.value, "pool": pool}
            return _with(found, Cause.NO_MACHINE, words, names, evidence_of(why, pool), event)
        if _grows_in_vain(known.names.get("pool", ""), pod, context):
            continue
        # of other nodes only what is done for the pod counts, and not that no pool is found either
        is_news = known.cause != Cause.NO_MACHINE and context.is_within(event.last_seconds, NEWS_SECONDS)
        if is_a(found.cause, Trait.OTHER_NODE) and not is_news:
            return found
        nominated = known.names.get("node", "") if known.cause == Cause.NODE_COMING else ""
        if none := _sold_out(nominated, event, context):
            pool = none.object_name.rpartition("-")[0]
            words, cause, names = "the cloud has no machine for pool {pool}", Cause.NO_MACHINE, {"pool": pool}
            return _with(found, cause, words, names, none, event)
        names = {key: value for key, value in known.names.items() if value}
        return _with(found, known.cause, without_empty(known.wording.words, known.names), names, event)
    return found


def _refused(  # what was found, and what the autoscaler says of it
    pod: Pod, found: Finding, refusals: Sequence[GroupRefusal], event: Event, context: Context
) -> Finding:
    """The cause with what keeps the pools that would serve the pod from growing. The event counts groups and
    names none: a reason is told only where every pool that would serve the pod is kept back."""
    told = replace(found, evidence=(*found.evidence, of_event(event)))
    kept = [one for one in refusals if one.is_full or one.is_waiting]
    known = _pools_that_serve(pod, context)
    if not kept or known == Serving((), ()):
        return told
    pools = None if known is None else known.sure or known.perhaps
    if any(one.is_of_all for one in kept):
        words = "no scale-up: the autoscaler is at its maximum of nodes"
        return _with(found, Cause.POOL_AT_MAXIMUM, words, {}, event)
    states = {_kept_back(one, kept) for one in pools} if pools is not None else {_only(kept)}
    if None in states:  # one that would serve the pod may grow
        return told
    if pools is not None and len(pools) > sum(one.groups for one in kept):
        pools = None  # which of them is meant is not told
    names = {"whose": _named(pools)}
    if states == {PoolGrowth.FULL}:
        are = "are at their" if pools is not None and len(pools) > 1 else "is at its"
        return _with(found, Cause.POOL_AT_MAXIMUM, f"no scale-up: {{whose}} {are} maximum", names, event)
    if states == {PoolGrowth.WAITS}:
        return _with(found, Cause.NO_MACHINE, "autoscaler backs off from {whose}", names, event)
    return followed(told, f"; {_kinds(kept)}")


def _by_pools(pod: Pod, found: Finding, context: Context) -> Finding:
    """The cause with what becomes of the pools that would serve the pod, where no event tells it."""
    now = context.now_seconds
    known = None if found.cause in _IN_SHORT or now is None else _pools_that_serve(pod, context)
    if known == Serving((), ()) and found.cause == Cause.SELECTOR:
        return _but_for(pod, found, context) or found
    if known is None or not known.sure or now is None:
        return found
    pools = known.sure
    states, whose = {one.growth for one in pools}, _named(pools)
    if states <= {PoolGrowth.STOPPED, PoolGrowth.WAITS}:
        return _not_grown(found, pools, whose)
    if lasts(found) is Permanence.PASSES or any(one.nodes for one in pools):
        return found
    if PoolGrowth.GROWS not in states and states != {PoolGrowth.FULL}:
        facts = (*found.facts, ("remedy", f"Add a node to {whose}."))
        acts = replace(found, permanence=Permanence.ACTS, facts=facts)
        return followed(acts, "; {whose}, at 0 nodes, would take it", whose=whose)
    waits = 0.0 if pod.created_seconds is None else now - pod.created_seconds
    cause, more = Cause.NODE_COMING, {}
    if states == {PoolGrowth.FULL}:
        cause, more = Cause.POOL_AT_MAXIMUM, {"maximum": pools[0].maximum}
    elif any(registry.refusals(event) for event in context.store.events_of(pod.uid)):
        return found
    elif waits > NEWS_SECONDS:
        cause, more = Cause.NO_MACHINE, {"minutes": int(waits / 60)}
    return _instead(
        found, tell(cause, {"whose": whose, **more}, says="at 0 nodes"), (found.cause, *found.also)
    )


def _instead(found: Finding, made: Finding, also: tuple[str, ...] = ()) -> Finding:
    """What is told in the place of a cause, with what that one rests on."""
    return replace(
        made,
        evidence=(*made.evidence, *found.evidence),
        funnel=found.funnel,
        since_seconds=found.since_seconds,
        also=also,
    )


def _but_for(pod: Pod, found: Finding, context: Context) -> Finding | None:
    """Of a pool at 0 nodes that has the labels which no node has: what else of it keeps the pod off."""
    shape, snapshot = shape_of_pod(pod), ClusterSnapshot(context.store, context.around)
    for pool in prospects(context.store, context.now_seconds):
        if pool.owner is None or pool.nodes:
            continue
        told, asked = registry.template(pool.owner), shape
        taints = [taint for taint in told.taints if taint.effect in HARD]
        taints = [taint for taint in taints if not is_tolerated(taint, shape.tolerations)]
        if taints:
            asked = replace(asked, tolerations=(Toleration(operator="Exists"),))
        is_small = told.gpus is not None and told.gpus < shape.gpus
        if is_small:
            fewer = {**dict(shape.requests), shape.gpu_resource: told.gpus or 0}
            asked = replace(asked, requests=tuple(fewer.items()))
        if not (taints or is_small) or may_serve(pool.owner, (), asked, snapshot) is not True:
            continue
        root = Subject("pool", "", pool.name)
        if not is_small:
            names = {"whose": _named([pool]), "taint": taints[0].key}
            return _instead(found, tell(Cause.TAINT, names, says="at 0 nodes", root=root))
        asked_words = amount_words(shape.gpu_resource, shape.gpus)
        small = {"asked": asked_words, "whose": _named([pool]), "each": told.gpus or 0}
        remedy = (("remedy", SMALLER),)
        made = tell(Cause.GPUS_SHORT, small, says="at 0 nodes", root=root, facts=remedy)
        return _instead(found, made, (Cause.TAINT,) if taints else ())
    return None


def _not_grown(found: Finding, pools: Sequence[Prospect], whose: str) -> Finding:
    """All of them are kept back by their autoscaler, or have none that works."""
    failures = [(one.failure, one.name) for one in pools if one.failure is not None]
    kinds = {failure.kind.value for failure, _ in failures}
    names, words = {"whose": whose}, "autoscaler backs off from {whose}"
    if any(one.growth is PoolGrowth.STOPPED for one in pools):
        words = "the autoscaler of {whose} does not work"
    elif kinds == {FailureClass.BOUNDS.value}:
        words = "invalid bounds of {whose}"
    elif len(kinds) == 1 and kinds != {FailureClass.OTHER.value}:
        names, words = {"whose": whose, "why": kinds.pop()}, f"{words}: {{why}}"
    said = (evidence_of(failure, name) for failure, name in failures)
    made = _with(found, Cause.NO_MACHINE, words, names, *said)
    remedies = {failure.remedy for failure, _ in failures}
    return replace(made, facts=(*made.facts, ("remedy", remedies.pop()))) if len(remedies) == 1 else made


def _kept_back(pool: Prospect, kept: Sequence[GroupRefusal]) -> PoolGrowth | None:
    """What of the reasons is that of the pool: None where it may grow; BY_HAND where it may be any."""
    if pool.growth in (PoolGrowth.FULL, PoolGrowth.WAITS, PoolGrowth.STOPPED):
        return pool.growth
    only = _only(kept)
    if pool.growth is PoolGrowth.BY_HAND:
        return only
    may_wait = any(one.is_waiting for one in kept) and not pool.is_told
    return PoolGrowth.WAITS if may_wait else None


def _only(kept: Sequence[GroupRefusal]) -> PoolGrowth:
    if all(one.is_full for one in kept):
        return PoolGrowth.FULL
    return PoolGrowth.WAITS if all(one.is_waiting for one in kept) else PoolGrowth.BY_HAND


def _named(pools: Sequence[Prospect] | None) -> str:
    names = [one.name for one in pools or () if not is_unlabelled(one.name)]
    if not names or len(names) < len(pools or ()):
        return "its pool"
    return f"pool {names[0]}" if len(names) == 1 else f"pools {', '.join(names)}"


def _kinds(kept: Sequence[GroupRefusal]) -> str:
    full = sum(one.groups for one in kept if one.is_full)
    waiting = sum(one.groups for one in kept if one.is_waiting)
    return f"node groups: {full} at the maximum, {waiting} in backoff"


def _pools_that_serve(pod: Pod, context: Context) -> Serving | None:
    shape = shape_of_pod(pod)
    if not context.knows_nodes or not shape.gpus:
        return None
    return all_serving(shape, context.store, context.now_seconds, context.around)


def _grows_in_vain(pool: str, pod: Pod, context: Context) -> bool:
    known = _pools_that_serve(pod, context) if pool else None
    if known is None or any(pool == one.name for some in known for one in some):
        return False
    return any(pool == one.name for one in prospects(context.store, context.now_seconds))


def _with(found: Finding, cause: str, words: str, names: dict[str, str], *said: Event | Evidence) -> Finding:
    return replace(
        followed(found, f"; {words}", _IN_SHORT[cause], **names),
        cause=cause,
        sureness=Sureness.SAID if said else Sureness.INFERRED,
        permanence=None,
        facts=(*names.items(), *found.facts),
        evidence=(*(one if isinstance(one, Evidence) else of_event(one) for one in said), *found.evidence),
        also=(found.cause, *found.also),
    )


def _given_up(nominated: str, context: Context) -> tuple[Machine, PoolFailure] | None:
    """The machine `kind/name` that the pod was nominated to, where it is there and will not join."""
    name, now = nominated.rpartition("/")[2], context.now_seconds
    machines: Iterator[Machine] = iter(context.store.records(Kind.MACHINE).values())
    machine = next((one for one in machines if name and one.name == name), None)
    why = None if machine is None or now is None else failure_of_machine(machine, context.store, now)
    return None if machine is None or why is None else (machine, why)


def _sold_out(nominated: str, said: Event, context: Context) -> Event | None:
    """The newest stockout of the pool of a machine `kind/name` that the pod was nominated to.

    A machine that could not be launched is deleted and the pod nominated to another one, so a machine that
    follows counts as failed until it has been launched.
    """
    kinds = {one.api_kind.lower(): one.api_kind for one in registry.watched() if one.kind == Kind.MACHINE}
    word, _, machine = nominated.partition("/")
    kind, pool = kinds.get(word), machine.rpartition("-")[0]
    newest: Event | None = None
    for event in context.store.records(Kind.EVENT).values() if kind else ():
        if event.object_kind != kind or event.object_name.rpartition("-")[0] != pool:
            continue
        if event.reason == "Launched" and event.object_name == machine:
            return None
        is_later = newest is None or (event.last_seconds or 0.0) > (newest.last_seconds or 0.0)
        if event.reason == _NO_CAPACITY and is_later:
            newest = event
    if newest is None or (newest.last_seconds or 0.0) < (said.last_seconds or 0.0) - NEWS_SECONDS:
        return None
    return newest


# ---- machines that have joined


def _without_gpus_yet(found: Finding, sifted: Sifted, context: Context) -> Finding | None:
    """NODE_COMING where a new node takes the pod, with all that it asks for, as soon as it is ready and its
    driver and device plugin are up."""
    resource, now = sifted.resource, context.now_seconds
    if not resource or now is None:
        return None
    every = prospects(context.store, now)
    dark = {node.name for pool in every if pool.growth is PoolGrowth.DARK for node in pool.nodes}
    new = [
        (until, look.node)
        for looks in sifted.dropped.values()
        for look in looks
        if not look.node.gpu_allocatable
        and look.node.name not in dark
        and (until := coming_until(look.node, context.store, now)) is not None
        and judge(look.node, context.store, now) is None
        and takes_when_up(look.node, sifted.shape, context.store, context.around)
    ]
    waiting = [pair for pair in new if pair[1].ready == "True"] or new
    if not waiting or (waiting[0][1].ready != "True" and not is_a(found.cause, Trait.NODE_LIKE_THESE)):
        return None  # that a node is not ready yet has a cause of its own
    nodes = [node for _, node in waiting]
    what = "waits for the GPU driver on {node}"
    if nodes[0].ready != "True":
        what = "waits for node {node} to get ready" if len(nodes) == 1 else "waits for {node} to get ready"
    no_gpus = (
        Evidence(f"Node {node.name}", "allocatable", "no GPU yet", node.created_seconds)
        for node in nodes[:_MOST_NODES]
    )
    asked = amount_words(resource, dict(sifted.shape.requests)[resource])
    whom = nodes[0].name if len(nodes) == 1 else f"{len(nodes)} new nodes"
    ends = datetime.fromtimestamp(max(until for until, _ in waiting), UTC).strftime("%H:%M")
    words, names = f"needs {{asked}}: {what}, until {{until}} UTC at most", {"asked": asked, "node": whom}
    made = draft(Cause.NODE_COMING, words, {**names, "until": ends}, *no_gpus, sureness=Sureness.INFERRED)
    return _instead(found, made, (found.cause, *(it for it in found.also if it != Cause.GPU_STACK_DOWN)))


# ---- nodes whose GPUs are lost


def _on_lost_gpus(found: Finding, sifted: Sifted, context: Context) -> Finding | None:
    """The trouble of the nodes that would take the pod, were their GPUs there: where no other node may."""
    resource, now = sifted.resource, context.now_seconds
    if not resource or now is None or not is_a(found.cause, Trait.LOST_GPUS):
        return None
    each = dict(sifted.shape.requests)[resource]
    if any(amount(node, resource) >= each for node in _selected(sifted)):
        return None
    lost = [
        (node, trouble)
        for node in _selected(sifted)
        if (promise := gpus_promised(node, context.store)) is not None
        and promise.resource == resource
        and (promise.gpus or _ANY) >= each
        and (trouble := judge(node, context.store, now)) is not None
        and trouble.cause in (Cause.GPU_STACK_DOWN, Cause.GPUS_UNHEALTHY)
    ]
    if not lost:
        return None
    node, trouble = lost[0]
    trouble = replace(trouble, words=trouble.words.removesuffix(WAITS))  # the node tells it
    head, count = (
        ("{count} nodes as {node}: ", {"count": len(lost)}) if len(lost) > 1 else ("node {node}: ", {})
    )
    told = joined(trouble, head, **count, node=node.name)
    names = {one.name for one, _ in lost}
    looks = [look for look in sifted.dropped.get("offers", ()) if look.node.name in names]
    is_tainted = any(block.kind == "taint" for look in looks for block in look.blocks)
    also = (found.cause, *found.also, *((Cause.TAINT,) if is_tainted else ()))
    facts = (("asked", amount_words(resource, each)), ("node", node.name), *trouble.facts)
    told = replace(told, facts=facts, root=Subject("node", "", node.name) if len(lost) == 1 else None)
    return _instead(found, told, tuple(dict.fromkeys(one for one in also if one != trouble.cause)))


def _selected(sifted: Sifted) -> Iterator[Node]:
    for step, looks in sifted.dropped.items():
        if step != "selector":
            yield from (look.node for look in looks)
    if "gpus" not in sifted.dropped:
        yield from (room.look.node for room in sifted.rooms)


_OF_DEVICES = ("nvidia.com/", "amd.com/", "feature.node.kubernetes.io/")
"""Labels that the GPU stack puts on a node once it is up."""


def takes_when_up(node: Node, shape: Shape, store: StoreReader, around: Surroundings = UNKNOWN) -> bool:
    """Whether every filter lets the pod onto the node as it will be; False where that is not known."""
    snapshot = ClusterSnapshot(store, around)
    coming = node_to_come(node, snapshot)
    if coming is None:
        return False
    snapshot.nodes[node.name] = coming
    return any(look.is_open and look.room > 0 for look in fit_nodes(snapshot, shape, 1, {node.name}))


def node_to_come(node: Node, snapshot: ClusterSnapshot) -> Node | None:
    """The node as it will be: what it shows by now, and what a node of its pool that is up has besides; None
    where nothing promises GPUs of it, or it states no amounts and no other node does."""
    store = snapshot.store
    promise, like = gpus_promised(node, store), whole_sibling(node, store)
    offered = dict(node.allocatable)
    if like is not None:
        for name, amount in another_node(snapshot, like, 0).allocatable:
            offered[name] = max(offered.get(name, 0), amount)
    if promise is None or not offered:
        return None
    offered[promise.resource] = max(offered.get(promise.resource, 0), promise.gpus or 1)
    devices = (
        {} if like is None else {key: value for key, value in like.labels if key.startswith(_OF_DEVICES)}
    )
    return replace(
        node,
        labels=tuple(sorted((devices | dict(node.labels)).items())),
        taints=_taints(node, like),
        conditions=(Condition("Ready", "True"),),
        allocatable=tuple(sorted(offered.items())),
        gpu_resource=promise.resource,
        gpu_capacity=promise.gpus or 1,
        gpu_allocatable=promise.gpus or 1,
    )


def _taints(node: Node, like: Node | None) -> tuple[Taint, ...]:
    """Those that stay: a node that is up has no startup taints any more."""
    lasting = lasting_taints(node)
    if like is None:
        return lasting
    return tuple(taint for taint in lasting if any(other.key == taint.key for other in like.taints))
