"""Whose a job or pod is, where labels tell: the person who submitted it, and their team."""

from functools import lru_cache
from typing import Final

from cockpit.model.record import Labels

PERSON_LABELS: Final = (
    "cockpit/user",
    "user",
    "username",
    "owner",
    "created-by",
    "app.kubernetes.io/created-by",
    "notebooks.kubeflow.org/owner",
    "submitter",
)
TEAM_LABELS: Final = (
    "cockpit/team",
    "team",
    "owner-team",
    "runai/project",
    "project",
    "department",
    "app.kubernetes.io/part-of",
)


def person_of(labels: Labels) -> str:
    """Who submitted it; "" where no label tells."""
    return _first(labels, PERSON_LABELS)


def team_of(labels: Labels) -> str:
    """The team that it belongs to; "" where no label tells."""
    return _first(labels, TEAM_LABELS)


@lru_cache(maxsize=4_096)
def _first(labels: Labels, keys: tuple[str, ...]) -> str:
    values = dict(labels)
    return next((values[key] for key in keys if values.get(key)), "")
