"""The ports that were forwarded last, by the pod or job that they were forwarded to."""

from pathlib import Path
from typing import Final

from cockpit.local_state.state import keep_json, kept_json

_LARGEST_BYTES: Final = 64 * 1024
_MOST_TARGETS: Final = 200
MOST_PORTS: Final = 5
Ports = tuple[int, int]
"""(port of this machine, 0 for any free one; port of the pod)"""


class KeptPorts:
    """The file of ports. Without a path they are kept until the end of the run.

    `note` says why the file was not read or written last; "" where it was.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.note = ""
        self._by_target: dict[str, list[Ports]] = {}
        if path is not None:
            kept, self.note = kept_json(path, _LARGEST_BYTES, dict[str, list[Ports]], "saved ports")
            self._by_target = kept or {}

    def of(self, target: str) -> tuple[Ports, ...]:
        """The ports of a target, the last used first."""
        return tuple(self._by_target.get(target, ()))

    def keep(self, target: str, ports: Ports) -> None:
        """Remember these as the last used; the oldest ports and targets go where there are too many."""
        before = self._by_target.pop(target, [])
        self._by_target[target] = [ports, *(known for known in before if known != ports)][:MOST_PORTS]
        while len(self._by_target) > _MOST_TARGETS:
            self._by_target.pop(next(iter(self._by_target)))
        if self._path is not None and before[:1] != [ports]:
            self.note = keep_json(self._path, _LARGEST_BYTES, self._by_target, "ports")
