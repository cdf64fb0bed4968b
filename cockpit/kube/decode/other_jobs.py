"""Job objects of any kind that has pod templates: their roles are read by a function that is handed in.

Of a kind that also has thousands of objects without GPUs (Deployment) these cost a search in their bytes.
Sources: training-operator common/v1 types.go, KubeRay ray/v1, JobSet v1alpha2, spark-operator v1beta2,
AppWrapper v1beta2, Argo v1alpha1 (status.phase), apps/v1, LeaderWorkerSet v1.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from cockpit.k8s.gpu_resources import resource_marks
from cockpit.k8s.json_values import mapping
from cockpit.kube.decode import shapes
from cockpit.kube.decode.common import cleaned, conditions, controller, identity, labels, reclaim_mark
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import WireShape
from cockpit.kube.decode.wire import UndecodableError, read_json
from cockpit.kube.resource import Resource
from cockpit.model.job import JobObject, JobPart, ReplicaSpec, ReportedProgress
from cockpit.model.scheduling import Traits
from cockpit.sanitise import WORDS, clean

Roles = Callable[[Mapping[str, Any]], tuple[ReplicaSpec, ...]]
"""The roles of an object, given as a tree with apiVersion, kind and spec."""

_CLAIMS = "resourceClaims"
_LONGEST_SCHEDULE = 80
_MOST_METRICS, _METRIC_NAME = 32, 80
_NUMBER = re.compile(r"[-+]?[0-9]{1,30}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,2})?")
_ENDS = ("SUCCEEDED", "FAILED", "STOPPED")
_STARTED = ("startTime", "startedAt")
_FINISHED = ("completionTime", "endTime", "finishedAt", "terminationTime")


class OtherJob(WireShape, frozen=True, gc=False):
    """Any object with a spec and a status."""

    metadata: shapes.ObjectMeta = shapes.ObjectMeta()
    spec: dict[str, Any] = msgspec.field(default_factory=dict)
    status: dict[str, Any] = msgspec.field(default_factory=dict)


class _Bare(WireShape, frozen=True, gc=False):
    metadata: shapes.ObjectMeta = shapes.ObjectMeta()


def other_job_decode(resource: Resource, roles: Roles) -> Callable[[bytes], JobObject | None]:
    """The decoder of one such resource: None for an object whose pods ask for no GPUs, unless they did.
    It raises UndecodableError."""
    whole, bare = msgspec.json.Decoder(OtherJob), msgspec.json.Decoder(_Bare)
    known: set[str] = set()  # uids of those that asked: an object that is edited must not stay as it was

    def decode(raw: bytes) -> JobObject | None:
        if not any(mark in raw for mark in _marks(resource_marks())) and (
            not known or read_json(bare, raw).metadata.uid not in known
        ):
            return None
        job = read_json(whole, raw)
        uid = job.metadata.uid
        if not uid:
            raise UndecodableError("an object without metadata.uid")
        head = {"metadata": {"namespace": job.metadata.namespace}, "spec": job.spec}
        parts = roles({"apiVersion": resource.api_version, "kind": resource.kind, **head})
        if any(part.asks_for_gpus for part in parts):
            known.add(uid)
        elif uid not in known:
            return None
        return _record(job, resource, tuple(_cleaned(part) for part in parts))

    return decode


@lru_cache(maxsize=4)
def _marks(resources: tuple[str, ...]) -> tuple[bytes, ...]:
    """One of these stands in every object that asks for accelerators."""
    return tuple(mark.encode() for mark in (*resources, _CLAIMS))


def _record(job: OtherJob, resource: Resource, roles: tuple[ReplicaSpec, ...]) -> JobObject:
    meta, status = job.metadata, job.status
    found = conditions(_conditions(status), JSON)
    counts = _dicts(mapping(status.get("replicaStatuses")).values())
    return JobObject(
        **identity(meta, JSON),
        api_version=resource.api_version,
        kind=resource.kind,
        labels=labels(meta.labels),
        owner=controller(meta),
        conditions=found,
        replicas=roles,
        is_suspended=job.spec.get("suspend") is True
        or mapping(job.spec.get("runPolicy")).get("suspend") is True,
        schedule=clean(_text(job.spec.get("schedule")), _LONGEST_SCHEDULE),
        time_zone=clean(_text(job.spec.get("timeZone")), _LONGEST_SCHEDULE),
        phase=_phase(status),
        has_status=bool(status),
        parts=tuple(_parts(job.spec, status)),
        made_name=WORDS[_text(_made(status).get("rayClusterName"))],
        active=sum(_number(count.get("active")) for count in counts) or _number(status.get("readyReplicas")),
        succeeded=sum(_number(count.get("succeeded")) for count in counts),
        failed=sum(_number(count.get("failed")) for count in counts),
        started_seconds=_time(status, _STARTED),
        finished_seconds=_time(status, _FINISHED),
        reclaim=reclaim_mark(meta),
        reported=_reported(mapping(status.get("trainerStatus"))),
    )


def _reported(told: Mapping[str, Any]) -> ReportedProgress | None:
    """What a TrainJob's program reported (kubeflow/trainer KEP-2779, feature gate TrainJobStatus): whole
    percents, whole seconds, values as text. What is none of that is left out."""
    percent, seconds = (_whole(told.get(key)) for key in ("progressPercentage", "estimatedRemainingSeconds"))
    numbers = (
        (clean(_text(item.get("name")), _METRIC_NAME), _text(item.get("value")))
        for item in _dicts(told.get("metrics"))
    )
    found = ReportedProgress(
        done_ratio=percent / 100 if percent is not None and percent <= 100 else None,
        remaining_seconds=seconds,
        metrics=tuple((name, float(text)) for name, text in numbers if name and _NUMBER.fullmatch(text))[
            :_MOST_METRICS
        ],
        at_seconds=_time(told, ("lastUpdatedTime",)),
    )
    return None if found == ReportedProgress(at_seconds=found.at_seconds) else found


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value >= 0 else None


def _cleaned(role: ReplicaSpec) -> ReplicaSpec:
    traits = None if role.traits is None else cleaned(msgspec.to_builtins(role.traits))
    return msgspec.structs.replace(
        role,
        role=WORDS[role.role],
        gpu_resource=WORDS[role.gpu_resource],
        image=clean(role.image),
        traits=None if traits is None else msgspec.convert(traits, Traits),
    )


_COUNTS = ("active", "ready", "succeeded", "failed")


def _parts(spec: Mapping[str, Any], status: Mapping[str, Any]) -> Iterator[JobPart]:
    """The replicated jobs of a JobSet and what has come of them so far."""
    counts = {_text(item.get("name")): item for item in _dicts(status.get("replicatedJobsStatus"))}
    for item in _dicts(spec.get("replicatedJobs")):
        known = counts.get(_text(item.get("name")), {})
        before = _dicts(item.get("dependsOn"))
        yield JobPart(
            name=WORDS[_text(item.get("name"))],
            wanted=_number(item.get("replicas", 1)),
            ready=_number(known.get("ready")),
            succeeded=_number(known.get("succeeded")),
            is_made=any(_number(known.get(key)) for key in _COUNTS),
            after=tuple((WORDS[_text(it.get("name"))], it.get("status") == "Ready") for it in before),
        )


def _phase(status: Mapping[str, Any]) -> str:
    """What its controller calls its state. The end of what a RayJob runs goes before that of its cluster."""
    ran, deployed = _text(status.get("jobStatus")), _text(status.get("jobDeploymentStatus"))
    if ran in _ENDS and deployed in ("Complete", "Failed", "Running", ""):
        return WORDS[ran]
    state = status.get("applicationState") or status.get("state")
    named = state.get("state") if isinstance(state, dict) else state
    return WORDS[deployed or ran or _text(named) or _text(status.get("phase"))]


def _made(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where the status names the RayCluster: of a RayJob, else of a RayService."""
    return status if "rayClusterName" in status else mapping(status.get("activeServiceStatus"))


def _conditions(status: Mapping[str, Any]) -> tuple[shapes.PodCondition, ...]:
    made = []
    for item in _dicts(status.get("conditions")):
        try:
            made.append(msgspec.convert(item, shapes.PodCondition, strict=False))
        except msgspec.ValidationError:
            continue  # some kinds have conditions of another form
    return tuple(made)


def _time(status: Mapping[str, Any], fields: tuple[str, ...]) -> float | None:
    text = next((one for field in fields if isinstance(one := status.get(field), str) and one), None)
    return JSON.seconds(text)


def _dicts(value: Any) -> list[dict[str, Any]]:
    return (
        [item for item in value if isinstance(item, dict)]
        if isinstance(value, list | type({}.values()))
        else []
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
