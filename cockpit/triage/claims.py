"""What a pod claims, volumes and devices: absent, not bound, elsewhere, too few."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from cockpit.catalogue import Cause, Permanence
from cockpit.fit.scheduling_context import Surroundings
from cockpit.fit.shape import Shape
from cockpit.gangs.draft import draft, tell
from cockpit.model.claim import DeviceClaim
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.listing import Complete, listing
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.sureness import Sureness
from cockpit.triage.context import Context
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
            yield draft(Cause.DEVICE_CLAIM_MISSING, *_claim_failure(event.message, pod), of_event(event))
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
        words = "device claim {claim} does not exist"
        if what == "template":
            words = "device claim template {template} does not exist"
        said = Evidence(named.object, "spec.resourceClaims", name, pod.created_seconds)
        yield draft(Cause.DEVICE_CLAIM_MISSING, words, {what: name}, said, sureness=Sureness.PROVED)


def missing(
    object_: str, names: Iterable[str], around: Surroundings, since_seconds: float | None = None
) -> Iterator[Finding]:
    """Of the volume claims that an object names those that do not exist, where claims were read."""
    if around.claims is None:
        return
    for name in names:
        if name not in around.claims:
            yield tell(
                Cause.CLAIM_MISSING, {"claim": name}, Evidence(object_, "spec.volumes", name, since_seconds)
            )


def without(shape: Shape, absent: Iterable[Finding]) -> Shape:
    """The shape without the claims that these findings name."""
    gone = {name for one in absent for key, name in one.facts if key == "claim"}
    return replace(shape, claims=tuple(claim for claim in shape.claims if claim not in gone))


def _claim_failure(message: str, pod: Pod) -> tuple[str, dict[str, object]]:
    templates = pod.traits.wishes.claim_templates
    if len(templates) == 1:
        return "its device claim cannot be made from template {template}", {"template": templates[0]}
    return "its device claim cannot be made: {why}", {"why": message}


def unbound(pod: Pod, context: Context, said: Evidence) -> Finding:
    """A claim without a volume: its class does not exist, or nobody provisions it."""
    claims = context.around.claims
    classes = context.around.classes
    waiting = [name for name in pod.traits.claims if claims and name in claims and not claims[name].is_bound]
    name = waiting[0] if waiting else ", ".join(pod.traits.claims) or "its claim"
    names: dict[str, object] = {"claim": name}
    if not claims or name not in claims:
        return tell(Cause.CLAIM_UNBOUND, names, said)
    own, text = claims[name].storage_class, "volume claim {claim} is not bound"
    sureness, shown = Sureness.SAID, f"storageClassName {own}" if own else "no storageClassName"
    if own:
        names["storage_class"] = own
    if not own:
        text += ": it names no StorageClass and no volume suits it"
    elif classes is not None and own not in classes:
        text, sureness = text + ": StorageClass {storage_class} does not exist", Sureness.PROVED
    elif classes is not None and not classes[own].provisions:
        text += ": no free volume of class {storage_class}"
    else:
        return draft(Cause.CLAIM_UNBOUND, text + " yet", names, said)
    return draft(Cause.CLAIM_UNBOUND, text, names, said, _claim_evidence(pod, name, shown), sureness=sureness)


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
        values = [value for _, value in volume.zones]
        values += [
            value
            for term in volume.node_terms or ()
            for one in (*term.expressions, *term.fields)
            for value in one.values
        ]
        where = ", ".join(dict.fromkeys(values))
        if where:
            return tell(
                Cause.VOLUME_ELSEWHERE,
                {"claim": name, "zone": where},
                said,
                Evidence(f"PersistentVolume {volume.name}", "spec.nodeAffinity", where),
                *_zones_of_pools(sifted),
                says="zone",
                funnel=sifted.funnel,
            )
    names: dict[str, object] = {"claim": ", ".join(pod.traits.claims) or "of the pod"}
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
            words = "device claim {claim} is allocated on {node}, where the pod cannot go"
            if node:
                return draft(cause, words, {"claim": name, "node": node}, said)
            return draft(cause, "device claim {claim} is allocated elsewhere", {"claim": name}, said)
    asked = _devices_asked(pod, context)
    offered = [context.store.devices_on(node.name) for node in context.store.records(Kind.NODE).values()]
    most = max(map(len, offered), default=0)
    free = max((sum(not one.pods for one in some) for some in offered), default=0)
    if cause == Cause.DEVICES_SHORT and asked and most:
        words = "asks for {asked} devices on one node, no node has more than {largest}"
        names: dict[str, object] = {"asked": asked, "largest": most}
        permanence = Permanence.NEVER if asked > most else None
        if asked <= most:
            words = "asks for {asked} devices on one node, the best has {free} free"
            names = {"asked": asked, "free": free}
        return draft(Cause.DEVICES_SHORT, words, names, said, permanence=permanence)
    return draft(cause, "no node can serve all its device claims", {}, said)


def _devices_asked(pod: Pod, context: Context) -> int:
    total = 0
    wishes = pod.traits.wishes
    specs = [
        (context.tree("ResourceClaim", pod.namespace, name) or {}).get("spec", {})
        for name in wishes.device_claims
    ]
    for name in wishes.claim_templates:
        template = context.tree("ResourceClaimTemplate", pod.namespace, name) or {}
        specs.append((template.get("spec") or {}).get("spec") or {})
    for spec in specs:
        for request in (spec.get("devices") or {}).get("requests") or ():
            exactly = request.get("exactly") or request
            count = exactly.get("count", 1)
            total += count if isinstance(count, int) else 0
    return total
