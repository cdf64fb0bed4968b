"""Members that stand twice in the JSON of an object; the last one counts, and strict validation minds."""

import json
from collections.abc import Iterator
from typing import Any

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.schema.pruning import Where, path_of


class _Noted(dict[str, Any]):
    """An object that remembers which of its members were written more than once, in their order."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.doubled: dict[str, None] = {}
        if len(self) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self.doubled[key] = None
                seen.add(key)


def duplicates(body: bytes) -> list[str]:
    """`duplicate field "metadata.name"`; none for what is no JSON."""
    try:
        tree = json.loads(body, object_pairs_hook=_Noted)
    except (ValueError, RecursionError):
        return []
    return [f'duplicate field "{path_of(where)}"' for where in _doubled(tree, None)]


def _doubled(value: Any, where: Where) -> Iterator[Where]:
    if isinstance(value, _Noted):
        for key in value.doubled:
            yield where, key
        for key, item in value.items():
            if isinstance(item, dict | list):
                yield from _doubled(item, (where, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            if isinstance(item, dict | list):
                yield from _doubled(item, (where, f"[{at}]"))


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
