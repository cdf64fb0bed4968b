"""Lists of several clusters as one: each row with its cluster, all filtered and sorted together."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from cockpit_widgets.text import width_of
from cockpit_widgets.types import Cell, Column

from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.views.lazy_table import Field, LazyTable, ListRows, Memory, View
from cockpit.views.view_state import ViewState

R = TypeVar("R")

CLUSTER = Column("cluster", "Cluster", 7, most=24, keeps_end=True)
_BETWEEN = "\x1f"
"""Between the cluster and the key of a row: no name of either holds it."""
_MOST_NAMED = 3
"""Clusters named before a sentence that they share."""


@dataclass(frozen=True, slots=True)
class ClusterRow(Generic[R]):
    """A row of one cluster (its context), with the view by which that cluster draws it."""

    cluster: str
    row: R
    view: View[R]

    @property
    def key(self) -> str:
        """The key of the row among those of all clusters."""
        return joined_key(self.cluster, self.view.key(self.row))


def joined_key(cluster: str, key: str) -> str:
    """The key of a row among those of all clusters."""
    return f"{cluster}{_BETWEEN}{key}"


def split_key(joined: str) -> tuple[str, str]:
    """The cluster, and the key of the row there."""
    cluster, _, key = joined.partition(_BETWEEN)
    return cluster, key


def cluster_table(
    lists: Mapping[str, ListRows[R]],
    state: ViewState,
    now_seconds: float,
    memory: Memory | None = None,
    *,
    namespaces: Mapping[str, Namespaces],
) -> LazyTable[ClusterRow[R]]:
    """One table of the rows of each cluster, of those `namespaces` that it shows; `lists` has at
    least one. `cluster` is a column to filter and sort by."""
    rows = [
        ClusterRow(cluster, row, listed.view)
        for cluster, listed in lists.items()
        for row in listed.view.within(list(listed.rows), namespaces.get(cluster, EVERY))
    ]
    view = over_clusters(next(iter(lists.values())).view, lists)
    return view.table(rows, replace(state, namespaces=EVERY), now_seconds, memory)


def over_clusters(view: View[R], clusters: Iterable[str]) -> View[ClusterRow[R]]:
    """The view of rows of these clusters: columns, order and search of this one, each row by its own."""
    first, *rest = map(_over_field, view.fields)
    width = min(max(map(width_of, clusters), default=0), CLUSTER.most)
    column = replace(CLUSTER, width=max(width, CLUSTER.width))
    of_cluster: Field[ClusterRow[R]] = Field(column, lambda r, _: Cell(r.cluster), lambda r, _: r.cluster)
    return View(
        fields=(first, of_cluster, *rest),
        hidden=tuple(map(_over_field, view.hidden)),
        key=lambda r: r.key,
        name=_through(view.name),
        order=None if view.order is None else lambda r, now: _asked(r.view.order)(r.row, now),
        rank=None if view.rank is None else lambda r: _asked(r.view.rank)(r.row),
        haystack=None if view.haystack is None else lambda r: f"{r.cluster} {_asked(r.view.haystack)(r.row)}",
        token=lambda r: r.view.token(r.row),
    )


def _through(of: Callable[[R], str] | None) -> Callable[[ClusterRow[R]], str] | None:
    return None if of is None else lambda r: of(r.row)


def _over_field(field: Field[R]) -> Field[ClusterRow[R]]:
    name = field.column.id
    value = field.value
    return Field(
        field.column,
        lambda r, now: r.view.by_id[name].cell(r.row, now),
        None if value is None else lambda r, now: _asked(r.view.by_id[name].value)(r.row, now),
        field.measure,
    )


def _asked(found: Any) -> Any:
    """What the views of all clusters have where that of the first has it: they are made alike."""
    assert found is not None
    return found


def sentences_of(found: Mapping[str, str]) -> str:
    """A sentence of each cluster, those that say the same together: `a: no answer.  b, c and 5 more: ...`."""
    clusters: dict[str, list[str]] = {}
    for cluster, sentence in found.items():
        if sentence:
            clusters.setdefault(sentence, []).append(cluster)
    return "  ".join(f"{_named(names)}: {sentence}" for sentence, names in clusters.items())


def _named(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:_MOST_NAMED])} and {len(names) - _MOST_NAMED} more"


def by_cluster(keys: Iterable[str]) -> dict[str, list[str]]:
    """The keys of rows by the cluster that they are of, clusters in the order of the keys."""
    found: dict[str, list[str]] = {}
    for joined in keys:
        cluster, key = split_key(joined)
        found.setdefault(cluster, []).append(key)
    return found
