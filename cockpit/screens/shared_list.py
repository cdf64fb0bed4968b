"""A list that all open clusters share: jobs, nodes, queues, pools."""

from typing import Any

from cockpit_widgets.types import TableSource

from cockpit.screens.table_place import TablePlace
from cockpit.views.clusters import cluster_table, sentences_of
from cockpit.views.lazy_table import ListRows


class SharedList(TablePlace):
    """A subclass says what rows one cluster has (`listed`), and why it has none (`why_none`)."""

    is_shared = True

    def listed(self) -> ListRows[Any]:
        """All rows of the cluster that the place is about."""
        raise TypeError(f"{type(self).__name__} gives no rows")

    def why_none(self) -> str:
        """One sentence for when there are none, not even behind the filter."""
        raise TypeError(f"{type(self).__name__} does not say what none means")

    def source(self) -> tuple[TableSource, str]:
        now_seconds = self.cockpit.clock.cluster_now()
        if not self.is_several:
            source = self.listed().table(self.state, now_seconds, self.memory)
            self.say_problem(source.problem)
            return source, self.why_none()
        lists, whys = {}, {}
        for cluster in self.clusters:
            with self.about(cluster):
                lists[cluster.context] = self.listed()
                whys[cluster.context] = cluster.cluster.trouble or self.why_none()
        shown = {each.context: each.cluster.namespaces for each in self.clusters}
        shared = cluster_table(lists, self.state, now_seconds, self.memory, namespaces=shown)
        self.say_problem(shared.problem)
        return shared, sentences_of(whys)
