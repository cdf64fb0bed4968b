"""The pages that rows of the panels of *Now* open."""

from cockpit.screens.place import Place
from cockpit.screens.pool import PoolScreen
from cockpit.screens.queue import QueueScreen


def page_of_row(panel: str, key: str) -> Place:
    """The page of the pool or queue with that key; `panel` is `pools` or `queues`."""
    return PoolScreen(key) if panel == "pools" else QueueScreen(key)
