"""Jobs that a plan has ask for GPUs, made of their rows."""

from collections.abc import Mapping
from typing import Any

from cockpit.gangs import registry
from cockpit.model.contender import Contender
from cockpit.model.job import Job


def contender(job: Job, tree: Mapping[str, Any] | None = None) -> Contender:
    """A job that is there, as it asks; `tree` is its object, None where it has not been read."""
    return Contender(
        name=f"{job.namespace}/{job.name}",
        manifest=tree,
        uid=job.uid,
        engine=job.engine or registry.NONE.name,
        workload_uid=job.workload_uid,
    )
