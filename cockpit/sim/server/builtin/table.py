"""The table of built-in kinds: what is data in `kinds.yaml`, and the functions of those that have any."""

from importlib import resources
from typing import Any

import msgspec

from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, SERVICES, Resource
from cockpit.sim import resources as r
from cockpit.sim.port import Tree
from cockpit.sim.server.builtin import (
    bounds,
    cluster,
    cron_jobs,
    definitions,
    events,
    jobs,
    pods,
    services,
    stateful_sets,
    unattended,
    workloads,
)
from cockpit.sim.server.kinds import Check, Kinds, ServedKind
from cockpit.sim.server.schema.kinds import shape_of

_COMPLETE = {
    PODS: pods.complete,
    NODES: cluster.complete_node,
    NAMESPACES: cluster.complete_namespace,
    EVENTS: events.complete,
    SERVICES: cluster.complete_service,
    JOBS: jobs.complete,
    r.CRON_JOBS: cron_jobs.complete,
    r.CONFIG_MAPS: cluster.complete_config_map,
    r.SECRETS: cluster.complete_secret,
    r.PERSISTENT_VOLUME_CLAIMS: cluster.complete_claim,
    r.PERSISTENT_VOLUMES: cluster.complete_volume,
    r.LIMIT_RANGES: cluster.complete_limits,
    r.DEPLOYMENTS: workloads.complete_deployment,
    r.REPLICA_SETS: workloads.complete_replica_set,
    r.DAEMON_SETS: workloads.complete_daemon_set,
    r.STATEFUL_SETS: stateful_sets.complete,
    r.PRIORITY_CLASSES: cluster.complete_priority_class,
    r.STORAGE_CLASSES: cluster.complete_storage_class,
    r.CUSTOM_RESOURCE_DEFINITIONS: definitions.complete,
    r.RESOURCE_CLAIMS: unattended.complete_claim,
    r.RESOURCE_CLAIM_TEMPLATES: unattended.complete_claim_template,
    r.CSI_DRIVERS: unattended.complete_driver,
    r.REPLICATION_CONTROLLERS: unattended.complete_controller,
}
_REVISE = {
    PODS: pods.revise,
    NODES: cluster.revise_node,
    NAMESPACES: cluster.revise_namespace,
    JOBS: jobs.revise,
    r.CRON_JOBS: cluster.empty_status,
    r.PERSISTENT_VOLUME_CLAIMS: cluster.pending_status,
    r.PERSISTENT_VOLUMES: cluster.revise_volume,
    r.RESOURCE_QUOTAS: cluster.empty_status,
    r.DEPLOYMENTS: cluster.empty_status,
    r.REPLICA_SETS: workloads.revise_replica_set,
    r.DAEMON_SETS: workloads.revise_daemon_set,
    r.STATEFUL_SETS: stateful_sets.revise,
    r.BUDGETS: workloads.revise_budget,
    r.CUSTOM_RESOURCE_DEFINITIONS: definitions.revise,
    r.RESOURCE_CLAIMS: cluster.empty_status,
    r.VOLUME_ATTACHMENTS: unattended.detached,
    r.REPLICATION_CONTROLLERS: unattended.nothing_runs,
}
_CHECKS: dict[Resource, tuple[Check, ...]] = {
    PODS: (pods.check,),
    NODES: (cluster.check_node,),
    EVENTS: (events.check,),
    r.NEW_EVENTS: (events.check_story, events.check_new),
    SERVICES: (services.check,),
    JOBS: (jobs.check,),
    r.CRON_JOBS: (cron_jobs.check,),
    r.CONFIG_MAPS: (cluster.check_config_map,),
    r.SECRETS: (cluster.check_secret,),
    r.RESOURCE_QUOTAS: (bounds.check_quota,),
    r.LIMIT_RANGES: (bounds.check_limits,),
    r.DEPLOYMENTS: (workloads.check, workloads.check_progress, workloads.check_selector),
    r.REPLICA_SETS: (workloads.check, workloads.check_selector),
    r.DAEMON_SETS: (workloads.check, workloads.check_selector),
    r.STATEFUL_SETS: (workloads.check, stateful_sets.check),
    r.BUDGETS: (workloads.check_budget,),
    r.LEASES: (bounds.check_lease,),
    r.PRIORITY_CLASSES: (cluster.check_priority_class,),
}
_FURTHER: dict[Resource, dict[str, Any]] = {
    PODS: {"status_checks": (pods.check_status,)},
    NODES: {"complete_status": (cluster.complete_node,)},
    NAMESPACES: {"mark_ending": cluster.end_namespace},
    SERVICES: {"status_checks": (services.check_status,)},
    r.NEW_EVENTS: {"store": EVENTS, "to_stored": events.to_core, "to_served": events.to_new},
    r.DEPLOYMENTS: {"status_checks": (workloads.check_deployment_status,)},
}


def built_in() -> Kinds:
    """A fresh registry of everything that is served without a CustomResourceDefinition."""
    text = resources.files("cockpit.sim.server.builtin").joinpath("kinds.yaml").read_bytes()
    revise = {**_REVISE, SERVICES: cluster.service_addresses()}
    return Kinds(_served(row, revise) for row in msgspec.yaml.decode(text))


def _served(row: Tree, revise: dict[Resource, Any]) -> ServedKind:
    resource = Resource(*row["resource"])
    fields = {label: path.split(".") for label, path in row.get("fields", {}).items()}
    kind = msgspec.convert(
        {**row, "resource": msgspec.to_builtins(resource), "fields": fields}, ServedKind, strict=True
    )
    return msgspec.structs.replace(
        kind,
        singular=resource.kind.lower(),
        complete=_alone(_COMPLETE, resource),
        revise=_alone(revise, resource),
        checks=_CHECKS.get(resource, ()),
        shape=shape_of(resource.group, resource.version, resource.kind),
        **_FURTHER.get(resource, {}),
    )


def _alone(functions: dict[Resource, Any], resource: Resource) -> tuple[Any, ...]:
    return (functions[resource],) if resource in functions else ()
