"""A hundred queues in ten cohorts with a thousand workloads before them."""

from random import Random

from cockpit.sim.actors.queue.cache import QueueCache
from tests.unit.sim.queue.scene import GPU, cluster_queue

QUEUES = 100
WORKLOADS = 1_000


def crowded(random: Random) -> QueueCache:
    """The same for the same seed."""
    queue_cache = QueueCache(lambda: 1_790_000_000.0)
    queue_cache.put_namespace("ns", {})
    queue_cache.put_flavor({"metadata": {"name": "h100"}}, "h100")
    template = {"spec": {"containers": [{"resources": {"limits": {GPU: "8"}}}]}}
    for number in range(QUEUES):
        queue_cache.put_queue(cluster_queue(f"q{number}", gpus=16, cohortName=f"c{number // 10}"))
        queue_cache.put_local_queue({"spec": {"clusterQueue": f"q{number}"}}, ("ns", f"l{number}"))
    for number in range(WORKLOADS):
        spec = {
            "queueName": f"l{number % QUEUES}",
            "priority": random.randrange(3),
            "podSets": [{"name": "main", "count": 1 + number % 4, "template": template}],
        }
        metadata = {"namespace": "ns", "name": f"w{number}", "creationTimestamp": "2026-09-21T14:13:20Z"}
        queue_cache.put_workload({"metadata": metadata, "spec": spec})
    return queue_cache
