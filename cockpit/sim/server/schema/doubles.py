"""Members that stand twice in the JSON of an object; the last one counts, and strict validation minds."""

import json
from typing import Any

from cockpit.sim.port import PortError, Tree


class _Noted(dict[str, Any]):
    """An object that remembers which of its members were written more than once, in their order."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.doubled: list[str] = []
        if len(self) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and key not in self.doubled:
                    self.doubled.append(key)
                seen.add(key)


def duplicates(body: bytes) -> list[str]:
    """`duplicate field "metadata.name"` for each; none for what is no JSON."""
    try:
        tree = json.loads(body, object_pairs_hook=_Noted)
    except (ValueError, RecursionError):
        return []
    found: list[str] = []
    _collect(tree, "", found)
    return found


def _collect(value: Any, path: str, found: list[str]) -> None:
    if isinstance(value, _Noted):
        below = f"{path}." if path else ""
        found.extend(f'duplicate field "{below}{key}"' for key in value.doubled)
        for key, item in value.items():
            _collect(item, f"{below}{key}", found)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            _collect(item, f"{path}[{at}]", found)


def checked_for_doubles(body: bytes, tree: Tree, validation: str) -> tuple[str, ...]:
    """Warnings about doubles in the body of `tree`. Raises PortError 400 where validation is strict."""
    if validation not in ("Strict", "Warn"):
        return ()
    found = duplicates(body)
    if found and validation == "Strict":
        kind, version = tree.get("kind"), str(tree.get("apiVersion", "")).rpartition("/")[2]
        sentence = f'{kind} in version "{version}" cannot be handled as a {kind}: strict decoding error: '
        raise PortError(400, "BadRequest", sentence + ", ".join(found))
    return tuple(found)
