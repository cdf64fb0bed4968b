"""Pods that have their node and do not run, or have ended: nothing but making what they name, or making them
anew, helps."""

from msgspec.structs import replace

from cockpit.catalogue import Cause, Trait, is_a
from cockpit.fit.what_if import WhatIf
from cockpit.gangs.wording import short
from cockpit.jobs.planned import planned_gang
from cockpit.k8s.json_patch import Operation, edited
from cockpit.model.finding import Change, Finding, Subject
from cockpit.triage.changes.gates import left_after
from cockpit.triage.changes.in_line import WaitingPods
from cockpit.triage.changes.job_edits import authored, edit_command, own_pods, verb_of_edit
from cockpit.triage.changes.offer import ChangeOffer, Desk
from cockpit.triage.context import ClusterView, Tree
from cockpit.triage.wanted import Wanted, job_of

_CREATED = {"configmap": ("create", "configmap"), "secret": ("create", "secret", "generic")}
_DEADLINE = "activeDeadlineSeconds"


def of_begun(verdict: Finding, view: ClusterView) -> tuple[Change, ...]:
    """Changes after which what has a node already, or has ended, runs; () where none is known."""
    if verdict.cause in (Cause.CONFIG_MISSING, Cause.VOLUME_NOT_MOUNTED):
        return _object_made(verdict)
    if is_a(verdict.cause, Trait.FINAL):
        return _anew(verdict, view, (), "made anew: its pod is final")
    if verdict.cause == Cause.DECLARED_FINISHED:
        return _recreated(verdict, view)
    if verdict.cause == Cause.DEADLINE:
        return _later_deadline(verdict, view)
    return ()


def _object_made(verdict: Finding) -> tuple[Change, ...]:
    """Where a pod has its node nothing else is needed: its kubelet tries again."""
    kind, name, space = verdict.fact("kind").lower(), verdict.fact("object"), verdict.subject.namespace
    words = _CREATED.get(kind)
    if words is None or not name:
        return ()
    return (
        Change(
            kind="create",
            words=f"create {kind} {short(name)} in {short(space)}, with what the container reads",
            command=("kubectl", *words, name, "-n", space),
            is_checked=True,
            target=Subject(kind, space, name),
        ),
    )


def _tree(subject: Subject, view: ClusterView) -> Tree | None:
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    if job is not None:
        return view.tree(job.kind, job.namespace, job.name)
    found = view.tree("Pod", subject.namespace, subject.name) if subject.kind == "pod" else None
    return None if found is None or found["metadata"].get("ownerReferences") else found


def _anew(
    verdict: Finding, view: ClusterView, operations: tuple[Operation, ...], words: str
) -> tuple[Change, ...]:
    found, job = _tree(verdict.subject, view), job_of(verdict.subject, view)
    if found is None:
        return ()
    tree = authored(found, job, view)
    members = () if job is None else view.jobs.members(job.key)
    then = WhatIf(
        parts=planned_gang(edited(tree, operations), verdict.subject.namespace),
        around=view.around,
        without=frozenset(one.uid for one in members),
    )
    if not then.parts or not then.starts(view.store):
        return ()
    name = verdict.subject.key if job is None else f"{job.namespace}/{job.name}"
    return (
        Change(
            kind="made_anew",
            words=words,
            verb=verb_of_edit(tree),
            command=edit_command(tree, operations, name),
            is_checked=True,
            target=verdict.subject,
        ),
    )


def _recreated(verdict: Finding, view: ClusterView) -> tuple[Change, ...]:
    """The job as its author wrote it, at the end of its queue: it starts, or what comes next is told."""
    found, job = _tree(verdict.subject, view), job_of(verdict.subject, view)
    if found is None or job is None:
        return ()
    change = Change(
        kind="recreate",
        words="recreated without what its queue wrote into it",
        verb=verb_of_edit(found),
        command=edit_command(found, (), f"{job.namespace}/{job.name}"),
        target=verdict.subject,
    )
    written = authored(found, job, view)
    parts = planned_gang(written, job.namespace)
    if not parts:
        return (change,)
    wanted = Wanted(subject=verdict.subject, parts=parts, queue=job.queue, job=job, tree=written)
    desk = Desk(wanted, view, is_anew=True)
    then = replace(desk.base, without=own_pods(desk))
    left = next(left_after(desk, ChangeOffer(0, change, then, written), WaitingPods(desk)), None)
    leaves = "" if left is None else left.sentence
    return (replace(change, is_checked=left is None, leaves=leaves),)


def _later_deadline(verdict: Finding, view: ClusterView) -> tuple[Change, ...]:
    """The job runs again without the deadline that ended it."""
    spec = (_tree(verdict.subject, view) or {}).get("spec") or {}
    for path, held in (("/spec", spec), ("/spec/runPolicy", spec.get("runPolicy") or {})):
        if _DEADLINE in held:
            words = f"made anew without its deadline of {held[_DEADLINE]} s"
            gone: Operation = {"op": "remove", "path": f"{path}/{_DEADLINE}"}
            return _anew(verdict, view, (gone,), words)
    return ()
