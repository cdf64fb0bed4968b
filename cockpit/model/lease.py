"""Leases: who holds what, and how long without a word."""

from typing import NamedTuple

import msgspec

from cockpit.model.pool import SizeAsked


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A Lease of coordination.k8s.io. Times are epoch seconds, None where it does not say."""

    uid: str
    resource_version: str
    holder: str = ""  # "" for a free Lease
    acquired_seconds: float | None = None
    renewed_seconds: float | None = None
    duration_seconds: int = 0
    transitions: int = 0
    from_nodes: int | None = None  # what its holder says it is for; None where it does not say
    to_nodes: int | None = None
    asked_by: str = ""  # last holder, also after the release; "" if unknown

    @property
    def change(self) -> str:
        """`from 2 to 4 nodes`, as far as its holder said; "" where it did not."""
        if self.to_nodes is None:
            return ""
        before = "?" if self.from_nodes is None else self.from_nodes
        return f"from {before} to {self.to_nodes} node{'s' * (self.to_nodes != 1)}"

    def asked(self, target: int | None) -> SizeAsked | None:
        """Who asked for the size that the pool has been told, `target`, and since when; where nobody sets its
        size (None), for more nodes. None: this Lease is of another change, or does not date it."""
        is_it = self.to_nodes is not None and (
            self.to_nodes == target
            if target is not None
            else self.from_nodes is not None and self.to_nodes > self.from_nodes
        )
        if not is_it or self.acquired_seconds is None:
            return None
        return SizeAsked(self.acquired_seconds, self.asked_by or self.holder)

    def lapses_seconds(self) -> float | None:
        """When it is free unless it is renewed; None where it does not say."""
        return None if self.renewed_seconds is None else self.renewed_seconds + self.duration_seconds

    def is_in_force(self, now_seconds: float) -> bool:
        """Whether it has a holder and has not expired. A Lease without times counts as free."""
        lapses = self.lapses_seconds()
        return bool(self.holder) and lapses is not None and now_seconds < lapses


class LeaseRead(NamedTuple):
    """What was read of a pool's Lease. `lease` None: there is none, or `trouble` says why it is not known, in
    one sentence. `is_ours`: this user holds it. `is_old`: the pool's size was seen to change
    since it was read, so that what it does not name may be in it by now."""

    lease: Lease | None = None
    trouble: str = ""
    is_ours: bool = False
    is_old: bool = False


NOT_READ = LeaseRead(is_old=True)
"""Not read yet: it is being read."""
