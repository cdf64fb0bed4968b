"""The counts in the tabs, counted again where the store moved and at a bounded share of the time."""

from cockpit.services.host import Cluster, Host
from cockpit.services.problems import NowWatch
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.views.place_tabs import PlaceCounts, open_problems, place_counts


class TabCounts:
    """One for the app: a page that is opened finds the counts that the page before it has shown."""

    def __init__(self, app: Host, watch: NowWatch) -> None:
        self._app = app
        self._watch = watch
        self._cluster: Cluster | None = None
        self._counts = PlaceCounts()
        self._revision = -1
        self._counted_at = self._cost_seconds = 0.0

    def look(self) -> PlaceCounts:
        """The counts as the store stands, or stood a moment ago."""
        cluster, clock = self._app.cluster, self._app.clock
        if cluster is not self._cluster:
            self._cluster, self._counts, self._revision, self._cost_seconds = cluster, PlaceCounts(), -1, 0.0
        began = clock.monotonic()
        is_due = began - self._counted_at >= self._cost_seconds / SHARE_OF_TIME
        if cluster.store.revision != self._revision and is_due:
            self._revision = cluster.store.revision
            self._counts = place_counts(cluster.store, cluster.jobs, cluster.namespaces)
            self._counted_at = clock.monotonic()
            self._cost_seconds = self._counted_at - began
        return self._counts._replace(now=open_problems(cluster.store, self._watch.shown))
