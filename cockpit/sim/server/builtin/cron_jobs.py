"""Cron jobs: defaults and validation (pkg/apis/batch: v1/defaults.go, validation.ValidateCronJobSpec)."""

from collections.abc import Iterator
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cockpit.k8s.cron import parse_schedule
from cockpit.sim.port import Tree
from cockpit.sim.server.builtin.filling import filled
from cockpit.sim.server.builtin.jobs import template_faults
from cockpit.sim.server.builtin.pod_spec import complete_template
from cockpit.sim.server.refusals import Cause, required, unsupported, wrong

_POLICIES = ("Allow", "Forbid", "Replace")
_LONGEST_NAME = 52
"""A job's name has a hyphen and ten digits more."""
_COUNTS = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def complete(tree: Tree) -> Tree:
    """Runs may overlap, three that succeeded are kept and one that failed. The job has no defaults yet."""
    spec = filled(
        tree.get("spec") or {},
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    job = spec.get("jobTemplate") or {}
    template = (job.get("spec") or {}).get("template") or {}
    done = complete_template(template)
    if done != template:
        spec = {**spec, "jobTemplate": {**job, "spec": {**(job.get("spec") or {}), "template": done}}}
    return {**tree, "spec": spec}


def check(tree: Tree, old: Tree | None) -> Iterator[Cause]:
    """What is wrong with a cron job."""
    spec, name = tree["spec"], tree["metadata"].get("name", "")
    if old is not None and spec == old["spec"]:
        return
    if old is None and len(name) > _LONGEST_NAME:
        yield wrong("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters")
    if not spec.get("schedule"):
        yield required("spec.schedule")
    else:
        try:
            parse_schedule(spec["schedule"])
        except ValueError as error:
            yield wrong("spec.schedule", spec["schedule"], str(error))
    for key in _COUNTS:
        if (spec.get(key) or 0) < 0:
            yield wrong(f"spec.{key}", spec[key], "must be greater than or equal to 0")
    yield from _zone_faults(spec.get("timeZone"))
    if spec["concurrencyPolicy"] not in _POLICIES:
        yield unsupported("spec.concurrencyPolicy", spec["concurrencyPolicy"], _POLICIES)
    yield from template_faults(spec["jobTemplate"].get("spec") or {"template": {}}, "spec.jobTemplate.spec")


def _zone_faults(zone: str | None) -> Iterator[Cause]:
    if zone is None:
        return
    if not zone:
        yield wrong("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield wrong("spec.timeZone", zone, why)
    else:
        try:
            ZoneInfo(zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            yield wrong("spec.timeZone", zone, f"unknown time zone {zone}")
