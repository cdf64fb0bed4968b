"""Objects as a Table, and the part of an object that travels with its row."""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables import cluster, pods, settings, workloads
from cockpit.sim.server.http.tables.columns import Printer

META = "meta.k8s.io/v1"

PRINTERS: Mapping[str, Printer] = {
    "pods": pods.PODS,
    "nodes": cluster.NODES,
    "namespaces": cluster.NAMESPACES,
    "events": cluster.EVENTS,
    "events.events.k8s.io": cluster.EVENTS,
    "persistentvolumeclaims": cluster.CLAIMS,
    "persistentvolumes": cluster.VOLUMES,
    "resourcequotas": cluster.QUOTAS,
    "poddisruptionbudgets.policy": cluster.BUDGETS,
    "leases.coordination.k8s.io": cluster.LEASES,
    "priorityclasses.scheduling.k8s.io": cluster.PRIORITY_CLASSES,
    "storageclasses.storage.k8s.io": cluster.STORAGE_CLASSES,
    "horizontalpodautoscalers.autoscaling": cluster.SCALERS,
    "configmaps": settings.CONFIG_MAPS,
    "secrets": settings.SECRETS,
    "serviceaccounts": cluster.PLAIN,
    "services": settings.SERVICES,
    "endpoints": settings.ENDPOINTS,
    "endpointslices.discovery.k8s.io": settings.SLICES,
    "limitranges": settings.CREATED,
    "roles.rbac.authorization.k8s.io": settings.CREATED,
    "clusterroles.rbac.authorization.k8s.io": settings.CREATED,
    "customresourcedefinitions.apiextensions.k8s.io": settings.CREATED,
    "rolebindings.rbac.authorization.k8s.io": settings.BINDINGS,
    "clusterrolebindings.rbac.authorization.k8s.io": settings.BINDINGS,
    "jobs.batch": workloads.JOBS,
    "cronjobs.batch": workloads.CRON_JOBS,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
}


def printer_of(resource: Resource) -> Printer:
    """The printer of a built-in resource; name and creation time for what has none of its own."""
    return PRINTERS.get(resource.label, settings.CREATED)


def partial(tree: Tree) -> Tree:
    """A PartialObjectMetadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": tree.get("metadata") or {}}


def row(printer: Printer, tree: Tree, now_seconds: float, include: str = "Metadata") -> Tree:
    """One row; `include` is the query's `includeObject`: None, Metadata or Object."""
    made: Tree = {"cells": printer.cells(tree, now_seconds)}
    conditions = printer.conditions(tree) if printer.conditions else []
    if conditions:
        made["conditions"] = conditions
    if include == "Object":
        made["object"] = tree
    elif include == "None":
        made["object"] = None
    else:
        made["object"] = partial(tree)
    return made


def table(
    printer: Printer,
    trees: Iterable[Tree],
    now_seconds: float,
    *,
    metadata: Mapping[str, Any],
    include: str = "Metadata",
    with_columns: bool = True,
) -> Tree:
    """A Table of objects; further events of a watch leave the columns out."""
    columns = [column.definition() for column in printer.columns] if with_columns else None
    rows = [row(printer, tree, now_seconds, include) for tree in trees]
    # Of what has no printer of its own the real server answers null: Go writes a list so that was never made.
    is_null = not rows and printer is settings.CREATED
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": dict(metadata),
        "columnDefinitions": columns,
        "rows": None if is_null else rows,
    }
