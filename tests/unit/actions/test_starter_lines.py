"""Who would start on new nodes: one GPU is one GPU."""

import pytest

from cockpit.actions.scale import starter_lines
from cockpit.model.job import Job
from cockpit.triage.starters import Starters


def job(gpus: int | None) -> Job:
    return Job(
        key="k", uid="u", api_version="v1", kind="Job", namespace="team-a", name="llm", gpus_wanted=gpus
    )


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (Starters((job(1),), 1, 1), "would start: team-a/llm (1 GPU); 1 GPU stays free"),
        (Starters((job(8),), 8, 2), "would start: team-a/llm (8 GPUs); 2 GPUs stay free"),
        (Starters((job(None),)), "would start: team-a/llm"),
        (Starters(), "no job that waits now would start on them"),
    ],
)
def test_gpus_are_counted(found: Starters, line: str) -> None:
    assert list(starter_lines(found, is_known=True)) == [line]
