"""A place whose rows are of every cluster that is open: each row is about its own cluster."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, TypeVar

from cockpit.screens.app_protocol import Cockpit, acting, acting_in
from cockpit.screens.place import Place
from cockpit.views.clusters import by_cluster, sentences_of, split_key
from cockpit.views.clusters_header import clusters_header
from cockpit.views.now import Segments
from cockpit.views.view_state import ViewState

T = TypeVar("T")


class SharedPlace(Place):
    """`is_shared`: with several clusters open it shows the rows of all, by keys that name their cluster.

    What looks at one row is called by `at_row`: in it `cockpit` is that of the row, and the key is the one
    that the cluster itself has for it. Outside `cockpit` is that of the row under the cursor, `acting` that
    of the rows that are marked.
    """

    is_shared: ClassVar[bool] = False
    _of_row: Cockpit | None = None

    @property
    def clusters(self) -> tuple[Cockpit, ...]:
        """The clusters whose rows stand here."""
        own = super().cockpit
        return own.clusters if self.is_shared else (own,)

    @property
    def is_several(self) -> bool:
        """Whether the rows are of several clusters."""
        return self.is_shared and len(super().cockpit.clusters) > 1

    @property
    def cursor_row(self) -> str | None:
        """The key of the row under the cursor, None where there is none."""
        return None

    @property
    def marked_rows(self) -> Collection[str]:
        """The keys of the rows that are marked."""
        return ()

    def row(self, kind: str, key: str) -> Any | None:
        """The thing of that kind that the row of this key stands for; None where it stands for none."""
        return None

    def thing(self, kind: str) -> Any | None:
        key = self.cursor_row
        return None if key is None else self.at_row(key, partial(self.row, kind))

    @property
    def marked_count(self) -> int:
        return len(self.marked_rows)

    def marked_things(self, kind: str) -> tuple[Any, ...]:
        found = (self.at_row(key, partial(self.row, kind)) for key in sorted(self.marked_rows))
        return tuple(item for item in found if item is not None)

    @property
    def cockpit(self) -> Cockpit:
        own = super().cockpit
        if not self.is_several:
            return own
        return self._of_row or acting() or self._cluster_of(self.cursor_row) or own

    @property
    def bound_cluster(self) -> Cockpit | None:
        if self._bound is None or not self.is_mounted:
            return self._bound
        return self.cockpit

    @property
    def acting(self) -> Cockpit:
        marked = list(by_cluster(self.marked_rows)) if self.is_several else []
        found = self._named(marked[0]) if len(marked) == 1 else None
        return self.cockpit if self._of_row or found is None else found

    @property
    def mixed_marks(self) -> str:
        marked = sorted(by_cluster(self.marked_rows)) if self.is_several else []
        if len(marked) < 2:
            return ""
        names = ", ".join(marked)
        return f"marked rows are in {len(marked)} clusters ({names}): unmark those of all but one"

    def _named(self, context: str) -> Cockpit | None:
        return next((each for each in self.clusters if each.context == context), None)

    def _cluster_of(self, key: str | None) -> Cockpit | None:
        return None if key is None else self._named(split_key(key)[0])

    @contextmanager
    def about(self, cluster: Cockpit) -> Iterator[None]:
        """In the block the place is about that cluster, and so are the pages that are opened in it."""
        before, self._of_row = self._of_row, cluster
        try:
            with acting_in(cluster):
                yield
        finally:
            self._of_row = before

    def at_row(self, key: str, look: Callable[[str], T]) -> T | None:
        """What `look` makes of the row by its own key; None where its cluster is open no more."""
        if not self.is_several:
            return look(key)
        if (cluster := self._cluster_of(key)) is None:
            return None
        with self.about(cluster):
            return look(split_key(key)[1])

    # ---- what is about all of them

    @property
    def contexts(self) -> str:
        """Their names together, under which the order of the list is kept."""
        return ",".join(each.context for each in self.clusters)

    @property
    def state(self) -> ViewState:
        if not self.is_several:
            return super().state
        return self.cockpit.kept_views.of(self.kept_as, self.contexts)

    def keep(self, state: ViewState) -> None:
        if not self.is_several:
            super().keep(state)
            return
        self.cockpit.kept_views.keep(self.kept_as, self.contexts, state)

    def header(self, heading: Segments, now_seconds: float) -> tuple[Segments, Segments]:
        if not self.is_several:
            return super().header(heading, now_seconds)
        return clusters_header([each.cluster for each in self.clusters], now_seconds, heading)

    def look_around(self) -> None:
        for cluster in self.clusters:
            if self.is_several:
                with self.about(cluster):
                    cluster.cluster.look_at(self.look())
            else:
                super().look_around()

    def show(self) -> None:
        """As of every place; what has called it may be about another cluster than the row."""
        with acting_in(None) if self.is_several else acting_in(acting()):
            super().show()

    @property
    def trouble(self) -> str:
        """Why nothing is known yet, in one sentence; "" where one cluster is attached."""
        troubles = {each.context: each.cluster.trouble for each in self.clusters}
        if not all(troubles.values()):
            return ""
        if not self.is_several:
            return next(iter(troubles.values()))
        return sentences_of(troubles)
