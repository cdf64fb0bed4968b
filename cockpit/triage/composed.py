"""A job that is made of jobs (JobSet, TrainJob): why it has not made the part that computes.

Their fields, not the rows of jobs, tell of parts that are not there yet. One that asks for no GPUs itself is
read on demand.
"""

from collections.abc import Collection, Mapping, Sequence

from cockpit.catalogue import TextPlace, understand
from cockpit.catalogue.cause import Cause
from cockpit.gangs.draft import draft
from cockpit.model.finding import Evidence, Finding
from cockpit.model.job import Job, JobObject, JobPart
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.sanitise import clean
from cockpit.triage.context import Context, Tree

COMPOSED = (("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("jobset.x-k8s.io/v1alpha2", "JobSet"))
"""apiVersion and kind, from the top down: a TrainJob makes a JobSet of its name."""


def refused(namespace: str, name: str, context: Context) -> Finding | None:
    """Why controllers refuse the objects of that name, None where they were not read."""
    found = ((context.tree(kind, namespace, name), kind) for _, kind in COMPOSED)
    told = (_failed(tree, kind, namespace) for tree, kind in found if tree is not None)
    return next((one for one in told if one is not None), None)


def _failed(tree: Tree, kind: str, namespace: str) -> Finding | None:
    """Its controller refuses it: the runtime that it names, or what the condition says."""
    for one in _list(_map(tree.get("status")).get("conditions")):
        if one.get("type") != "Failed" or one.get("status") != "True":
            continue
        reason, told = _text(one.get("reason")), _text(one.get("message"))
        said = Evidence(f"{kind} {namespace}/{_name(tree)}", "condition Failed", f"{reason}: {told}")
        known = understand(TextPlace.CREATE, f"{reason}: {told}")
        if known is not None:
            return draft(known.cause, known.wording.words, names=dict(known.names), evidence=(said,))
        if reason == "TrainingRuntimeNotSupported":
            runtime = _text(_map(_map(tree.get("spec")).get("runtimeRef")).get("name")) or "?"
            text = "training runtime {runtime} is not supported: {why}"
            return draft(
                Cause.RUNTIME_MISSING, text, names={"runtime": runtime, "why": told}, evidence=(said,)
            )
    return None


def waits(job: Job, store: StoreReader) -> Finding | None:
    """A part of the job, or of what was made of it, that comes once another part is ready or complete, which
    it is not."""
    whole: JobObject | None = store.get(Kind.OTHER_JOB, job.uid)
    if job.kind == "TrainJob":
        records: Collection[JobObject] = store.records(Kind.OTHER_JOB).values()
        whole = next((one for one in records if one.owner is not None and one.owner.uid == job.uid), None)
    if whole is None:
        return None
    parts = {part.name: part for part in whole.parts}
    for part in whole.parts:
        for first, is_ready in () if part.is_made else part.after:
            before = parts.get(first, JobPart(first, 1))
            done = before.succeeded + (before.ready if is_ready else 0)
            if done >= before.wanted:
                continue
            end = "to be ready" if is_ready else "to complete"
            where = Evidence(f"{whole.kind} {whole.key}", "replicatedJobsStatus", f"{first}: {done}")
            return draft(
                Cause.WAITS_FOR_DEPENDENCY,
                f"{{part}} waits for {{first}} {end}: {{done}} of {{wanted}} so far",
                names={"part": part.name, "first": first, "done": done, "wanted": before.wanted},
                evidence=(where,),
            )
    return None


def _name(tree: Tree) -> str:
    return _text(_map(tree.get("metadata")).get("name"))


def _text(value: object) -> str:
    """Of an object that nobody decoded: safe for a terminal."""
    return clean(value) if isinstance(value, str) else ""


def _map(value: object) -> Tree:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Tree]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
