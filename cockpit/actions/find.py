"""Which job or pod a person means by `name` or `namespace/name`, a job also by `kind/namespace/name`."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from cockpit.errors import BadInput, NotFound, Refused
from cockpit.model.batch import Phase
from cockpit.model.job import Job
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader
from cockpit.nearest import nearest

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
    raise _unknown("job", text, words, (f"{job.namespace}/{job.name}" for job in everything), namespaces)


def pod_named(pods: Iterable[Pod], text: str, namespaces: Namespaces = EVERY) -> Pod:
    """The one pod that `text` means; `namespaces` narrow a bare name.

    Raises BadInput: unknown (with names that are near), or several (with all of them).
    """
    words = text.strip().split("/")
    if not 1 <= len(words) <= 2 or not all(words):
        raise BadInput(f"{text!r} is not a pod: write name or namespace/name")
    by_name = {f"{pod.namespace}/{pod.name}": pod for pod in pods}
    is_wanted = namespaces.__contains__ if len(words) == 1 else words[0].__eq__
    found = [name for name, pod in by_name.items() if pod.name == words[-1] and is_wanted(pod.namespace)]
    if len(found) == 1:
        return by_name[found[0]]
    if found:
        raise BadInput(f"{text!r} is ambiguous: {', '.join(sorted(found)[:8])}; choose one of them")
    raise _unknown("pod", text, words, sorted(by_name), namespaces)


def _unknown(
    what: str, text: str, words: list[str], names: Iterable[str], namespaces: Namespaces
) -> NotFound:
    near = nearest("/".join(words[-2:]), list(names))
    hint = f"did you mean {', '.join(near)}?" if near else f"see cockpit get {what}s"
    where = f" in {namespaces.words}" if namespaces and len(words) == 1 else ""
    return NotFound(f"{what} {text!r}{where}", hint)


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
