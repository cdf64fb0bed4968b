"""The CronJob controller (pkg/controller/cronjob/cronjob_controllerv2.go, utils.go).

It makes a Job for the latest time that is due, never one for each that was missed. Not modelled: adoption of
jobs by owner, TooManyMissedTimes.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from cockpit.k8s.cron import CronSchedule, parse_schedule
from cockpit.kube.resource import JOBS
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.job.round import is_finished
from cockpit.sim.actors.controllers.trees import (
    controller_reference,
    created_seconds,
    is_condition,
    is_deleting,
    key_of,
    uid_of,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import CRON_JOBS
from cockpit.sim.times import rfc3339, seconds_of

_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_LATE_SECONDS = 0.1
"""So long after a time that is due it looks."""


class CronJobs(Controller):
    """Starts a job at each time of the schedule, and keeps as many that ended as it is to keep."""

    name = "cronjob-controller"
    watches = (CRON_JOBS, JOBS)

    def __init__(self) -> None:
        super().__init__()
        self._jobs = Children(("CronJob",))

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == CRON_JOBS:
            yield key_of(change.tree)
            return
        owner = self._jobs.take(change)
        if owner is not None:
            yield (change.tree["metadata"]["namespace"], owner["name"])

    async def reconcile(self, key: Key) -> None:
        cron = self.engine.cache(CRON_JOBS).get(*key)
        if cron is None:
            return
        cron = await self._count(cron)
        await self._drop_old(cron)
        if is_deleting(cron) or cron["spec"].get("suspend"):
            return
        zone = cron["spec"].get("timeZone")
        schedule, clock = parse_schedule(cron["spec"]["schedule"]), ZoneInfo(zone) if zone else UTC
        due, later = self._due(cron, schedule, clock)
        if later is None and due is None:
            text = cron["spec"]["schedule"]
            why = "time difference between two schedules is less than 1 second"
            await self.warning(cron, "InvalidSchedule", f"invalid schedule schedule: {text} : {why}")
            return
        if due is not None:
            await self._start(cron, due, clock)
        if later is not None:
            self.engine.after(later - self.engine.now() + _LATE_SECONDS, self, key)

    def _due(self, cron: Tree, schedule: CronSchedule, clock: tzinfo) -> tuple[float | None, float | None]:
        """The latest time that is due and has had no job, and the next that will be."""
        last = (cron.get("status") or {}).get("lastScheduleTime")
        due, now = None, self.engine.now()
        following = schedule.next_after(seconds_of(last) if last else created_seconds(cron), clock)
        while following is not None and following <= now:
            due, following = following, schedule.next_after(following, clock)
        return due, following

    async def _start(self, cron: Tree, due: float, clock: tzinfo) -> None:
        limit = cron["spec"].get("startingDeadlineSeconds")
        if limit is not None and due + limit < self.engine.now():
            moment = datetime.fromtimestamp(due, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            await self.warning(cron, "MissSchedule", f"Missed scheduled time to start a job: {moment}")
            return
        active = list((cron.get("status") or {}).get("active") or ())
        policy = cron["spec"]["concurrencyPolicy"]
        if active and policy == "Forbid":
            why = "Not starting job because prior execution is running and concurrency policy is Forbid"
            await self.normal(cron, "JobAlreadyActive", why)
            return
        if active and policy == "Replace":
            for job in self._jobs.of(cron):
                if not is_finished(job):
                    await self._delete(cron, job)
            active = []
        made = self._job(cron, due, clock)
        try:
            made = await self.engine.port.create(JOBS, made, cron["metadata"]["namespace"])
        except PortError as error:
            if error.reason != "AlreadyExists":
                await self.warning(cron, "FailedCreate", f"Error creating job: {error.message}")
                raise
            return
        self._jobs.put(made)
        await self.normal(cron, "SuccessfulCreate", f"Created job {made['metadata']['name']}")
        status = {**(cron.get("status") or {}), "active": [*active, _reference(made)]}
        await self.write_status(CRON_JOBS, cron, {**status, "lastScheduleTime": rfc3339(due)})

    def _job(self, cron: Tree, due: float, clock: tzinfo) -> Tree:
        template = cron["spec"]["jobTemplate"]
        held = template.get("metadata") or {}
        at = datetime.fromtimestamp(due, clock).isoformat().replace("+00:00", "Z")
        metadata: dict[str, Any] = {
            "name": f"{cron['metadata']['name']}-{int(due) // 60}",
            "annotations": {**(held.get("annotations") or {}), _SCHEDULED: at},
            "labels": dict(held.get("labels") or {}),
            "ownerReferences": [controller_reference(cron)],
        }
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": dict(template["spec"])}

    async def _count(self, cron: Tree) -> Tree:
        """Take out of its status what has ended or is gone."""
        status = cron.get("status") or {}
        jobs = {uid_of(job): job for job in self._jobs.of(cron)}
        active = []
        for one in status.get("active") or ():
            job = jobs.get(one["uid"])
            if job is not None and not is_finished(job):
                active.append(one)
            elif job is not None:
                how = "Complete" if is_condition(job, "Complete") else "Failed"
                message = f"Saw completed job: {job['metadata']['name']}, condition: {how}"
                await self.normal(cron, "SawCompletedJob", message)
                if how == "Complete" and (ended := job["status"].get("completionTime")):
                    status = {**status, "lastSuccessfulTime": ended}
        if len(active) != len(status.get("active") or ()):
            status = {key: value for key, value in status.items() if key != "active"}
            status |= {"active": active} if active else {}
            return await self.write_status(CRON_JOBS, cron, status)
        return cron

    async def _drop_old(self, cron: Tree) -> None:
        limits = {"Complete": "successfulJobsHistoryLimit", "Failed": "failedJobsHistoryLimit"}
        for condition, field in limits.items():
            limit = cron["spec"].get(field)
            ended = [one for one in self._jobs.of(cron) if is_condition(one, condition)]
            ended.sort(key=lambda one: (created_seconds(one), one["metadata"]["name"]))
            for job in [] if limit is None else ended[: max(0, len(ended) - limit)]:
                await self._delete(cron, job)

    async def _delete(self, cron: Tree, job: Tree) -> None:
        namespace, name = key_of(job)
        if is_deleting(job):
            return
        try:
            await self.engine.port.delete(JOBS, namespace, name, uid=uid_of(job), propagation="Background")
        except PortError as error:
            if error.is_gone or error.is_conflict:
                return
            raise
        self._jobs.gone(job)
        await self.normal(cron, "SuccessfulDelete", f"Deleted job {name}")


def _reference(job: Tree) -> Tree:
    metadata = job["metadata"]
    names = {key: metadata[key] for key in ("namespace", "name", "uid", "resourceVersion")}
    return {"kind": "Job", "apiVersion": "batch/v1", **names}
