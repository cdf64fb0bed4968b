"""A Job's spec as the controller reads it, with the defaults of the API server filled in."""

from dataclasses import dataclass
from typing import Any

from cockpit.sim.port import Tree

_UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ReadJobSpec:
    """What a Job asks for. `completions` None: done with the first success, once all others have ended."""

    parallelism: int
    completions: int | None
    backoff_limit: int
    backoff_limit_per_index: int | None
    max_failed_indexes: int | None
    active_deadline_seconds: float | None
    is_indexed: bool
    is_suspended: bool
    restarts_on_failure: bool
    failure_rules: tuple[Tree, ...] | None
    success_rules: tuple[Tree, ...]
    only_replaces_failed: bool

    @property
    def wanted_indexes(self) -> int:
        """How many indexes an Indexed Job has."""
        return self.completions or 0


def read_spec(job: Tree) -> ReadJobSpec:
    """Read `spec` of a Job (defaults: pkg/apis/batch/v1/defaults.go)."""
    spec: dict[str, Any] = job.get("spec") or {}
    completions = spec.get("completions")
    if completions is None and spec.get("parallelism") is None:
        completions = 1
    per_index = spec.get("backoffLimitPerIndex")
    policy = spec.get("podFailurePolicy")
    return ReadJobSpec(
        parallelism=int(spec.get("parallelism", 1)),
        completions=completions,
        backoff_limit=int(spec.get("backoffLimit", 6 if per_index is None else _UNLIMITED)),
        backoff_limit_per_index=per_index,
        max_failed_indexes=spec.get("maxFailedIndexes"),
        active_deadline_seconds=spec.get("activeDeadlineSeconds"),
        is_indexed=spec.get("completionMode") == "Indexed",
        is_suspended=bool(spec.get("suspend")),
        restarts_on_failure=spec["template"].get("spec", {}).get("restartPolicy") == "OnFailure",
        failure_rules=None if policy is None else tuple(policy.get("rules") or ()),
        success_rules=tuple((spec.get("successPolicy") or {}).get("rules") or ()),
        only_replaces_failed=policy is not None or spec.get("podReplacementPolicy") == "Failed",
    )
