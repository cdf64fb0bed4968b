"""Which thing a person wants explained: `KIND/NAME` or `KIND NAME`, whatever the kind. What is not a job's
kind but belongs to one leads to it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from cockpit.actions.find import job_named
from cockpit.actions.kind_words import SUBJECTS, NamedKind, kind_named, known_words
from cockpit.actions.queue import queue_named
from cockpit.errors import BadInput, NotFound
from cockpit.gangs import registry
from cockpit.kube.discovery import ServedResource
from cockpit.model.finding import Subject
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.model.pool import Machine
from cockpit.model.record import Kind, OwnerRef
from cockpit.nearest import nearest, nearest_words
from cockpit.pools.index import pool_named, pools_of
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.pool_walk import queue_subject

NAMINGS: Final = {
    "job": "job/NAME or job/NAMESPACE/NAME",
    "gang": "gang/NAME or gang/NAMESPACE/NAME",
    "pod": "pod/NAME or pod/NAMESPACE/NAME",
    "node": "node/NAME",
    "card": "card/NODE/INDEX",
    "queue": "queue/NAME, queue/NAMESPACE/NAME or queue/ENGINE:NAME",
    "pool": "pool/NAME",
}
_KINDS: Final = f"KIND is one of {', '.join(SUBJECTS)}, or a kind as kubectl prints it"
_MOST_OWNERS = 8
_THREE: Final = ("job", "queue", "pool")
"""Of these a name may begin with a kind of its own."""


def subject_words(words: Sequence[str]) -> tuple[str, str]:
    """The word for the kind and the name, of `KIND/NAME` or `KIND NAME`. Raises BadInput for else."""
    text = " ".join(words).strip()
    if not text:
        raise BadInput("SUBJECT: name what is to be explained, as KIND/NAME; or give --explain CAUSE")
    if len(words) == 2 and words[0].strip("/").count("/"):
        raise BadInput(f"{text!r} is more than one thing: give one KIND/NAME")
    word, slash, name = "/".join(one.strip().strip("/") for one in words).partition("/")
    if len(words) > 2 or not slash or not word:
        raise BadInput(f"{text!r} is not KIND/NAME: {_KINDS}")
    kind = kind_named(word)
    parts, own = name.split("/"), kind.subject or "job"
    most = 1 if own == "node" else 3 if own in _THREE and not kind.kind else 2
    if not all(parts) or len(parts) > most or (own == "card" and len(parts) != 2):
        raise BadInput(
            f"{text!r} names no {word}: write {NAMINGS.get(own) if not kind.kind else word + '/NAME'}"
        )
    return word, name


def subject_named(
    word: str,
    name: str,
    view: ClusterView,
    namespaces: Namespaces = EVERY,
    served: Sequence[ServedResource] = (),
) -> Subject:
    """The one thing that kind and name mean; namespaces narrow it. `served` is what the server serves.

    Raises BadInput: unknown kind or name (with those that are near), several (with all of them), or nothing
    that can be explained.
    """
    kind = kind_named(word, served)
    match kind.subject:
        case "job":
            return _job(name, view, namespaces)
        case "node":
            _known_node(name, view)
        case "card":
            node, _, index = name.rpartition("/")
            _known_node(node, view)
            if not index.isdecimal():
                raise BadInput(f"'card/{name}' names no card: write {NAMINGS['card']}, the index as a number")
        case "queue":
            return queue_subject(queue_named(view.store, _queue_words(kind, name), namespaces))
        case "pool":
            return Subject("pool", "", pool_named(view.store, _qualified(kind, name)).name)
        case "machine":
            return _of_machine(kind, name, view)
        case "pod":
            pods = [(one.namespace, one.name) for one in view.store.records(Kind.POD).values()]
            return Subject("pod", *_namespaced("pod", name, pods, namespaces))
        case "gang":
            return _gang(name, view, namespaces)
        case _:
            found = _of_object(kind, name, view, namespaces)
            if found is None:
                near = nearest_words(kind.kind, known_words(served))
                raise BadInput(f"{word!r} is no kind that is known here: {near}")
            return found
    return Subject(kind.subject, "", name)


def _queue_words(kind: NamedKind, name: str) -> str:
    """A kind of which engines have two sorts is told with the name."""
    return f"{kind.kind}/{name}" if kind.kind in ("localqueue", "clusterqueue") else name


def _qualified(kind: NamedKind, name: str) -> str:
    return f"{kind.kind}/{name}" if kind.kind else name


def _job(name: str, view: ClusterView, namespaces: Namespaces) -> Subject:
    try:
        job = job_named(view.jobs.jobs.values(), name, namespaces)
    except BadInput:
        # an object whose pods nobody could make has no row, but events tell of it
        space, _, last = name.rpartition("/")
        subject = Subject("job", space or namespaces.only, last)
        if explain(subject, view).cause:
            return subject
        raise
    return Subject("job", job.namespace, job.name)


def _gang(name: str, view: ClusterView, namespaces: Namespaces) -> Subject:
    """The group of pods; of one without pods the job that owns it."""
    gangs = {(one.namespace, one.gang) for one in view.store.records(Kind.POD).values() if one.gang}
    space, _, last = name.rpartition("/")
    for group in view.store.records(Kind.POD_GROUP).values():
        is_meant = group.name == last and space in ("", group.namespace) and group.namespace in namespaces
        if is_meant and (group.namespace, last) not in gangs:
            for subject in _leads_of(group.uid, group.owner, view):
                return subject
    return Subject("gang", *_namespaced("gang", name, sorted(gangs), namespaces))


def _of_machine(kind: NamedKind, name: str, view: ClusterView) -> Subject:
    """Its node, else its pool."""
    last = name.rpartition("/")[2]
    machines: list[Machine] = list(view.store.records(Kind.MACHINE).values())
    for machine in machines:
        if machine.name == last and kind.fits(machine.api_version, machine.kind):
            if machine.node and view.store.by_key(Kind.NODE, machine.node) is not None:
                return Subject("node", "", machine.node)
            for pool in pools_of(view.store):
                if (pool.owner_kind, pool.owner_key) == (machine.pool_kind, machine.pool_key):
                    return Subject("pool", "", pool.name)
    raise NotFound(f"{kind.kind} {name!r}", nearest_words(last, (one.name for one in machines)))


def _of_object(kind: NamedKind, name: str, view: ClusterView, namespaces: Namespaces) -> Subject | None:
    """The job of that kind, or what an object of that kind belongs to; None where the kind itself is unknown.

    Raises NotFound where nothing has the name, or what has it belongs to no job; BadInput for several.
    """
    space, _, last = name.rpartition("/")
    within = Namespaces((space,)) if space else namespaces
    rows = [one for one in view.jobs.jobs.values() if kind.fits(one.api_version, one.kind)]
    meant = (one for one in rows if one.name == last and one.namespace in within)
    found = {Subject("job", one.namespace, one.name) for one in meant}
    found = found or set(_leads(kind, last, within, view))
    if len(found) == 1:
        return found.pop()
    if found:
        names = ", ".join(one.text for one in sorted(found)[:8])
        raise BadInput(f"{kind.kind} {name!r} is ambiguous: {names}; choose one of them")
    subject = Subject("job", space or namespaces.only, last)
    if kind.is_known and explain(subject, view).cause:
        return subject
    if near := nearest(last, [f"{one.namespace}/{one.name}" for one in rows]):
        raise NotFound(f"{kind.kind} {name!r}", f"did you mean {', '.join(near)}?")
    if not kind.is_known:
        return None
    raise NotFound(f"job to which {kind.kind} {name!r} belongs", f"see cockpit get jobs; {_KINDS}")


def _leads(kind: NamedKind, name: str, within: Namespaces, view: ClusterView) -> Iterator[Subject]:
    """Jobs, else pods, to which objects of that kind and name belong."""
    store = view.store
    if kind.kind == "workload":
        for one in store.records(Kind.WORKLOAD).values():
            if one.name == name and one.namespace in within:
                yield from _leads_of(one.uid, one.owner, view)
        return
    pods: Iterable[Pod] = store.records(Kind.POD).values()
    if kind.kind == "persistentvolumeclaim":
        users = [one for one in pods if name in one.traits.claims]
    elif kind.kind == "resourceclaim":
        claims = [one for one in store.records(Kind.DEVICE_CLAIM).values() if one.name == name]
        uids = {consumer.uid for one in claims for consumer in one.consumers}
        users = [one for one in pods if one.uid in uids]
    else:
        for table in registry.controller_tables():
            for one in store.records(table).values():
                if one.name == name and one.namespace in within and kind.fits(one.api_version, one.kind):
                    yield from _leads_of(one.uid, one.owner, view)
        users = [
            one for one in pods if one.owner_name == name and kind.fits(one.owner_api_version, one.owner_kind)
        ]
    yield from _of_pods((one for one in users if one.namespace in within), view)


def _leads_of(uid: str, owner: OwnerRef | None, view: ClusterView) -> Iterator[Subject]:
    """The row that the object is or that owns it, else the newest that it made, else that of its pods."""
    store = view.store
    above = {uid}
    while owner is not None and owner.uid not in above and len(above) < _MOST_OWNERS:
        above.add(owner.uid)
        record = next((r for t in registry.controller_tables() if (r := store.get(t, owner.uid))), None)
        owner = None if record is None else record.owner
    jobs = view.jobs.jobs.values()
    rows = [one for one in jobs if one.uid in above or one.workload_uid == uid]
    if not rows:
        tables = (store.records(table).values() for table in registry.controller_tables())
        below = {r.uid for records in tables for r in records if r.owner is not None and r.owner.uid == uid}
        rows = sorted((one for one in jobs if one.uid in below), key=lambda one: one.created_seconds or 0.0)[
            -1:
        ]
    if rows:
        yield from (Subject("job", one.namespace, one.name) for one in rows)
    else:
        yield from _of_pods(store.pods_under(uid), view)


def _of_pods(pods: Iterable[Pod], view: ClusterView) -> Iterator[Subject]:
    """The job of each; of pods without one the first by name."""
    alone: list[Pod] = []
    for pod in pods:
        job = view.jobs.job_of_pod(pod)
        if job is not None:
            yield Subject("job", job.namespace, job.name)
        else:
            alone.append(pod)
    if alone:
        first = min(alone, key=lambda pod: (pod.phase == "Running", pod.name))
        yield Subject("pod", first.namespace, first.name)


def _namespaced(
    kind: str, name: str, known: Sequence[tuple[str, str]], namespaces: Namespaces
) -> tuple[str, str]:
    space, _, last = name.rpartition("/")
    within = Namespaces((space,)) if space else namespaces
    found = [one for one in known if one[1] == last and one[0] in within]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join("/".join(one) for one in found[:8])
        raise BadInput(f"{kind} {name!r} is ambiguous: {names}; choose one of them")
    _known(name, ["/".join(one) for one in known], kind)
    raise NotFound(f"{kind} {name!r} in {within.words}", "see cockpit get pods")


def _known_node(name: str, view: ClusterView) -> None:
    _known(name, [one.name for one in view.store.records(Kind.NODE).values()], "node")


def _known(name: str, names: Sequence[str], kind: str) -> None:
    if name in names:
        return
    near = nearest(name, names)
    listed = "nodes" if kind == "node" else "pods"
    hint = f"did you mean {', '.join(near)}?" if near else f"see cockpit get {listed}"
    raise NotFound(f"{kind} {name!r}", hint)
