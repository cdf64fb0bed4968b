"""Kill: delete the object of a job, and say what goes with it.

Deletion is in the background: the object goes at once and the garbage collector takes its children. The
preconditions (uid and resource version) refuse it when the object became another, or changed, after it was
shown.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from cockpit.actions.address import Lookup, object_path
from cockpit.actions.shell import kill_line
from cockpit.errors import BadInput, Refused
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.record import Kind

_TABLES = {"MPIJob": Kind.MPIJOB, "Job": Kind.JOB, "Pod": Kind.POD}


class Truth(Protocol):
    """The store, as far as the members of a job are looked up."""

    def get(self, kind: str, uid: str) -> Any | None: ...


def plan_kill(job: Job, store: Truth, *, lookup: Lookup | None = None, context: str = "") -> Plan:
    """The plan that deletes the job. Raises BadInput when it is being deleted or has no path."""
    target = f"{job.kind.lower()} {job.namespace}/{job.name}"
    if job.state == JobState.FINISHING:
        raise BadInput(f"{target} is being deleted already; its pods need a moment to end")
    pods = tuple(one for one in (store.get(Kind.POD, uid) for uid in job.pod_uids) if isinstance(one, Pod))
    calls = _pod_calls(pods, lookup) if job.kind == "Pod" and pods else (_job_call(job, target, lookup),)
    return Plan(
        verb="kill",
        title=f"Kill {target}",
        calls=calls,
        lines=_lines(job, pods, target),
        warnings=_warnings(job, store),
        shell=kill_line(job, context),
        is_destructive=True,
    )


def confirmed(shown: Plan, now: Plan) -> Plan:
    """The plan to carry out: `now`, made after the person said yes, if it says what was shown.

    A running job's resource version moves all the time; what counts is that the same objects are meant and
    that the same would be lost. Raises Refused when not.
    """
    same = (shown.title, shown.lines, shown.warnings) == (now.title, now.lines, now.warnings)
    if same and [_identity(one) for one in shown.calls] == [_identity(one) for one in now.calls]:
        return now
    raise Refused(f"{shown.title}: it changed while you read; look again")


def _identity(call: Call) -> tuple[str, str, Any]:
    return call.method, call.path, ((call.body or {}).get("preconditions") or {}).get("uid")


def _job_call(job: Job, target: str, lookup: Lookup | None) -> Call:
    path = object_path(job.api_version, job.kind, job.namespace, job.name, lookup=lookup)
    return _delete(path, job.uid, job.resource_version, target)


def _pod_calls(pods: Sequence[Pod], lookup: Lookup | None) -> tuple[Call, ...]:
    return tuple(
        _delete(
            object_path("v1", "Pod", one.namespace, one.name, lookup=lookup),
            one.uid,
            one.resource_version,
            f"pod {one.key}",
        )
        for one in pods
    )


def _delete(path: str, uid: str, resource_version: str, target: str) -> Call:
    if not uid:
        raise BadInput(f"{target} has no uid here: it is not deleted by name alone")
    preconditions = {"uid": uid}
    if resource_version:
        preconditions["resourceVersion"] = resource_version
    return Call(
        method="DELETE",
        path=path,
        body={
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
            "preconditions": preconditions,
        },
        target=target,
    )


def _lines(job: Job, pods: Sequence[Pod], target: str) -> tuple[str, ...]:
    alive = [one for one in pods if not one.is_finished]
    running = sum(one.phase == "Running" for one in alive)
    lines = [f"delete {target} ({job.state or 'state unknown'})"]
    if alive:
        lines.append(f"{_count(len(alive), 'pod')} end with it, {running} of them running")
    elif pods:
        lines.append(f"{_count(len(pods), 'finished pod')} and their logs go with it")
    else:
        lines.append("it has no pods")
    if job.gpus_held:
        holding = {one.node for one in alive if one.holds_gpus}
        nodes = f" on {_count(len(holding), 'node')}" if holding else ""
        lines.append(f"{_count(job.gpus_held, 'GPU')} become free{nodes}")
    elif job.state not in JobState.ENDED:
        lines.append("it holds no GPU")
    if job.queue and job.state in JobState.WAITING:
        lines.append(f"it leaves queue {job.queue}")
    return tuple(lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _warnings(job: Job, store: Truth) -> tuple[str, ...]:
    found: list[str] = []
    record = store.get(_TABLES.get(job.kind, Kind.OWNER), job.uid)
    owner = getattr(record, "owner", None)
    if owner is not None:
        found.append(f"{owner.kind} {owner.name} owns it and may make it again")
    if job.kind in ("Deployment", "StatefulSet", "ReplicaSet", "Notebook"):
        found.append(f"this is a {job.kind}, not a training job: everything it serves ends")
    return tuple(found)
