"""Everything that is there when a scenario starts, in the order in which it is created."""

from collections.abc import Iterator

from msgspec.structs import replace

from cockpit.sim.port import Tree
from cockpit.sim.scenarios.manifests import (
    MONITORING,
    POOLS_NAMESPACE,
    exporter_daemon_set,
    job_objects,
    machine_deployment,
    node,
    prometheus_objects,
    queue_objects,
)
from cockpit.sim.scenarios.schema import Scenario, ScenarioPool


def objects_of(scenario: Scenario) -> Iterator[Tree]:
    """Namespaces, priorities, pools, exporters, Prometheus, queues, then the bulk of jobs."""
    yield from _namespaces(scenario)
    yield from _priorities(scenario)
    for pool in scenario.pools:
        yield from _pool(scenario, pool)
    for pool in scenario.pools:
        if pool.gpus and pool.exporter != "none":
            yield exporter_daemon_set(pool)
    if scenario.prometheus:
        yield from prometheus_objects()
    yield from queue_objects(scenario)
    pools = {pool.name: pool for pool in scenario.pools}
    for bulk in scenario.bulk:
        for index in range(bulk.count):
            yield from job_objects(replace(bulk.job, name=f"{bulk.job.name}-{index}"), pools)


def standing(scenario: Scenario) -> Scenario:
    """What of the scenario has been there since before its start, as a scenario without a story."""
    assert scenario.standing is not None
    return Scenario(
        name=scenario.name,
        title=scenario.title,
        native_gangs=scenario.native_gangs,
        prometheus=scenario.prometheus,
        namespaces=scenario.namespaces,
        priorities=scenario.priorities,
        pools=tuple(pool for pool in scenario.pools if pool.owner == "none"),
        bulk=scenario.standing.bulk,
    )


def _namespaces(scenario: Scenario) -> Iterator[Tree]:
    wanted: dict[str, dict[str, str]] = {one.name: one.labels for one in scenario.namespaces}
    if any(pool.owner == "machines" for pool in scenario.pools):
        wanted.setdefault(POOLS_NAMESPACE, {})
    if any(pool.gpus for pool in scenario.pools):
        wanted.setdefault("gpu-operator", {})
    if scenario.prometheus:
        wanted.setdefault(MONITORING, {})
    for name, labels in wanted.items():
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _priorities(scenario: Scenario) -> Iterator[Tree]:
    for one in scenario.priorities:
        yield {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": one.name}, "value": one.value,
        }  # fmt: skip
        if scenario.queues:
            yield {
                "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
                "metadata": {"name": one.name}, "value": one.value,
            }  # fmt: skip


def _pool(scenario: Scenario, pool: ScenarioPool) -> Iterator[Tree]:
    if pool.owner == "machines":
        yield machine_deployment(pool)
        return
    for index in range(pool.nodes):
        yield node(pool, f"{pool.name}-{index}", index)
