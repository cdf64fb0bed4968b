"""A job that a plan has ask for GPUs: what others lose by it is computed from this."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a plan has ask for GPUs: one that is made, or one that stands and asks as it did not before.

    `manifest` is its object as the plan leaves it, None where it has not been read. `pods` are those more
    that it asks for where only its size grows, by role; None: all of them.
    """

    name: str  # "team-a/llm-7b"
    manifest: Mapping[str, Any] | None = None
    uid: str = ""  # of the object, where it stands already
    replaces: str = ""  # uid of the job that is deleted before it is made
    engine: str = ""  # name of the engine that has it; "" for one that is made: its manifest says
    workload_uid: str = ""  # by which the engine admits it, "" for one that is made
    priority_class: str = ""  # the engine's own, "" as it is
    queue: str = ""  # that it is moved to, "" as it is
    opens: str = ""  # uid of the queue that the plan has let jobs in again
    pods: Mapping[str, int] | None = None

    @property
    def namespace(self) -> str:
        return self.name.partition("/")[0]


class PreemptedJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that would be preempted, and what it loses. None: not known."""

    name: str  # "team-a/llm-7b"
    gpus: int
    running_seconds: float | None = None
    lost_steps: int | None = None  # since its last checkpoint
    has_begun: bool = True  # False: none of its pods runs


class Preemptions(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a plan preempts. `unknown` says why that cannot be computed; `jobs` are then those known of.
    `pods` (uids) end, `workloads` (uids) lose their quota."""

    jobs: tuple[PreemptedJob, ...] = ()
    unknown: str = ""
    pods: frozenset[str] = frozenset()
    workloads: frozenset[str] = frozenset()

    @property
    def gpus(self) -> int:
        return sum(job.gpus for job in self.jobs)
