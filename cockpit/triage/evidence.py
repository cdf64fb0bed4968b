"""What the gates of a job share: evidence from pods and events, and a finding about its subject."""

import msgspec

from cockpit.catalogue import lasts
from cockpit.jobs.members import is_up as runs
from cockpit.model.event import Event
from cockpit.model.finding import Evidence, Finding, Subject
from cockpit.model.pod import Pod


def finished(found: Finding, subject: Subject, *, state: str = "", gpus: int = 0) -> Finding:
    """The verdict about a subject."""
    return msgspec.structs.replace(
        found,
        subject=subject,
        root=found.root if found.root != subject else None,
        permanence=lasts(found),
        also=_causes_besides(found),
        state=state,
        gpus=gpus,
    )


def _causes_besides(found: Finding) -> tuple[str, ...]:
    """Causes that hold as well, each once."""
    every = (*found.also, *(cause for one in found.then for cause in (one.cause, *one.also)))
    return tuple(dict.fromkeys(cause for cause in every if cause and cause != found.cause))


def of_pod(pod: Pod, field: str, value: str, since_seconds: float | None = None) -> Evidence:
    """A field of a pod as evidence."""
    return Evidence(f"Pod {pod.key}", field, value, since_seconds)


def of_event(event: Event) -> Evidence:
    """An event as evidence: so old as its first occurrence, for a repetition is no new trouble."""
    since = event.last_seconds if event.first_seconds is None else event.first_seconds
    name = f"{event.object_namespace}/{event.object_name}" if event.object_namespace else event.object_name
    return Evidence(f"{event.object_kind} {name}", f"event {event.reason}", event.message, since)


def is_up(pod: Pod) -> bool:
    """Running and ready, and no container of it waits to be started again."""
    return not pod.waiting_reason and runs(pod)
