"""What a pod claims, volumes and devices: absent, not bound, elsewhere, too few."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from cockpit.catalogue import Cause
from cockpit.fit.scheduling_context import StorageClass, Surroundings
from cockpit.fit.shape import Shape
from cockpit.gangs.draft import draft, tell
from cockpit.model.claim import DeviceClaim
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.listing import Complete, listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.triage.context import Context, tree_in, trees_in
from cockpit.triage.funnel import Sifted
from cockpit.triage.judgement import of_event, of_pod

_MOST_POOLS = 4


def absent(pod: Pod, context: Context) -> Iterator[Finding]:
    """What is wrong in the spec alone: everything that the pod names and that does not exist."""
    named = of_pod(pod, "spec", "", pod.created_seconds)
    if pod.scheduled != "True":
        yield from missing(named.object, pod.traits.claims, context.around, pod.created_seconds)
    for event in context.store.events_of(pod.uid):
        if event.reason == "FailedResourceClaimCreation":
            says, names = "not made", {"why": event.message}
            if len(templates := pod.traits.wishes.claim_templates) == 1:
                says, names = "from template", {"template": templates[0]}
            yield tell(Cause.DEVICE_CLAIM_MISSING, names, of_event(event), says=says)
    own, wishes = listing(context.store, Kind.DEVICE_CLAIM, pod.namespace), pod.traits.wishes
    gone = [
        ("claim", name)
        for name in wishes.device_claims
        if (isinstance(own, Complete) and own.lacks(f"{pod.namespace}/{name}"))
        or context.lacks("ResourceClaim", pod.namespace, name)
    ]
    templates = wishes.claim_templates
    gone += [("template", x) for x in templates if context.lacks("ResourceClaimTemplate", pod.namespace, x)]
    for what, name in gone:
        said = Evidence(named.object, "spec.resourceClaims", name, pod.created_seconds)
        yield tell(Cause.DEVICE_CLAIM_MISSING, {what: name}, said, says=what)


def missing(
    object_: str, names: Iterable[str], around: Surroundings, since_seconds: float | None = None
) -> Iterator[Finding]:
    """Of the volume claims that an object names those that do not exist, where claims were read."""
    if around.claims is None:
        return
    for name in names:
        if name not in around.claims:
            said = Evidence(object_, "spec.volumes", name, since_seconds)
            yield tell(Cause.CLAIM_MISSING, {"claim": name}, said)


def without(shape: Shape, absent: Iterable[Finding]) -> Shape:
    """The shape without the claims that these findings name."""
    gone = {name for one in absent for key, name in one.facts if key == "claim"}
    return replace(shape, claims=tuple(claim for claim in shape.claims if claim not in gone))


def unbound(pod: Pod, context: Context, said: Evidence) -> Finding:
    """A claim without a volume: its class does not exist, or nobody provisions it."""
    claims, classes = context.around.claims, context.around.classes
    waiting = [name for name in pod.traits.claims if claims and name in claims and not claims[name].is_bound]
    name = waiting[0] if waiting else ", ".join(pod.traits.claims) or "its claim"
    if not claims or name not in claims:
        return tell(Cause.CLAIM_UNBOUND, {"claim": name}, said)
    own = claims[name].storage_class
    shown = _claim_evidence(pod, name, f"storageClassName {own}" if own else "no storageClassName")
    says = _why_unbound(own, classes)
    evidence = (said, shown) if says else (said,)
    return tell(Cause.CLAIM_UNBOUND, {"claim": name, "storage_class": own}, *evidence, says=says)


def _why_unbound(own: str, classes: Mapping[str, StorageClass] | None) -> str:
    if not own:
        return "no class"
    if classes is None:
        return ""
    held = classes.get(own)
    return "absent class" if held is None else "" if held.provisions else "no volume"


def by_itself(shape: Shape, context: Context) -> Finding | None:
    """What is wrong with a claim on every node: it does not exist, is for a single pod that has it, or has no
    volume yet and waits for no node to get one. None where none of that holds."""
    known, classes = context.around.claims, context.around.classes
    if known is None:
        return None
    for name in shape.claims:
        if name not in known:
            return tell(Cause.CLAIM_MISSING, {"claim": name})
    if (taken := for_one_pod(shape.namespace, shape.claims, context)) is not None:
        return taken
    for one in (known[name] for name in shape.claims):
        held = (classes or {}).get(one.storage_class)
        if not one.is_bound and (held is None or not held.waits):
            names = {"claim": one.name, "storage_class": one.storage_class}
            return tell(Cause.CLAIM_UNBOUND, names, says=_why_unbound(one.storage_class, classes))
    return None


def for_one_pod(namespace: str, names: Iterable[str], context: Context) -> Finding | None:
    """That a claim is for one pod only and another has it, by whom: it is free once that one has gone."""
    known = context.around.claims or {}
    alone = [name for name in names if name in known and "ReadWriteOncePod" in known[name].modes]
    for holder in context.store.records(Kind.POD).values() if alone else ():
        has = [name for name in alone if name in holder.traits.claims]
        if has and holder.namespace == namespace and holder.node and not holder.is_finished:
            name = has[0]
            return tell(
                Cause.VOLUME_NOT_ATTACHABLE,
                {"claim": name, "holder": holder.name},
                of_pod(holder, "spec.volumes", name),
                _claim_evidence(holder, name, "ReadWriteOncePod"),
                root=Subject("pod", holder.namespace, holder.name),
            )
    return None


def _claim_evidence(pod: Pod, name: str, value: str) -> Evidence:
    return Evidence(f"PersistentVolumeClaim {pod.namespace}/{name}", "spec", value)


def elsewhere(pod: Pod, context: Context, said: Evidence, sifted: Sifted) -> Finding:
    """The volume is tied to nodes that the pod does not get."""
    claims, volumes = context.around.claims, context.around.volumes
    for name in pod.traits.claims:
        claim = claims.get(name) if claims else None
        volume = volumes.get(claim.volume) if claim and volumes else None
        if volume is None:
            continue
        rules = (one for term in volume.node_terms or () for one in (*term.expressions, *term.fields))
        values = (*(value for _, value in volume.zones), *(value for one in rules for value in one.values))
        if where := ", ".join(dict.fromkeys(values)):
            shown = Evidence(f"PersistentVolume {volume.name}", "spec.nodeAffinity", where)
            evidence, names = (said, shown, *_zones_of_pools(sifted)), {"claim": name, "zone": where}
            return tell(Cause.VOLUME_ELSEWHERE, names, *evidence, says="zone", funnel=sifted.funnel)
    names = {"claim": ", ".join(pod.traits.claims) or "of the pod"}
    return tell(Cause.VOLUME_ELSEWHERE, names, said, says="out of reach", funnel=sifted.funnel)


def _zones_of_pools(sifted: Sifted) -> Iterator[Evidence]:
    """Where the nodes lie that would take the pod but for its volume, by pool."""
    zones: dict[str, set[str]] = {}
    for look in sifted.dropped.get("volume", ()):
        if look.node.zone:
            zones.setdefault(look.node.pool, set()).add(look.node.zone)
    for pool in sorted(zones)[:_MOST_POOLS]:
        what = f"pool {pool}" if pool else "nodes without a pool"
        yield Evidence(what, "zones of its nodes", ", ".join(sorted(zones[pool])))


def devices(pod: Pod, context: Context, said: Evidence, cause: str) -> Finding:
    """Devices by claim: how many are asked for and how many the nodes have, or who has the one that it
    names."""
    if cause == Cause.DEVICE_ELSEWHERE:
        for name in pod.traits.wishes.device_claims:
            known: DeviceClaim | None = context.store.by_key(Kind.DEVICE_CLAIM, f"{pod.namespace}/{name}")
            node = "" if known is None else known.where
            return tell(cause, {"claim": name, "node": node}, said, says="node" if node else "elsewhere")
    asked = _devices_asked(pod, context)
    offered = [context.store.devices_on(node.name) for node in context.store.records(Kind.NODE).values()]
    most = max(map(len, offered), default=0)
    free = max((sum(not one.pods for one in some) for some in offered), default=0)
    if cause == Cause.DEVICES_SHORT and asked > most > 0:
        return tell(cause, {"asked": asked, "largest": most}, said, says="too many")
    if cause == Cause.DEVICES_SHORT and asked and most:
        return tell(cause, {"asked": asked, "free": free}, said, says="free")
    return draft(cause, "no node can serve all its device claims", {}, said)


def _devices_asked(pod: Pod, context: Context) -> int:
    wishes, space = pod.traits.wishes, pod.namespace
    trees = [context.tree("ResourceClaim", space, name) for name in wishes.device_claims]
    templates = [context.tree("ResourceClaimTemplate", space, name) for name in wishes.claim_templates]
    specs = [tree_in((tree or {}).get("spec")) for tree in (*trees, *templates)]
    specs[len(trees) :] = [tree_in(spec.get("spec")) for spec in specs[len(trees) :]]
    requests = (
        request for spec in specs for request in trees_in(tree_in(spec.get("devices")).get("requests"))
    )
    counts = ((request.get("exactly") or request).get("count", 1) for request in requests)
    return sum(count for count in counts if isinstance(count, int))
