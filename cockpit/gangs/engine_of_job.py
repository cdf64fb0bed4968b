"""Which queueing or gang engine a job uses, told from its labels, its workload and its pods.

A resource that the server knows proves only that a CRD exists; what the job's own objects carry counts.
"""

from collections.abc import Iterable

from cockpit.gangs import registry
from cockpit.gangs.engine import Engine, JobEngine
from cockpit.model.gang import Workload
from cockpit.model.pod import Pod
from cockpit.model.record import Labels, label


def engine_of_job(labels: Labels, pods: Iterable[Pod], workload: Workload | None) -> JobEngine:
    """What the job itself carries goes first, then what the first pod that tells something does."""
    pods = tuple(pods)
    for engine in registry.engines_that_tell():
        of_job = engine.marks.queue_of_job
        queue = None if of_job is None else of_job(labels, workload, bool(pods))
        if queue is not None:
            return JobEngine(engine.name, queue)
    engines = registry.engines_by_plainness()
    for pod in registry.telling_pods(pods):
        for engine in engines:
            queue = _queue_of_pod(engine, pod, labels)
            if queue is not None:
                return JobEngine(engine.name, queue)
    return JobEngine(registry.NONE.name)


def _queue_of_pod(engine: Engine, pod: Pod, labels: Labels) -> str | None:
    """As its engine tells it, else by the scheduler of the pod; None where it is not the engine's."""
    if engine.marks.queue_of_pod is not None:
        return engine.marks.queue_of_pod(pod, labels)
    if not engine.scheduling.scheduler or pod.scheduler != engine.scheduling.scheduler:
        return None
    return label(labels, engine.marks.queue_label) if engine.marks.queue_label else ""


def admitted_by(labels: Labels) -> JobEngine | None:
    """The engine that has yet to admit a job with such labels, and its queue; None where none will."""
    for engine in registry.engines_by_quota():
        if queue := label(labels, engine.marks.queue_label):
            return JobEngine(engine.name, queue)
    return None


def needed_by(labels: Labels) -> str:
    """An object that the job names and without which its engine does not take it, as "kind name"; "" none."""
    for engine in registry.engines_by_quota():
        priority = engine.priority
        if priority is not None and (name := label(labels, priority.label)):
            return f"{priority.kind[1]} {name}"
    return ""
