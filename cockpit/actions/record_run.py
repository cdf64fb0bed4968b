"""What a training run reached, kept in the cluster: a ConfigMap beside the job, which outlives it.

Not an annotation: that goes with its job, and each write of one wakes the job's operator. The ConfigMap has
no owner, holds one record of at most 2 KiB and is found again by its label.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from cockpit.actions.planner import Planner
from cockpit.actions.planning import Planning
from cockpit.actions.rights import right_on
from cockpit.actions.shell import job_line
from cockpit.errors import BadInput, CockpitError
from cockpit.jobs.members import LEADERS, in_order, members_of
from cockpit.jobs.progress import Patterns
from cockpit.jobs.run_log import container_of, patterns_for
from cockpit.jobs.template import Template, load_library
from cockpit.jobs.training.record import RunRecord, decoded, encoded, record_of
from cockpit.jobs.training.run import TrainingRun
from cockpit.kube.log_fan_in import read_once
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.job import Job
from cockpit.model.log import LogLine, LogSource
from cockpit.model.plan import Call, Plan
from cockpit.model.pod import Pod
from cockpit.model.right import Right
from cockpit.model.session import Reader

MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
LABEL: Final = "gpu-cockpit.io/run-record"
KEY: Final = "run.json"
HEAD_BYTES: Final = 1 << 20
TAIL_LINES: Final = 20_000
MOST_RECORDS: Final = 500
MOST_MEMBERS: Final = 16
"""Whose logs are read where no launcher writes for all: a rank's own rate stands in its own log."""


async def read_run(
    session: ApiSession, job: Job, members: Sequence[Pod], templates: Iterable[Template]
) -> TrainingRun:
    """The run as the log of its launcher (else of its first members) tells it now. Raises Refused where no
    log can be read, NoConnection."""
    leaders = [pod for pod in members if pod.role in LEADERS]
    training = TrainingRun(Patterns(patterns_for(job.kind, job.api_version, templates)))
    found: list[LogLine] = []
    trouble: CockpitError | None = None
    for pod in leaders or list(members)[:MOST_MEMBERS]:
        source = LogSource(
            pod.uid, pod.namespace, pod.name, pod.name, container_of(pod), pod.rank, is_leader=pod in leaders
        )
        try:
            found += await read_once(session, source, limit_bytes=HEAD_BYTES)
            found += await read_once(session, source, tail_lines=TAIL_LINES)
        except CockpitError as error:
            trouble = error
    if not found and trouble is not None:
        raise trouble
    training.take(sorted(found, key=lambda line: line.at_nanoseconds))
    return training


async def kept_in_cluster(session: ApiSession, namespace: str = "") -> list[RunRecord]:
    """The records that somebody kept there; none where they may not be read. Raises NoConnection."""
    query = [("labelSelector", LABEL), ("limit", str(MOST_RECORDS))]
    answer = await session.request("GET", MAPS.path(namespace), query=query)
    tree = answer.json() if answer.status < 300 else None
    items = tree.get("items") if isinstance(tree, dict) else None
    maps = [one.get("data") for one in items or () if isinstance(one, dict)]
    found = (decoded(str(one.get(KEY, ""))) for one in maps if isinstance(one, dict))
    return [one for one in found if one is not None]


def map_name(job: Job) -> str:
    """A name that another job of the same name does not take."""
    return f"{job.name[:200]}-run-{job.uid[:8]}"


def map_path(job: Job) -> str:
    return MAPS.path(job.namespace, map_name(job))


class RecordsAsShown:
    """Records by job and moment of asking: a log goes on between what is shown and what is sent."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, float], RunRecord] = {}

    async def of(
        self,
        session: ApiSession,
        job: Job,
        members: Sequence[Pod],
        templates: Iterable[Template],
        at_seconds: float,
    ) -> RunRecord:
        """What the run had reached when somebody asked. Raises as `read_run`."""
        key = (job.uid, at_seconds)
        if key not in self._kept:
            if len(self._kept) >= MOST_MEMBERS:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = record_of(await read_run(session, job, members, templates), job, at_seconds)
        return self._kept[key]


AS_SHOWN: Final = RecordsAsShown()


async def plan_record(session: Reader, job: Job, record: RunRecord, context: str = "") -> Plan:
    """Make the ConfigMap, or write the newer record into it. Raises BadInput where the log told no rate."""
    if not record.rate:
        raise BadInput(f"{record.label} told no throughput in its log yet: there is nothing to keep")
    target = f"configmap {job.namespace}/{map_name(job)}"
    data = {KEY: encoded(record).decode()}
    there = await _there(session, map_path(job))
    metadata: dict[str, Any] = {"name": map_name(job), "namespace": job.namespace, "labels": {LABEL: "true"}}
    if there is None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        call = Call(method="POST", path=MAPS.path(job.namespace), body=body, target=target)
    else:
        found = {one: there["metadata"].get(one) for one in ("uid", "resourceVersion")}
        call = Call(
            method="PATCH",
            path=map_path(job),
            body={"metadata": found, "data": data},
            content_type="application/merge-patch+json",
            target=target,
        )
    whose = f"{job.kind.lower()} {record.label}"
    said = (
        f"{record.rate:,.1f} {record.unit} on {record.seats} {record.seat}{'s' if record.seats != 1 else ''}"
    )
    return Plan(
        verb="record",
        title=f"Record {whose}",
        done=f"Recorded {whose}",
        calls=(call,),
        lines=(f"{said}: kept in {target}, which stays when the job is deleted",),
        shell=job_line("record", job, context),
    )


async def _there(session: Reader, path: str) -> dict[str, Any] | None:
    answer = await session.request("GET", path)
    tree = answer.json() if answer.status < 300 else None
    return tree if isinstance(tree, dict) and isinstance(tree.get("metadata"), dict) else None


async def _plan(planning: Planning, job: Job, _options: Any) -> Plan:
    """Keep what the run reached in a ConfigMap, from its log as it is now."""
    members = in_order(members_of(job, planning.store))
    library = await asyncio.to_thread(load_library, planning.template_folders)
    session = cast(ApiSession, planning.session)
    record = await AS_SHOWN.of(session, job, members, library.templates.values(), planning.at_seconds)
    return await plan_record(planning.session, job, record, planning.context)


def _needs(_planning: Planning, job: Job) -> tuple[Right, ...]:
    return (right_on("create", MAPS.path(job.namespace)),)


RECORD = Planner(plan=_plan, needs=_needs)
