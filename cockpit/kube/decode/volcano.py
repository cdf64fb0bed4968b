"""Volcano's own Job: a list of tasks, and a phase that its controller keeps.

Source: volcano-sh/apis pkg/apis/batch/v1alpha1/job.go.
"""

from cockpit.kube.decode.common import controller, identity, labels
from cockpit.kube.decode.jobs import replica_spec
from cockpit.kube.decode.reading import JSON
from cockpit.kube.decode.shapes import ObjectMeta, PodTemplateSpec, WireShape
from cockpit.mask import clean_message
from cockpit.model.job import JobObject
from cockpit.model.record import Condition
from cockpit.sanitise import WORDS

QUEUE_LABEL = "volcano.sh/queue-name"
"""What Volcano writes on pods; the Job itself has its queue in the spec."""
ABORTED = ("Aborting", "Aborted")
_ENDED = ("Completed", "Failed", "Terminated")


class _Task(WireShape, frozen=True, gc=False):
    name: str = ""
    replicas: int = 0
    template: PodTemplateSpec = PodTemplateSpec()


class _Spec(WireShape, frozen=True, gc=False):
    queue: str = ""
    scheduler_name: str = ""
    tasks: tuple[_Task, ...] = ()


class _State(WireShape, frozen=True, gc=False):
    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class _Status(WireShape, frozen=True, gc=False):
    state: _State = _State()
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class VolcanoJob(WireShape, frozen=True, gc=False):
    """batch.volcano.sh/v1alpha1 Job."""

    api_version: str = "batch.volcano.sh/v1alpha1"
    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


def volcano_job_record(job: VolcanoJob) -> JobObject:
    """The record of one Volcano Job; its phase is the only condition, true by its name."""
    spec, status, state = job.spec, job.status, job.status.state
    changed = JSON.seconds(state.last_transition_time)
    known = tuple(pair for pair in labels(job.metadata.labels) if pair[0] != QUEUE_LABEL)
    queue = (QUEUE_LABEL, WORDS[spec.queue or "default"])
    phase = Condition(
        type=WORDS[state.phase],
        status="True",
        reason=WORDS[state.reason],
        message=clean_message(state.message),
        changed_seconds=changed,
    )
    return JobObject(
        **identity(job.metadata, JSON),
        api_version=WORDS[job.api_version],
        kind="Job",
        labels=(*known, queue),
        owner=controller(job.metadata),
        conditions=(phase,) if state.phase else (),
        replicas=tuple(
            replica_spec(task.name, task.replicas, task.template, job.metadata, JSON) for task in spec.tasks
        ),
        is_suspended=state.phase in ABORTED,
        active=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        finished_seconds=changed if state.phase in _ENDED else None,
    )
