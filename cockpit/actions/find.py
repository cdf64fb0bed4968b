"""Which job a person means by `name`, `namespace/name` or `kind/namespace/name`, or which other thing."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from cockpit.actions.queue import queue_named
from cockpit.errors import BadInput, NotFound, Refused
from cockpit.model.batch import Phase
from cockpit.model.job import Job
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.nearest import nearest
from cockpit.pools.index import pool_named
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.engine import explain
from cockpit.triage.queue_walk import queue_subject
from cockpit.triage.verdict import Subject

SUBJECTS: Final = ("job", "gang", "pod", "node", "card", "queue", "pool")
NAMINGS: Final = {
    "job": "job/NAME or job/NAMESPACE/NAME",
    "gang": "gang/NAME or gang/NAMESPACE/NAME",
    "pod": "pod/NAME or pod/NAMESPACE/NAME",
    "node": "node/NAME",
    "card": "card/NODE/INDEX",
    "queue": "queue/NAME, queue/NAMESPACE/NAME or queue/ENGINE:NAME",
    "pool": "pool/NAME",
}


_UNREAD: Final = (Phase.CONNECTING, Phase.LISTING, Phase.BACKING_OFF, Phase.DENIED, Phase.NOT_LOGGED_IN)


@contextmanager
def or_unread(store: StoreReader, kinds: Iterable[str]) -> Iterator[None]:
    """Around the look for a name: raises Refused in the place of NotFound where one of the kinds was not read
    in some namespace. What is denied is not known, and not absent."""
    try:
        yield
    except NotFound as error:
        wanted = frozenset(kinds)
        unread = (one for one in store.statuses().values() if one.kind in wanted and one.phase in _UNREAD)
        if (status := next(unread, None)) is None:
            raise
        why = status.message.rstrip(".") or f"{status.kind} is not read yet"
        raise Refused(f"{error.what} is not known: {why}; {error.hint}") from None


def job_named(jobs: Iterable[Job], text: str, namespaces: Namespaces = EVERY) -> Job:
    """The one job that `text` means; `namespaces` narrow a bare name.

    Raises BadInput: unknown (with names that are near), or several (with all of them).
    """
    everything = sorted(jobs, key=lambda one: (one.namespace, one.name, one.kind))
    words = text.strip().split("/")
    if not 1 <= len(words) <= 3 or not all(words):
        raise BadInput(f"{text!r} is not a job: write name, namespace/name or kind/namespace/name")
    found = [one for one in everything if _fits(one, words, namespaces)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(
            f"{text!r} is ambiguous: {', '.join(_full(one) for one in found[:8])}; choose one of them"
        )
    names = [f"{one.namespace}/{one.name}" for one in everything]
    near = nearest("/".join(words[-2:]), names)
    hint = f"did you mean {', '.join(near)}?" if near else "see cockpit get jobs"
    where = f" in {namespaces.words}" if namespaces and len(words) == 1 else ""
    raise NotFound(f"job {text!r}{where}", hint)


def _fits(job: Job, words: list[str], namespaces: Namespaces) -> bool:
    if job.name != words[-1]:
        return False
    if len(words) == 1:
        return job.namespace in namespaces
    if job.namespace != words[-2]:
        return False
    return len(words) == 2 or job.kind.lower() == words[0].lower()


def _full(job: Job) -> str:
    return f"{job.kind.lower()}/{job.namespace}/{job.name}"


def subject_words(text: str) -> tuple[str, str]:
    """Kind and name of `KIND/NAME`. Raises BadInput where it is no such text."""
    kind, slash, name = text.strip().partition("/")
    if kind not in SUBJECTS or not slash:
        raise BadInput(f"{text!r} is not KIND/NAME: KIND is one of {', '.join(SUBJECTS)}")
    words = name.split("/")
    most = 1 if kind == "node" else 3 if kind in ("job", "queue", "pool") else 2
    if not all(words) or len(words) > most or (kind == "card" and len(words) != 2):
        raise BadInput(f"{text!r} names no {kind}: write {NAMINGS[kind]}")
    return kind, name


def subject_named(kind: str, name: str, view: ClusterView, namespaces: Namespaces = EVERY) -> Subject:
    """The one thing of that kind that `name` means; namespaces narrow it.

    Raises BadInput: unknown (with names that are near), or several (with all of them).
    """
    match kind:
        case "job":
            return _job_subject(name, view, namespaces)
        case "node":
            _known(name, [one.name for one in view.store.records(Kind.NODE).values()], "node")
        case "card":
            node, _, index = name.rpartition("/")
            _known(node, [one.name for one in view.store.records(Kind.NODE).values()], "node")
            if not index.isdecimal():
                raise BadInput(f"'card/{name}' names no card: write {NAMINGS[kind]}, the index as a number")
        case "queue":
            queue = queue_named(view.store, name, namespaces)
            return queue_subject(queue)
        case "pool":
            return Subject(kind, "", pool_named(view.store, name).name)
        case "pod":
            pods = [(one.namespace, one.name) for one in view.store.records(Kind.POD).values()]
            return Subject(kind, *_namespaced(kind, name, pods, namespaces))
        case _:
            gangs = {(one.namespace, one.gang) for one in view.store.records(Kind.POD).values() if one.gang}
            return Subject(kind, *_namespaced(kind, name, sorted(gangs), namespaces))
    return Subject(kind, "", name)


def _job_subject(name: str, view: ClusterView, namespaces: Namespaces) -> Subject:
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


def _known(name: str, names: Sequence[str], kind: str) -> None:
    if name in names:
        return
    near = nearest(name, names)
    listed = "nodes" if kind == "node" else "pods"
    hint = f"did you mean {', '.join(near)}?" if near else f"see cockpit get {listed}"
    raise NotFound(f"{kind} {name!r}", hint)
