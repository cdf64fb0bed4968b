"""Rows of what makes pods: jobs, deployments, replica sets, daemon sets, stateful sets, cron jobs."""

from typing import Any

from cockpit.sim.port import Tree
from cockpit.sim.server.http.tables.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    SELECTOR,
    Printer,
    TableColumn,
    age,
    containers_of,
    human_duration,
    labels_text,
    part,
    selector_text,
    since,
)
from cockpit.sim.times import seconds_of


def _template(tree: Tree) -> tuple[str, str]:
    return containers_of(part(tree, "spec", "template", "spec"))


def _selector(tree: Tree) -> str:
    return selector_text(part(tree, "spec", "selector"))


def _job_status(tree: Tree) -> str:
    conditions = part(tree, "status").get("conditions") or ()
    held = {one["type"] for one in conditions if one.get("status") == "True"}
    for kind, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if kind in held:
            return word
    if part(tree, "metadata").get("deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if kind in held:
            return kind
    return "Running"


def _completions(tree: Tree) -> str:
    spec, succeeded = part(tree, "spec"), part(tree, "status").get("succeeded") or 0
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(tree: Tree, now_seconds: float) -> str:
    status = part(tree, "status")
    started = status.get("startTime")
    if not started:
        return ""
    ended = status.get("completionTime")
    return human_duration((seconds_of(ended) if ended else now_seconds) - seconds_of(started))


def _job(tree: Tree, now_seconds: float) -> list[Any]:
    return [
        tree["metadata"]["name"],
        _job_status(tree),
        _completions(tree),
        _duration(tree, now_seconds),
        age(tree, now_seconds),
        *_template(tree),
        _selector(tree),
    ]


def _deployment(tree: Tree, now_seconds: float) -> list[Any]:
    status = part(tree, "status")
    return [
        tree["metadata"]["name"],
        f"{status.get('readyReplicas') or 0}/{part(tree, 'spec').get('replicas') or 0}",
        status.get("updatedReplicas") or 0,
        status.get("availableReplicas") or 0,
        age(tree, now_seconds),
        *_template(tree),
        _selector(tree),
    ]


def _replica_set(tree: Tree, now_seconds: float) -> list[Any]:
    status = part(tree, "status")
    return [
        tree["metadata"]["name"],
        part(tree, "spec").get("replicas") or 0,
        status.get("replicas") or 0,
        status.get("readyReplicas") or 0,
        age(tree, now_seconds),
        *_template(tree),
        _selector(tree),
    ]


def _daemon_set(tree: Tree, now_seconds: float) -> list[Any]:
    status = part(tree, "status")
    return [
        tree["metadata"]["name"],
        status.get("desiredNumberScheduled") or 0,
        status.get("currentNumberScheduled") or 0,
        status.get("numberReady") or 0,
        status.get("updatedNumberScheduled") or 0,
        status.get("numberAvailable") or 0,
        labels_text(part(tree, "spec", "template", "spec").get("nodeSelector")),
        age(tree, now_seconds),
        *_template(tree),
        _selector(tree),
    ]


def _stateful_set(tree: Tree, now_seconds: float) -> list[Any]:
    ready = part(tree, "status").get("readyReplicas") or 0
    return [
        tree["metadata"]["name"],
        f"{ready}/{part(tree, 'spec').get('replicas') or 0}",
        age(tree, now_seconds),
        *_template(tree),
    ]


def _cron_job(tree: Tree, now_seconds: float) -> list[Any]:
    spec, status = part(tree, "spec"), part(tree, "status")
    last = status.get("lastScheduleTime")
    template = part(spec, "jobTemplate", "spec")
    return [
        tree["metadata"]["name"],
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(status.get("active") or ()),
        since(last, now_seconds) if last else NONE,
        age(tree, now_seconds),
        *containers_of(part(template, "template", "spec")),
        selector_text(part(template, "selector")),
    ]


def _count(name: str, description: str) -> TableColumn:
    return TableColumn(name, "integer", description=description)


_UPDATED = _count("Up-to-date", "Pods of the present template.")
_AVAILABLE = _count("Available", "Pods that have been ready for long enough.")
_DESIRED = _count("Desired", "How many pods are wanted.")
_CURRENT = _count("Current", "How many pods there are.")
_READY = _count("Ready", "How many pods are ready.")
_WIDE = (CONTAINERS, IMAGES, SELECTOR)

JOBS = Printer(
    (
        NAME,
        TableColumn("Status", description="Status of the job."),
        TableColumn("Completions", description="Pods that succeeded, of those that are wanted."),
        TableColumn("Duration", description="From the start of the job to its end, or to now."),
        AGE,
        *_WIDE,
    ),
    _job,
)
DEPLOYMENTS = Printer(
    (NAME, TableColumn("Ready", description="Ready pods of wanted pods."), _UPDATED, _AVAILABLE, AGE, *_WIDE),
    _deployment,
)
REPLICA_SETS = Printer((NAME, _DESIRED, _CURRENT, _READY, AGE, *_WIDE), _replica_set)
DAEMON_SETS = Printer(
    (
        *(NAME, _DESIRED, _CURRENT, _READY, _UPDATED, _AVAILABLE),
        TableColumn("Node Selector", description="Labels of the nodes on which it runs."),
        *(AGE, *_WIDE),
    ),
    _daemon_set,
)
STATEFUL_SETS = Printer(
    (NAME, TableColumn("Ready", description="Ready pods of wanted pods."), AGE, CONTAINERS, IMAGES),
    _stateful_set,
)
CRON_JOBS = Printer(
    (
        NAME,
        TableColumn("Schedule", description="When it runs, in cron's notation."),
        TableColumn("Timezone", description="Time zone of the schedule."),
        TableColumn("Suspend", "boolean", description="Whether further runs are held back."),
        _count("Active", "Jobs that run now."),
        TableColumn("Last Schedule", description="How long ago the last job was made."),
        *(AGE, *_WIDE),
    ),
    _cron_job,
)
