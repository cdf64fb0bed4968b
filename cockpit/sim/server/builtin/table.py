"""The table of built-in kinds."""

import msgspec

from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, SERVICES, Resource
from cockpit.sim import resources as r
from cockpit.sim.server.builtin import (
    bounds,
    cluster,
    definitions,
    events,
    jobs,
    pods,
    services,
    stateful_sets,
    workloads,
)
from cockpit.sim.server.builtin.unattended import claim_kinds, unattended_kinds
from cockpit.sim.server.kinds import Kinds, ScaleSubresource, ServedKind
from cockpit.sim.server.schema.crd_check import crd_faults
from cockpit.sim.server.schema.kinds import shape_of
from cockpit.sim.server.schema.shape import SchemaShape

_WORKLOAD_SCALE = ScaleSubresource(selector=("spec", "selector"))


def built_in() -> Kinds:
    """A fresh registry of everything that is served without a CustomResourceDefinition."""
    kinds = (*_nodes_and_pods(), *_core(), *_volumes(), *_batch(), *_apps(), *_others())
    kinds = (*kinds, *claim_kinds(), *unattended_kinds())
    return Kinds(msgspec.structs.replace(kind, shape=_shape(kind.resource)) for kind in kinds)


def _shape(resource: Resource) -> SchemaShape | None:
    return shape_of(resource.group, resource.version, resource.kind)


def _nodes_and_pods() -> list[ServedKind]:
    return [
        ServedKind(
            resource=PODS,
            singular="pod",
            short_names=("po",),
            categories=("all",),
            has_status=True,
            has_generation=True,
            is_graceful=True,
            deletion_returns_object=True,
            fields=pods.FIELDS,
            absent_fields={"spec.hostNetwork": "false"},
            kept_status=("qosClass",),
            complete=(pods.complete,),
            revise=(pods.revise,),
            checks=(pods.check,),
            status_checks=(pods.check_status,),
        ),
        ServedKind(
            resource=NODES,
            singular="node",
            short_names=("no",),
            has_status=True,
            keeps_status_at_create=True,
            fields={"spec.unschedulable": ("spec", "unschedulable")},
            absent_fields={"spec.unschedulable": "false"},
            complete=(cluster.complete_node,),
            complete_status=(cluster.complete_node,),
            revise=(cluster.revise_node,),
            checks=(cluster.check_node,),
        ),
        ServedKind(
            resource=NAMESPACES,
            singular="namespace",
            short_names=("ns",),
            verbs=("create", "delete", "get", "list", "patch", "update", "watch"),
            has_status=True,
            name_rule="label",
            fields={"status.phase": ("status", "phase"), "name": ("metadata", "name")},
            complete=(cluster.complete_namespace,),
            mark_ending=cluster.end_namespace,
            revise=(cluster.revise_namespace,),
        ),
    ]


def _core() -> list[ServedKind]:
    return [
        ServedKind(
            resource=EVENTS,
            singular="event",
            short_names=("ev",),
            is_path_creatable=True,
            default_propagation="",
            fields=events.CORE_FIELDS,
            complete=(events.complete,),
            checks=(events.check,),
        ),
        ServedKind(
            resource=r.NEW_EVENTS,
            singular="event",
            short_names=("ev",),
            is_path_creatable=True,
            default_propagation="",
            fields=events.NEW_FIELDS,
            store=EVENTS,
            to_stored=events.to_core,
            to_served=events.to_new,
            checks=(events.check_story, events.check_new),
        ),
        ServedKind(
            resource=SERVICES,
            singular="service",
            short_names=("svc",),
            categories=("all",),
            has_status=True,
            name_rule="label",
            is_path_creatable=True,
            deletion_returns_object=True,
            fields={"spec.clusterIP": ("spec", "clusterIP"), "spec.type": ("spec", "type")},
            complete=(cluster.complete_service,),
            revise=(cluster.service_addresses(),),
            checks=(services.check,),
            status_checks=(services.check_status,),
        ),
        ServedKind(
            resource=r.CONFIG_MAPS,
            singular="configmap",
            short_names=("cm",),
            complete=(cluster.complete_config_map,),
            checks=(cluster.check_config_map,),
        ),
        ServedKind(
            resource=r.SECRETS,
            singular="secret",
            fields={"type": ("type",)},
            complete=(cluster.complete_secret,),
            checks=(cluster.check_secret,),
        ),
        ServedKind(
            resource=r.SERVICE_ACCOUNTS,
            singular="serviceaccount",
            short_names=("sa",),
            deletion_returns_object=True,
        ),
    ]


def _volumes() -> list[ServedKind]:
    return [
        ServedKind(
            resource=r.PERSISTENT_VOLUME_CLAIMS,
            singular="persistentvolumeclaim",
            short_names=("pvc",),
            has_status=True,
            deletion_returns_object=True,
            complete=(cluster.complete_claim,),
            revise=(cluster.pending_status,),
        ),
        ServedKind(
            resource=r.PERSISTENT_VOLUMES,
            singular="persistentvolume",
            short_names=("pv",),
            has_status=True,
            deletion_returns_object=True,
            complete=(cluster.complete_volume,),
            revise=(cluster.revise_volume,),
        ),
        ServedKind(
            resource=r.RESOURCE_QUOTAS,
            singular="resourcequota",
            short_names=("quota",),
            has_status=True,
            deletion_returns_object=True,
            revise=(cluster.empty_status,),
            checks=(bounds.check_quota,),
        ),
        ServedKind(
            resource=r.LIMIT_RANGES,
            singular="limitrange",
            short_names=("limits",),
            is_path_creatable=True,
            complete=(cluster.complete_limits,),
            checks=(bounds.check_limits,),
        ),
    ]


def _batch() -> list[ServedKind]:
    return [
        ServedKind(
            resource=JOBS,
            singular="job",
            categories=("all",),
            has_status=True,
            has_generation=True,
            default_propagation="Orphan",
            delete_warning=jobs.DELETE_WARNING,
            fields={"status.successful": ("status", "succeeded")},
            absent_fields={"status.successful": "0"},
            complete=(jobs.complete,),
            revise=(jobs.revise,),
            checks=(jobs.check,),
        ),
    ]


def _apps() -> list[ServedKind]:
    return [
        ServedKind(
            resource=r.DEPLOYMENTS,
            singular="deployment",
            short_names=("deploy",),
            categories=("all",),
            has_status=True,
            has_generation=True,
            scale=_WORKLOAD_SCALE,
            is_generation_of_annotations=True,
            complete=(workloads.complete_deployment,),
            revise=(cluster.empty_status,),
            checks=(workloads.check, workloads.check_progress, workloads.check_selector),
            status_checks=(workloads.check_deployment_status,),
        ),
        ServedKind(
            resource=r.REPLICA_SETS,
            singular="replicaset",
            short_names=("rs",),
            categories=("all",),
            has_status=True,
            has_generation=True,
            scale=_WORKLOAD_SCALE,
            complete=(workloads.complete_replica_set,),
            revise=(workloads.revise_replica_set,),
            checks=(workloads.check, workloads.check_selector),
        ),
        ServedKind(
            resource=r.DAEMON_SETS,
            singular="daemonset",
            short_names=("ds",),
            categories=("all",),
            has_status=True,
            has_generation=True,
            complete=(workloads.complete_daemon_set,),
            revise=(workloads.revise_daemon_set,),
            checks=(workloads.check, workloads.check_selector),
        ),
        ServedKind(
            resource=r.STATEFUL_SETS,
            singular="statefulset",
            short_names=("sts",),
            categories=("all",),
            has_status=True,
            has_generation=True,
            scale=_WORKLOAD_SCALE,
            name_rule="label",
            complete=(stateful_sets.complete,),
            revise=(stateful_sets.revise,),
            checks=(workloads.check, stateful_sets.check),
        ),
        ServedKind(resource=r.CONTROLLER_REVISIONS, singular="controllerrevision"),
    ]


def _rights() -> list[ServedKind]:
    named = (
        (r.ROLES, "role"),
        (r.ROLE_BINDINGS, "rolebinding"),
        (r.CLUSTER_ROLES, "clusterrole"),
        (r.CLUSTER_ROLE_BINDINGS, "clusterrolebinding"),
    )
    return [
        ServedKind(resource=resource, singular=singular, name_rule="path", is_path_creatable=True)
        for resource, singular in named
    ]


def _others() -> list[ServedKind]:
    return [
        ServedKind(
            resource=r.BUDGETS,
            singular="poddisruptionbudget",
            short_names=("pdb",),
            has_status=True,
            has_generation=True,
            is_update_unconditional=False,
            revise=(workloads.revise_budget,),
            checks=(workloads.check_budget,),
        ),
        ServedKind(
            resource=r.LEASES,
            singular="lease",
            is_path_creatable=True,
            is_update_unconditional=False,
            checks=(bounds.check_lease,),
        ),
        ServedKind(
            resource=r.PRIORITY_CLASSES,
            singular="priorityclass",
            short_names=("pc",),
            has_generation=True,
            generation_parts=("",),
            complete=(cluster.complete_priority_class,),
            checks=(cluster.check_priority_class,),
        ),
        ServedKind(
            resource=r.STORAGE_CLASSES,
            singular="storageclass",
            short_names=("sc",),
            complete=(cluster.complete_storage_class,),
        ),
        ServedKind(
            resource=r.ENDPOINT_SLICES,
            singular="endpointslice",
            has_generation=True,
            generation_parts=("addressType", "endpoints", "ports"),
        ),
        *_rights(),
        ServedKind(
            resource=r.CUSTOM_RESOURCE_DEFINITIONS,
            singular="customresourcedefinition",
            short_names=("crd", "crds"),
            categories=("api-extensions",),
            mark_ending=definitions.end,
            complete=(definitions.complete,),
            revise=(definitions.revise,),
            checks=(crd_faults,),
            has_status=True,
            has_generation=True,
            is_update_unconditional=False,
        ),
    ]
