"""The seven places by name."""

from cockpit.screens.events import EventsScreen
from cockpit.screens.jobs import JobsScreen
from cockpit.screens.nodes import NodesScreen
from cockpit.screens.now import NowScreen
from cockpit.screens.place import Place
from cockpit.screens.pods import PodsScreen
from cockpit.screens.pools import PoolsScreen
from cockpit.screens.queues import QueuesScreen

PLACES: dict[str, type[Place]] = {
    "now": NowScreen,
    "jobs": JobsScreen,
    "nodes": NodesScreen,
    "queues": QueuesScreen,
    "pools": PoolsScreen,
    "events": EventsScreen,
    "pods": PodsScreen,
}
