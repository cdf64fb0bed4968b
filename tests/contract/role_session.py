"""A session that uses all that the cockpit reads, and one that does all it can do, for what they ask.

Both go through a proxy that records; the rights are read from the requests, not from the code.
"""

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec

from cockpit.actions.drain.reads import budgets_in
from cockpit.actions.field_choices import asked_lists
from cockpit.actions.form_rights import rights_to_test
from cockpit.actions.planning import Planning
from cockpit.actions.pool_lease import hold_of, read_lease, release_call
from cockpit.actions.record_run import kept_in_cluster
from cockpit.actions.rights import right_on
from cockpit.actions.surroundings import Needs
from cockpit.actions.verbs.registry import VERBS, verb_of
from cockpit.api_server import ApiServer
from cockpit.attach import AttachOptions, watched_kinds
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.get import NEEDS
from cockpit.commands.report import _objects
from cockpit.connection import server_reads
from cockpit.errors import CockpitError
from cockpit.gangs import registry
from cockpit.kube.calls import perform
from cockpit.kube.objects import list_trees
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.kube.visibility import QueuePlaces
from cockpit.model.batch import Batch
from cockpit.model.finding import Subject
from cockpit.model.job import JobState
from cockpit.model.lease import Lease
from cockpit.model.log import LogSource
from cockpit.model.record import Kind
from cockpit.model.right import Right
from cockpit.model.watched import Watched
from cockpit.pools.capacity import API_KINDS, priority_class, rights_for
from cockpit.pools.index import pools_of
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract import shapes
from tests.contract.asking import in_space
from tests.contract.test_keys_and_rights import ELSEWHERE, STREAMS, plan_for
from tests.contract.verb_objects import KINDS as VERB_KINDS
from tests.contract.verb_objects import SPACES, TABLES, put, row

BUILT_IN_GROUPS = ("apps", "batch", "scheduling.k8s.io")
_OF_THE_CLUSTER = ("nodepools", "nodeclaims", "clusterqueues")
OWNED = 9
"""Pods of each controller: so many that its kind is listed, and some are left to be asked for one by one."""

Grant = tuple[str, str, str]
"""Verb, group, and resource or resource/subresource."""

_VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete", "GET": "get"}
FREE = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews"})
"""What every user of a cluster may (ClusterRole system:basic-user)."""
OWNERS = (
    *(Resource("kubeflow.org", "v1", f"{one.lower()}s", one, namespaced=True)
      for one in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "Notebook")),
    *(Resource("ray.io", "v1", one, kind, namespaced=True)
      for one, kind in (("rayclusters", "RayCluster"), ("rayjobs", "RayJob"), ("rayservices", "RayService"))),
    Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", namespaced=True),
    Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", namespaced=True),
    Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet", namespaced=True),
    Resource("apps", "v1", "replicasets", "ReplicaSet", namespaced=True),
    Resource("apps", "v1", "statefulsets", "StatefulSet", namespaced=True),
    Resource("apps", "v1", "deployments", "Deployment", namespaced=True),
)  # fmt: skip
"""Controllers of GPU pods that are not watched: the documented ones."""
ASKED = (
    Resource(
        "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime",
        namespaced=False,
    ),
    Resource("trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime", namespaced=True),
    Resource("kueue.x-k8s.io", "v1beta2", "cohorts", "Cohort", namespaced=False),
    Resource("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False),
    Resource("kueue.x-k8s.io", "v1beta2", "topologies", "Topology", namespaced=False),
    Resource(
        "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False
    ),
    Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False),
    Resource("scheduling.run.ai", "v2", "queues", "Queue", namespaced=False),
    Resource("autoscaling.x-k8s.io", "v1", "provisioningrequests", "ProvisioningRequest", namespaced=True),
    Resource("autoscaling.x-k8s.io", "v1beta1", "capacitybuffers", "CapacityBuffer", namespaced=True),
)  # fmt: skip
"""What is listed when a form or a page asks, in the versions that are asked for first."""


def kinds_to_define() -> tuple[Resource, ...]:
    """Every custom kind that a session reads, besides those that the verbs are done to."""
    own = {(one.group, one.plural) for one in VERB_KINDS.values()}
    found = {(one.group, one.plural): one for one in (*map(_resource, _watched()), *OWNERS, *ASKED)}
    return tuple(one for name, one in found.items() if name not in own and one.group not in BUILT_IN_GROUPS)


def _watched() -> list[Watched]:
    return [one for one in watched_kinds() if not one.name]


def _resource(one: Watched) -> Resource:
    kind = one.api_kind or one.plural[:-1].title()
    version = next(iter(one.versions), "v1")
    return Resource(one.group, version, one.plural, kind, namespaced=one.plural not in _OF_THE_CLUSTER)


def grants_of(proxy: FaultProxy) -> frozenset[Grant]:
    """The rights that the requests needed which the proxy saw; discovery and health are open to everybody.

    Not those on the kind that other cases define for themselves: owners of that kind may be there still.
    """
    found: set[Grant] = set()
    for seen in proxy.seen:
        words = seen.path.strip("/").split("/")
        if words[0] not in ("api", "apis") or len(words) < (3 if words[0] == "api" else 4):
            continue
        right = right_on(_VERBS[seen.method], seen.path)
        if right.resource in FREE or right.group == shapes.GROUP:
            continue
        verb = right.verb
        if verb == "get" and not right.name:
            verb = "watch" if seen.is_watch else "list"
        name = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
        if name.split("/")[1:2] == ["proxy"]:
            name = "/".join(name.split("/")[:2])
        found.add((verb, right.group, name))
    return frozenset(found)


def put_owned_pods(admin: Api, space: str) -> None:
    """GPU pods of every kind of controller that is looked up, and one that has a claim."""
    for owner in OWNERS:
        if owner.group in BUILT_IN_GROUPS:
            continue  # their own controllers would take such pods away
        for at in range(OWNED):
            made = put(admin, owner, f"o-{at}", space, {})
            tree = shapes.pod(f"o-{owner.plural}-{at}", gpus=1)
            names = {"apiVersion": owner.api_version, "kind": owner.kind, "name": made["metadata"]["name"]}
            tree["metadata"]["ownerReferences"] = [
                {**names, "uid": made["metadata"]["uid"], "controller": True}
            ]
            admin.create(in_space(space, "pods"), tree)
    claiming = shapes.pod("o-claims")
    claiming["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    admin.create(in_space(space, "pods"), claiming)


async def read_everything(kubeconfig: Path, space: str) -> None:
    """Attach, let every stream begin, and ask what places, pages, forms and reports ask on demand."""
    options = AttachOptions(kubeconfig=str(kubeconfig), context="one")
    async with attached(options, SystemClock()) as live:
        await live.settle(
            (*NEEDS["overview"], Kind.EVENT, Kind.MACHINE, Kind.POD_GROUP), 60.0, tells_rest=True
        )
        await _ask_on_demand(live, space)
        await asyncio.sleep(0)


async def _ask_on_demand(live: Live, space: str) -> None:
    one = live.attachment
    api, session, store = ApiServer(one), one.connected(), one.store
    assert one.served is not None
    pods = [pod for pod in store.records(Kind.POD).values() if pod.namespace == space]
    jobs = [job for job in one.jobs.jobs.values() if job.namespace == space]
    for pod in pods[:2]:
        await _quiet(api.read_yaml("v1", "Pod", pod.namespace, pod.name))
        await _quiet(api.read_times(pod.namespace, pod.name))
        await _quiet(api.read_log(LogSource(pod.uid, pod.namespace, pod.name, pod.name), tail_lines=5))
    await _quiet(api.read_yaml("v1", "Node", "", "k-node"))
    for resource in (*VERB_KINDS.values(), *kinds_to_define(), *OWNERS):
        if resource.kind in _WITH_YAML:
            await _quiet(api.read_yaml(resource.api_version, resource.kind, space, "k"))
    await _quiet(api.read_yaml("batch/v1", "Job", space, "k-run"))
    await _quiet(api.read_yaml("batch/v1", "CronJob", space, "k-cron-on"))
    await api.read_scalers()
    await api.ask_choices(asked_lists(), space)
    await api.ask_topologies()
    await api.ask_surroundings(Needs(space, priorities=True, namespaces=True))
    for pool in pools_of(store):
        await api.read_standing(pool)
        await read_lease(session, pool, "default")
    await budgets_in(session, frozenset((space,)))
    await kept_in_cluster(session, space)
    reads = server_reads(session)
    await _quiet(reads.list_services())
    prometheus = f"/api/v1/namespaces/{space}/services/http:prometheus:9090/proxy/api/v1/query"
    await _quiet(reads.get_proxied(prometheus, (("query", "up"),), 1 << 20))
    await _quiet(reads.read_page(f"/api/v1/namespaces/{space}/pods/k-pod:9400/proxy/metrics", (), 1 << 20))
    view = ClusterView(store=store, jobs=one.jobs, now_seconds=one.clock.cluster_now())
    for job in jobs:
        subject = Subject("job", job.namespace, job.name)
        await api.ask_verdict(subject, view, {})
    await _objects(one, Subject("job", space, "k-run"))
    for engine in registry.engines():
        for version, kind in engine.foretells.lists if engine.foretells else ():
            asked = one.served.find(version.rpartition("/")[0], kind)
            assert asked is not None, kind
            await list_trees(session, asked)
        if engine.line is not None:
            places = QueuePlaces(
                session, lambda: {"k-cluster": {}}, lambda _batch: None, one.clock,
                path=engine.line.path, versions=engine.line.versions,
            )  # fmt: skip
            await places.step()


_WITH_YAML = frozenset({
    "MPIJob", "JobSet", "Job", "Workload", "LocalQueue", "ClusterQueue", "MachineDeployment", "NodePool",
    *(one.kind for one in OWNERS),
})  # fmt: skip


async def _quiet(asking: Any) -> None:
    try:
        await asking
    except CockpitError:
        return  # that it is not there, or has no kubelet, is as good: it was asked


def things_of(admin: Api, made: tuple[dict[str, list[Any]], list[Any]]) -> tuple[dict[str, list[Any]], Store]:
    """What verbs are done to, the documented job kinds besides, and a store that holds it."""
    things, records = made
    store = Store()
    for kind, table in TABLES.items():
        store.apply(Batch(kind=table, changed=tuple(one for one in records if isinstance(one, kind))))
    template = {"template": shapes.job("x")["spec"]["template"], "replicas": 2}
    spec = {"runPolicy": {"suspend": False}, "suspend": False, "pytorchReplicaSpecs": {"Worker": template}}
    own = [
        row(put(admin, one, "k-own", SPACES[0], spec), JobState.RUNNING)
        for one in OWNERS
        if one.group != "apps"
    ]
    jobs = [*things["job"], *own, *(msgspec.structs.replace(one, state=JobState.FAILED) for one in own)]
    return {**things, "job": jobs, "pool": [one for one in pools_of(store) if one.owner_kind]}, store


async def do_everything(
    session: ApiSession, things: dict[str, list[Any]], planning: Planning
) -> dict[str, frozenset[Grant]]:
    """Try every verb on every thing dry, by `session`; gives the rights that each names before, by its id."""
    named: dict[str, set[Right]] = defaultdict(set)
    for verb in VERBS:
        if verb.id in ELSEWHERE:
            continue
        for thing in things[verb.kind]:
            named[verb.id].update(verb.planner.needs(planning, thing))
            if verb.id in STREAMS:
                continue
            try:
                plan = await plan_for(verb, planning, thing)
            except CockpitError:
                continue  # it cannot be done to this one, whoever asks
            later = () if plan.goes_on is None else plan.goes_on.evictions
            for call in (*plan.calls, *plan.later, *later):
                if not call.via:
                    await _quiet(perform(session, call, dry_run=True))
    pool = things["pool"][0]
    lease = Lease(uid="u", resource_version="1", holder="me", acquired_seconds=1.0, to_nodes=2)
    hold = hold_of(pool, lease, "default")
    assert hold is not None
    await _quiet(perform(session, release_call(hold, 2.0), dry_run=True))
    asked = named["pool.ask"]
    ask = verb_of("pool.ask").planner
    for way in API_KINDS:
        for one in things["pool"]:
            await _quiet(ask.plan(planning, one, ask.options("2", way.value)))
        asked.update(rights_for(way, SPACES[0]))
    made = [(version.rpartition("/")[0], plural) for version, _, plural in API_KINDS.values()]
    made += [("karpenter.sh", "nodeclaims"), ("", "podtemplates")]
    asked.update(Right(verb, *kind) for kind in made for verb in ("create", "delete"))  # asked for, withdrawn
    asked.add(right_on("create", priority_class().path))
    named["pool.reclaim"].add(Right("delete", "karpenter.sh", "nodeclaims"))
    named["pool.reclaim"].update(named["pool.scale"])
    named["node.smoke-test"].update(rights_to_test(SPACES[0]))
    named["job.submit"].update(
        right for way in verb_of("job.submit").planner.ways(planning, ()) for right in way
    )
    named["job.record"].update(verb_of("job.record").planner.needs(planning, things["job"][0]))
    return {verb: frozenset(map(_grant, rights)) for verb, rights in named.items()}


def _grant(right: Right) -> Grant:
    name = f"{right.resource}/{right.subresource}" if right.subresource else right.resource
    return right.verb, right.group, name
