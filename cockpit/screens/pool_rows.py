"""The pools by the key of their row, for screens that ask for one again and again."""

from cockpit.model.pool import Pool
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pools_of


class PoolRows:
    """The pools by the key of their row, rebuilt when the store changed: each is looked up several times."""

    def __init__(self) -> None:
        self._made_of: tuple[StoreReader | None, int] = (None, 0)
        self._found: dict[str, Pool] = {}

    def find(self, store: StoreReader, key: str | None) -> Pool | None:
        """The pool of that key; None where it is gone."""
        if (store, store.revision) != self._made_of:
            self._made_of = (store, store.revision)
            self._found = {item.owner_uid or item.name: item for item in reversed(pools_of(store))}
        return None if key is None else self._found.get(key)
