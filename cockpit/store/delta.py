"""What moved between two looks at the store."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import msgspec

Uids = Mapping[str, AbstractSet[str]]
"""Kind to uids (uuids for GPUs), in the order in which they came."""


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """Uids by kind that were put or taken away since the last look; a uid is in one of the two, never both.

    `statuses` names the kinds whose stream status changed in a way that is shown.
    """

    revision: int
    changed: Uids = {}
    removed: Uids = {}
    statuses: frozenset[str] = frozenset()

    def touches(self, *kinds: str) -> bool:
        """True where a record or the stream status of one of the kinds moved."""
        return any(kind in self.changed or kind in self.removed or kind in self.statuses for kind in kinds)


class DeltaLog:
    """Collects changes until they are taken.

    The uids are the keys of dictionaries: in the order of coming, in which the pods of a job stand together,
    and nothing has to be copied when they are taken.
    """

    __slots__ = ("_changed", "_removed", "_statuses")

    def __init__(self) -> None:
        self._changed: dict[str, dict[str, None]] = {}
        self._removed: dict[str, dict[str, None]] = {}
        self._statuses: set[str] = set()

    def sets(self, kind: str) -> tuple[dict[str, None], dict[str, None]]:
        """The open (changed, removed) sets of a kind, for a caller that adds many at once."""
        return self._changed.setdefault(kind, {}), self._removed.setdefault(kind, {})

    def status(self, kind: str) -> None:
        self._statuses.add(kind)

    def take(self, revision: int) -> Delta:
        """Return and clear all changes since the last call."""
        delta = Delta(
            revision=revision,
            changed={kind: uids.keys() for kind, uids in self._changed.items() if uids},
            removed={kind: uids.keys() for kind, uids in self._removed.items() if uids},
            statuses=frozenset(self._statuses),
        )
        self._changed, self._removed, self._statuses = {}, {}, set()
        return delta
