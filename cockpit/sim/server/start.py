"""A server's inside, fresh: storage, built-in kinds and the namespaces that every cluster has."""

from random import Random

from cockpit.clock import Clock
from cockpit.kube.resource import NAMESPACES
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

FIRST_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


def new_operations(clock: Clock, random: Random, *, history_length: int = 20_000) -> Operations:
    """Operations on an empty cluster, without any admission yet."""
    operations = Operations(Storage(history_length=history_length), built_in(), clock, random)
    for name in FIRST_NAMESPACES:
        request = Request(verb="create", resource=NAMESPACES)
        operations.create(request, {"metadata": {"name": name}})
    return operations
