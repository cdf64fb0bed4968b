"""Whose turn it is among jobs that wait, what alike jobs have in common, and how long one has run."""

import re
from collections.abc import Sequence
from typing import Final

from cockpit.model.job import Job
from cockpit.model.pod import Pod
from cockpit.triage.wanted import Wanted

_NUMBER: Final = re.compile(r"[-_.]?[0-9a-f]*[0-9][0-9a-f]*$")


def shape_name(namespace: str, name: str, gpus: int) -> str:
    """What alike jobs have in common: `team-a/sweep/8` of sweep-17."""
    return f"{namespace}/{_NUMBER.sub('', name) or name}/{gpus}"


def shape_of(wanted: Wanted) -> str:
    """That of what is wanted."""
    name = wanted.subject.name if wanted.job is None else wanted.job.name
    return shape_name(wanted.namespace, name, max(one.shape.gpus for one in wanted.parts))


def turn_of(job: Job) -> tuple[float, float, str]:
    """By its place in the queue where that is known, then by age."""
    place = float("inf") if job.position is None else float(job.position)
    return (place, job.created_seconds or 0.0, job.key)


def is_ahead(turn: tuple[float, float, str], wanted: Wanted) -> bool:
    """Whether somebody with that turn starts before what is wanted."""
    return wanted.job is not None and turn < turn_of(wanted.job)


def elapsed(pods: Sequence[Pod], now_seconds: float) -> float:
    """Of a pod that nobody says to have started the whole running time is still to come."""
    since = min((pod.started_seconds for pod in pods if pod.started_seconds is not None), default=None)
    return max(0.0, now_seconds - since) if since is not None else 0.0
