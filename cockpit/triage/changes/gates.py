"""What blocks the subject once a change is made: the changed cluster asked again at every gate that a job
passes. A change starts it where nothing is left; what a pod names and does not exist is made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from cockpit.catalogue import Lift, row_of
from cockpit.catalogue.cause import Cause
from cockpit.fit.pod_sets import pod_sets
from cockpit.fit.quota import Shortage
from cockpit.fit.what_if import WhatIf, changed_store
from cockpit.gangs import registry
from cockpit.gangs.draft import tell
from cockpit.gangs.offers import QueueCase
from cockpit.gangs.wording import short
from cockpit.jobs.planned import planned_gang
from cockpit.k8s.gpu_resources import resource_word
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import Workload
from cockpit.model.pod import DEFAULT_SCHEDULERS
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage import filters
from cockpit.triage.changes.in_line import QueueTurn, selector_off_flavors, store_after, turn_of
from cockpit.triage.changes.job_edits import needs_spare, own_pods, with_spare
from cockpit.triage.changes.offer import FREE, ChangeOffer, ChangeOffers, Desk, amount_text, made
from cockpit.triage.changes.refusal_offers import lacks
from cockpit.triage.context import ClusterView, Context, Tree, Trees, tree_in, trees_in
from cockpit.triage.wanted import queue_named

_WORDS: Final = {
    "ServiceAccount": ("service account", "serviceaccount"),
    "ConfigMap": ("ConfigMap", "configmap"),
    "PriorityClass": ("PriorityClass", "priorityclass"),
}
"""In words, and as kubectl calls the kind."""
_WIDE: Final = ("PriorityClass",)


class Named(NamedTuple):
    """An object that a pod cannot do without."""

    kind: str
    name: str


def create_named(desk: Desk) -> ChangeOffers:
    """To create what its pods name and what does not exist."""
    space = desk.wanted.namespace
    for one in sorted(missing_of(desk.pod_specs, space, desk.view.trees)):
        words, plural = _WORDS[one.kind]
        is_wide = one.kind in _WIDE
        place = () if is_wide else ("-n", space)
        more = ("--value=0",) if one.kind == "PriorityClass" else ()
        metadata = {"name": one.name, **({} if is_wide else {"namespace": space})}
        words = f"create {words} {short(one.name)}" + ("" if is_wide else f" in {short(space)}")
        command = ("kubectl", "create", plural, one.name, *place, *more)
        target = Subject(plural, "" if is_wide else space, one.name)
        tree = {"apiVersion": "v1", "kind": one.kind, "metadata": metadata}
        yield made(desk, FREE + 1, "create", words, command, target=target, trees=(tree,))


def missing_of(specs: Iterable[Mapping[str, Any]], space: str, trees: Trees) -> set[Named]:
    """What these pod specs name and what does not exist; nothing of kinds that were not read."""
    named = {one for spec in specs for one in named_by(spec)}
    known = {one: trees.get((one.kind, "" if one.kind in _WIDE else space)) for one in named}
    return {
        one
        for one, some in known.items()
        if some is not None and all(tree["metadata"].get("name") != one.name for tree in some)
    }


def named_by(spec: Mapping[str, Any]) -> Iterator[Named]:
    """What a pod spec names and cannot do without; optional references are left out."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if isinstance(account, str) and account:
        yield Named("ServiceAccount", account)
    priority = spec.get("priorityClassName")
    if isinstance(priority, str) and priority and not priority.startswith("system-"):
        yield Named("PriorityClass", priority)
    volumes = trees_in(spec.get("volumes"))
    sources = (each for one in volumes for each in trees_in(tree_in(one.get("projected")).get("sources")))
    maps = [one.get("configMap") for one in (*volumes, *sources)]
    for container in (*trees_in(spec.get("containers")), *trees_in(spec.get("initContainers"))):
        maps += [one.get("configMapRef") for one in trees_in(container.get("envFrom"))]
        values = (tree_in(one.get("valueFrom")) for one in trees_in(container.get("env")))
        maps += [one.get("configMapKeyRef") for one in values]
    for one in maps:
        name = tree_in(one).get("name")
        if isinstance(name, str) and name and tree_in(one).get("optional") is not True:
            yield Named("ConfigMap", name)


def left_after(desk: Desk, offer: ChangeOffer) -> Iterator[Finding]:
    """All that blocks the subject after the change, gate by gate; nothing where it starts."""
    turn = turn_of(desk, offer.then, is_last=desk.is_anew or offer.is_anew)
    yield from before_nodes(desk, offer, turn)
    seen = store_after(desk.view.store, offer.then)
    rivals = (*desk.waiting.beside(offer.then), *turn.rivals)
    yield from _at_placement(desk, offer, replace(offer.then, parts=turn.parts, rivals=rivals), seen)


def before_nodes(desk: Desk, offer: ChangeOffer, turn: QueueTurn) -> Iterator[Finding]:
    """What blocks it after the change before any scheduler looks for nodes."""
    trees = changed_trees(desk.view.trees, offer.trees)
    seen = store_after(desk.view.store, offer.then)
    yield from still_told(desk, offer)
    yield from _at_creation(desk, offer, trees)
    yield from _at_queue(desk, offer, turn, seen, trees)


def still_told(desk: Desk, offer: ChangeOffer | None = None) -> Iterator[Finding]:
    """What components told of the subject and only they can take back; of what is planned none did."""
    for one in () if desk.wanted.is_planned else desk.blockers:
        if row_of(one.cause).lifted_by is Lift.COMPONENT and (offer is None or one.cause != offer.mends):
            yield one


def changed_trees(trees: Trees, made: Sequence[Tree]) -> Trees:
    """Objects that were read, with those that are made or changed."""
    found = dict(trees)
    for tree in made:
        place = (str(tree["kind"]), str(tree["metadata"].get("namespace") or ""))
        name = tree["metadata"]["name"]
        found[place] = [*(one for one in found.get(place, ()) if one["metadata"].get("name") != name), tree]
    return found


def changed_view(desk: Desk, offer: ChangeOffer) -> ClusterView:
    """The cluster as it would be."""
    store, trees = store_after(desk.view.store, offer.then), changed_trees(desk.view.trees, offer.trees)
    return replace(desk.view, store=store, around=offer.then.around, trees=trees, sift=None, told=None)


# ---- the pods are made


def _at_creation(desk: Desk, offer: ChangeOffer, trees: Trees) -> Iterator[Finding]:
    """What the pods name and is not there, what holds them before any scheduler looks, and the namespace's
    quota."""
    space = desk.wanted.namespace
    specs = desk.pod_specs if offer.tree is None else [one.pod_spec for one in pod_sets(offer.tree)]
    for one in sorted(missing_of(specs, space, trees)):
        yield tell(Cause.NAMED_OBJECT_MISSING, {"kind": one.kind, "name": one.name})
    told = {one.cause for one in desk.blockers}
    is_there = bool(desk.wanted.pods) and offer.tree is None
    for spec in () if is_there or Cause.SCHEDULING_GATE in told else specs:
        for gate in spec.get("schedulingGates") or ():
            yield tell(Cause.SCHEDULING_GATE, {"gate": gate.get("name", "")})
    for name in () if is_there or desk.wanted.is_planned else silent_schedulers(specs, desk.view.store):
        yield tell(Cause.NO_SUCH_SCHEDULER, {"name": name})
    job, parts = desk.wanted.job, offer.then.parts
    rolled = _rolled_out(desk, offer)
    if rolled is not None:
        parts = with_spare(planned_gang(rolled, space), desk)
    elif not desk.wanted.is_planned and (job is None or job.pod_uids):
        return
    for lack in lacks(trees.get(("ResourceQuota", space), ()), parts) or ():
        what = resource_word(lack.resource, lack.asked)
        names = {"quota": lack.quota, "asked": lack.asked, "what": what, "left": lack.left}
        yield tell(Cause.NAMESPACE_QUOTA_USED_UP, names, says="left")


def silent_schedulers(specs: Iterable[Mapping[str, Any]], store: StoreReader) -> list[str]:
    """Schedulers of these pod specs that are none of a known engine and have bound no pod yet."""
    names = {str(spec.get("schedulerName") or "") for spec in specs}
    names -= {"", *DEFAULT_SCHEDULERS, *registry.schedulers()}
    if names:
        names -= {pod.scheduler for pod in store.records(Kind.POD).values() if pod.node}
    return sorted(names)


def _rolled_out(desk: Desk, offer: ChangeOffer) -> Tree | None:
    """The object as it would be, where its old pods stay until a new one beside them is available."""
    tree = offer.tree or (desk.wanted.tree if desk.is_anew else None)
    return tree if tree is not None and needs_spare(tree) and not desk.wanted.is_planned else None


# ---- its engine lets it in


def _at_queue(
    desk: Desk, offer: ChangeOffer, turn: QueueTurn, seen: StoreReader, trees: Trees
) -> Iterator[Finding]:
    """What its engine says once what it said before no longer counts, and what its quota lacks."""
    workload: Workload | None = None if desk.workload is None else seen.get(Kind.WORKLOAD, desk.workload.uid)
    if workload is not None and not offer.is_anew and not desk.is_anew:
        yield from _of_engine(workload, offer.then.queue, seen)
    if not offer.then.queue:
        return
    local, queue = queue_named(seen, desk.wanted.namespace, offer.then.queue)
    if local is None:
        yield tell(Cause.QUEUE_UNUSABLE, {"queue": offer.then.queue}, says="absent")
        return
    if queue is None:
        names = {"queue": local.name, "name": local.cluster_queue}
        yield tell(Cause.QUEUE_UNUSABLE, names, says="leads nowhere")
        return
    for one in (local, queue):
        state = registry.queue_state(one)
        if one.is_stopped:
            yield tell(Cause.QUEUE_STOPPED, {"queue": one.name})
        elif state.state == "ending" or (state.state == "inactive" and one is queue):
            yield tell(Cause.QUEUE_UNUSABLE, {"queue": one.name, "why": state.why}, says="by its state")
    for lack in turn.lacks:
        yield _shortage(lack, turn, selector_off_flavors(desk, queue, offer.then.parts))
    offers = registry.engine_of_queue(queue).offers
    if offers is not None:
        yield from offers.unmet(QueueCase(desk.wanted.namespace, trees, queue, workload))
    levels = registry.required_levels(offer.tree or desk.wanted.tree or {})
    if any(levels) and offer.mends != Cause.TOPOLOGY_FULL:
        level = next(filter(None, levels))
        yield tell(Cause.TOPOLOGY_FULL, {"level": level})


def _of_engine(workload: Workload, queue: str, seen: StoreReader) -> Iterator[Finding]:
    """Of a workload in line as if its engine had not looked at it; its line is played elsewhere."""
    engine = registry.admits_of(workload)
    if engine.is_in_line(workload):
        kept = tuple(one for one in workload.conditions if one.type != "QuotaReserved")
        others = [
            (Kind.WORKLOAD, replace(one, conditions=()))
            for one in seen.records(Kind.WORKLOAD).values()
            if one.uid != workload.uid and not one.cluster_queue and one.queue == workload.queue
        ]
        free = [
            (Kind.CLUSTER_QUEUE, replace(one, strategy="", stop_policy=""))
            for one in seen.records(Kind.CLUSTER_QUEUE).values()
        ]
        workload = replace(workload, queue=queue or workload.queue, conditions=kept)
        seen = changed_store(seen, [(Kind.WORKLOAD, workload), *others, *free])
    found = engine.admission(workload, seen, {}, False)
    if found.is_waiting and found.why.cause and row_of(found.why.cause).lifted_by is Lift.COMPONENT:
        yield found.why


def _shortage(lack: Shortage, turn: QueueTurn, selector: str) -> Finding:
    if turn.behind:
        return tell(Cause.BEHIND_THE_HEAD, {"job": turn.behind})
    if lack.words or not lack.flavor:
        words = lack.words or f"no quota of {lack.resource}"
        if lack.words and selector:
            words = f"no flavor has the label {selector}"
        facts = (("selector", selector),) if lack.words else ()
        return tell(Cause.NO_FLAVOR_FITS, {"queue": lack.queue, "words": words}, facts=facts)
    what = resource_word(lack.resource, lack.asked - lack.left)
    more = amount_text(lack.resource, lack.asked - lack.left)
    return tell(Cause.QUOTA_IN_USE, {"more": more, "what": what, "queue": lack.queue, "flavor": lack.flavor})


# ---- the scheduler finds a seat for each pod


def _at_placement(desk: Desk, offer: ChangeOffer, then: WhatIf, seen: StoreReader) -> Iterator[Finding]:
    if then.starts(desk.view.store, desk.answer):
        if _rolled_out(desk, offer) is None:
            return
        spare = tuple(replace(one, count=1) for one in then.parts[:1])
        then = replace(then, parts=spare, without=then.without - own_pods(desk))
        seen = store_after(desk.view.store, then)
        if then.starts(desk.view.store):
            return
    now, trees = desk.view.now_seconds, desk.view.trees
    context = Context(store=seen, now_seconds=now, around=then.around, trees=trees)
    told = (one for part in then.parts for one in filters.of_pods(part.shape, part.count, context))
    yield next(told, None) or tell(Cause.GPUS_SHORT, says="beside others")
