"""Leases: what they must say (pkg/apis/coordination/validation)."""

from collections.abc import Iterator

from cockpit.sim.port import Tree
from cockpit.sim.server.refusals import Cause, wrong


def check_lease(lease: Tree, old: Tree | None) -> Iterator[Cause]:
    """Times and counts that can be."""
    spec = lease.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield wrong("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
