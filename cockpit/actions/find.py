"""Which job a person means: `name`, `namespace/name` or `kind/namespace/name`."""

import difflib
from collections.abc import Iterable

from cockpit.errors import BadInput
from cockpit.model.job import Job


def job_named(jobs: Iterable[Job], text: str, namespace: str = "") -> Job:
    """The one job that `text` means; `namespace` narrows a bare name.

    Raises BadInput: unknown (with names that are near), or several (with all of them).
    """
    everything = sorted(jobs, key=lambda one: (one.namespace, one.name, one.kind))
    words = text.strip().split("/")
    if not 1 <= len(words) <= 3 or not all(words):
        raise BadInput(f"{text!r} is not a job: write name, namespace/name or kind/namespace/name")
    found = [one for one in everything if _fits(one, words, namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(
            f"{text!r} is ambiguous: {', '.join(_full(one) for one in found[:8])}; choose one of them"
        )
    names = [f"{one.namespace}/{one.name}" for one in everything]
    near = difflib.get_close_matches(text, [*names, *(one.name for one in everything)], n=3, cutoff=0.6)
    hint = f"; did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    where = f" in namespace {namespace}" if namespace and len(words) == 1 else ""
    raise BadInput(f"there is no job {text!r}{where}{hint}")


def _fits(job: Job, words: list[str], namespace: str) -> bool:
    if job.name != words[-1]:
        return False
    if len(words) == 1:
        return not namespace or job.namespace == namespace
    if job.namespace != words[-2]:
        return False
    return len(words) == 2 or job.kind.lower() == words[0].lower()


def _full(job: Job) -> str:
    return f"{job.kind.lower()}/{job.namespace}/{job.name}"
