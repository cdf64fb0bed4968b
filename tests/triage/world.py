"""A case's objects in the product's own store and job rows, by the decoders that the feed uses."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.actions.verdict_reads import objects_for
from cockpit.attach import watched_kinds
from cockpit.fit.scheduling_context import (
    Surroundings,
    attach_limits_of,
    claim_of,
    storage_class_of,
    volume_of,
)
from cockpit.jobs.index import JobIndex
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.feed import CORE, CUSTOM, GATHERED
from cockpit.kube.resource import Resource
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.telemetry.sample import parse_exposition
from cockpit.triage.context import ClusterView
from cockpit.triage.verdicts import Verdicts
from tests.triage.case import Case, Tree


def _label(group: str, plural: str) -> str:
    return f"{plural}.{group}" if group else plural


def _resource(label: str, objects: Iterable[Tree]) -> Resource:
    plural, _, group = label.partition(".")
    for one in objects:
        version = one["apiVersion"].rpartition("/")[2]
        return Resource(group, version, plural, one["kind"], namespaced="namespace" in one["metadata"])
    return Resource(group, "v1", plural, "", namespaced=True)


def streams(objects: Mapping[str, list[Tree]]) -> dict[str, Decoder]:
    """The decoder of each collection that the product watches."""
    found = {resource.label: decoder for resource, decoder in CORE}
    found |= {_label(one.group, one.plural): one.decoder for one in CUSTOM}
    for one in watched_kinds():
        label = _label(one.group, one.plural)
        if one.kind in GATHERED:
            found[label] = decoders.gathered_decoder(one, _resource(label, objects.get(label, ())))
        else:
            found[label] = decoders.engine_decoder(one)
    return found


def store_of(case: Case) -> tuple[Store, JobIndex]:
    """The store and the job rows, as a finished first list of every stream leaves them."""
    store = Store()
    jobs = JobIndex(store)
    watched = streams(case.objects)
    for label, decoder in watched.items():
        trees = case.objects.get(label)
        if label in case.denied:
            status = StreamStatus(kind=decoder.kind, phase=Phase.DENIED, message=f"may not list {label}")
            store.apply(Batch(kind=decoder.kind, status=status))
            continue
        if trees is None:
            absent = StreamStatus(kind=decoder.kind, phase=Phase.ABSENT)
            store.apply(Batch(kind=decoder.kind, status=absent))
            continue
        made = [decoder.from_json(json.dumps(one).encode()) for one in trees]
        records = tuple(one for one in made if one is not None)
        status = StreamStatus(
            kind=decoder.kind, phase=Phase.LIVE, objects=len(records), since_seconds=case.file.now
        )
        scope = label if decoder.kind in GATHERED else ""
        store.apply(Batch(kind=decoder.kind, scope=scope, mark=ListMark.BEGIN))
        store.apply(Batch(kind=decoder.kind, scope=scope, changed=records))
        store.apply(Batch(kind=decoder.kind, scope=scope, mark=ListMark.END, status=status))
    _owners(case, store, frozenset(watched))
    if case.metrics:
        store.apply(Batch(kind=Kind.GPU, changed=_cards(case)))
    jobs.update(store.take_delta())
    return store, jobs


def _cards(case: Case) -> tuple[Gpu, ...]:
    """Cards as a round of telemetry leaves them: the utilization of each, joined to its pod."""
    read = parse_exposition(case.metrics, case.file.now)
    return tuple(
        Gpu(
            uuid=one.labels["UUID"],
            node=one.labels["Hostname"],
            index=int(one.labels["gpu"]),
            duty_ratio=one.value / 100,
            pod_namespace=one.labels["namespace"],
            pod_name=one.labels["pod"],
            container=one.labels["container"],
            mark=Mark.SURE,
            sampled_seconds=one.sampled_seconds,
            source="dcgm A",
        )
        for one in read
        if one.name == "DCGM_FI_DEV_GPU_UTIL"
    )


def _owners(case: Case, store: Store, watched: frozenset[str]) -> None:
    """Controllers that nobody watches are read once, as metadata, because something names them."""
    named = {
        owner["uid"]
        for trees in case.objects.values()
        for tree in trees
        for owner in tree["metadata"].get("ownerReferences", ())
    }
    for label, trees in case.objects.items():
        if label not in watched:
            made = [
                decoders.OWNER.from_json(json.dumps(one).encode())
                for one in trees
                if one["metadata"]["uid"] in named
            ]
            store.apply(Batch(kind=Kind.OWNER, changed=tuple(one for one in made if one is not None)))


_KINDS = {
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "persistentvolumes": "PersistentVolume",
    "resourcequotas": "ResourceQuota",
    "limitranges": "LimitRange",
    "configmaps": "ConfigMap",
    "services": "Service",
    "serviceaccounts": "ServiceAccount",
    "deployments.apps": "Deployment",
    "replicasets.apps": "ReplicaSet",
    "statefulsets.apps": "StatefulSet",
    "priorityclasses.scheduling.k8s.io": "PriorityClass",
    "storageclasses.storage.k8s.io": "StorageClass",
    "poddisruptionbudgets.policy": "PodDisruptionBudget",
    "resourceflavors.kueue.x-k8s.io": "ResourceFlavor",
    "workloadpriorityclasses.kueue.x-k8s.io": "WorkloadPriorityClass",
    "admissionchecks.kueue.x-k8s.io": "AdmissionCheck",
    "topologies.kueue.x-k8s.io": "Topology",
    "resourceclaimtemplates.resource.k8s.io": "ResourceClaimTemplate",
    "deviceclasses.resource.k8s.io": "DeviceClass",
}
"""Kinds that hold no object in a case are known to be empty, too."""
_WIDE = frozenset(
    {
        *("PersistentVolume", "PriorityClass", "StorageClass", "ResourceFlavor", "WorkloadPriorityClass"),
        *("AdmissionCheck", "Topology", "DeviceClass"),
    }
)


def trees_of(case: Case) -> dict[tuple[str, str], list[Tree]]:
    """What may be read on demand, by kind and namespace."""
    found: dict[tuple[str, str], list[Tree]] = {}
    spaces = [one["metadata"]["name"] for one in case.objects.get("namespaces", ())]
    for label, trees in case.objects.items():
        kind = _KINDS.get(label, "")
        if kind in _WIDE:
            found[kind, ""] = []
        elif kind:
            found |= {(kind, space): [] for space in spaces}
        for tree in trees:
            found.setdefault((tree["kind"], tree["metadata"].get("namespace", "")), []).append(tree)
    return found


def _around(case: Case) -> Surroundings:
    held = case.objects

    def of(label: str, space: str = "") -> list[Tree]:
        return [one for one in held.get(label, ()) if one["metadata"].get("namespace", "") == space]

    space = case.file.subject.namespace
    classes = [storage_class_of(one) for one in of("storageclasses.storage.k8s.io")]
    return Surroundings(
        claims={one.name: one for one in map(claim_of, of("persistentvolumeclaims", space))},
        volumes={one.name: one for one in map(volume_of, of("persistentvolumes"))},
        classes={one.name: one for one in classes},
        attach_limits=dict(map(attach_limits_of, of("csinodes.storage.k8s.io"))),
        priorities={one["metadata"]["name"]: one["value"] for one in of("priorityclasses.scheduling.k8s.io")},
    )


def watched_view_of(case: Case) -> ClusterView:
    """As `view_of`, with nothing but what is watched anyway: neither objects nor lines read on demand."""
    store, jobs = store_of(case)
    return ClusterView(store=store, jobs=jobs, now_seconds=case.file.now)


def rows_of(case: Case) -> tuple[ClusterView, Verdicts]:
    """What rows are made from, once last lines of crashes and objects were read as *Now* reads them."""
    view = view_of(case)
    verdicts = Verdicts(view.store, view.jobs)
    for uid, line in view.last_lines.items():
        if (pod := view.store.get(Kind.POD, uid)) is not None:
            verdicts.hear(pod, line)
    for job in view.jobs.jobs.values():
        verdicts.of(job, case.file.now)
    asyncio.run(read_objects(case.objects, verdicts, case.file.now))
    return view, verdicts


def view_of(case: Case) -> ClusterView:
    """What the engine is given for a case."""
    store, jobs = store_of(case)
    pods = {
        f"{one['metadata']['namespace']}/{one['metadata']['name']}": one["metadata"]["uid"]
        for one in case.objects.get("pods", ())
    }
    lines = {pods[key.rpartition("/")[0]]: "\n".join(value) for key, value in case.logs.items()}
    return ClusterView(
        store=store,
        jobs=jobs,
        now_seconds=case.file.now,
        last_lines=lines,
        around=_around(case),
        trees=trees_of(case),
    )


class _Server:
    """Answers reads of collections, and of single objects, from a case."""

    def __init__(self, objects: Mapping[str, list[Tree]]) -> None:
        self._objects = objects

    def lookup(self, api_version: str, kind: str) -> Resource | None:
        group, _, version = api_version.rpartition("/")
        for label, trees in self._objects.items():
            plural, _, of = label.partition(".")
            if of == group and (_KINDS.get(label) == kind or any(one["kind"] == kind for one in trees)):
                wide = kind in _WIDE or any("namespace" not in one["metadata"] for one in trees)
                return Resource(group, version, plural, kind, namespaced=not wide)
        return None

    async def request(self, _method: str, path: str, /, **_more: Any) -> ApiAnswer:
        parts = path.strip("/").split("/")
        group, rest = (f".{parts[1]}", parts[3:]) if parts[0] == "apis" else ("", parts[2:])
        space, rest = (rest[1], rest[2:]) if rest[0] == "namespaces" and rest[2:] else ("", rest)
        found = [
            one
            for one in self._objects.get(f"{rest[0]}{group}", ())
            if not space or one["metadata"].get("namespace") == space
        ]
        if not rest[1:]:
            return ApiAnswer(200, body=json.dumps({"items": found}).encode())
        named = next((one for one in found if one["metadata"]["name"] == rest[1]), None)
        return ApiAnswer(404 if named is None else 200, body=json.dumps(named or {}).encode())


async def read_objects(objects: Mapping[str, list[Tree]], verdicts: Verdicts, now_seconds: float) -> None:
    """What rows rest on and nobody watches, read as *Now* reads it."""
    server = _Server(objects)
    session: Any = server
    view = verdicts.view(now_seconds)
    while needs := verdicts.on_demand.unread_objects(now_seconds):
        for need, job in needs:
            verdicts.take_objects(need, await objects_for(session, server.lookup, need, job, view))
