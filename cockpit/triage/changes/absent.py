"""What is missing or stands in the way by itself: a claim, a queue, a worker that failed and is not
replaced."""

from collections.abc import Mapping

import msgspec

from cockpit.fit.shape import Part, shape_of
from cockpit.fit.surroundings import Claim, Volume
from cockpit.fit.what_if import WhatIf
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.job import JobState
from cockpit.model.record import Kind
from cockpit.triage.changes.offer import FREE, ChangeOffer, ChangeOffers, Desk, short
from cockpit.triage.changes.quotas import is_open
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.verdict import Change, Subject
from cockpit.triage.wanted import job_of, tree_of

_KEEPS_FAILED = ("MPIJob",)
"""Kinds whose controllers leave a failed worker where it is and start no other in its place."""


def absent(desk: Desk) -> ChangeOffers:
    """Claims of its pods and the queue that it names, where these do not exist."""
    yield from _claims(desk)
    yield from _queue(desk)


def _claims(desk: Desk) -> ChangeOffers:
    known = desk.view.around.claims
    if known is None:
        return
    names = sorted({name for one in desk.wanted.parts for name in one.shape.claims})
    absent_ = [name for name in names if name not in known]
    if not absent_:
        return
    # any volume does: where the new one will lie is the choice of whoever makes it
    made = {name: Claim(name, volume=f"for {name}", is_bound=True) for name in absent_}
    volumes = {one.volume: Volume(one.volume) for one in made.values()}
    around = msgspec.structs.replace(
        desk.view.around,
        claims={**known, **made},
        volumes={**(desk.view.around.volumes or {}), **volumes},
    )
    space = desk.wanted.namespace
    words = " and ".join(short(name) for name in absent_)
    change = Change(
        kind="create",
        words=f"create claim{'s' * (len(absent_) != 1)} {words} in {short(space)}",
        command=("kubectl", "apply", "-n", space, "-f", f"{absent_[0]}.yaml"),
        target=Subject("claim", space, absent_[0]),
    )
    yield ChangeOffer(FREE + len(absent_), change, msgspec.structs.replace(desk.base, around=around))


def _queue(desk: Desk) -> ChangeOffers:
    """The LocalQueue that is named, where only one ClusterQueue could stand behind it."""
    name, store = desk.wanted.queue, desk.view.store
    if not name or desk.local is not None:
        return
    queues: Mapping[str, ClusterQueue] = store.records(Kind.CLUSTER_QUEUE)
    open_ = [one for one in queues.values() if is_open(one)]
    if len(open_) != 1:
        return
    space, behind = desk.wanted.namespace, open_[0].name
    made = LocalQueue(uid=f"new {name}", name=name, namespace=space, cluster_queue=behind)
    change = Change(
        kind="create",
        words=f"create queue {short(name)} in {short(space)}, on {short(behind)}",
        command=("kubectl", "apply", "-n", space, "-f", f"{name}.yaml"),
        target=Subject("queue", space, name),
    )
    yield ChangeOffer(
        FREE + 2, change, msgspec.structs.replace(desk.base, records=((Kind.LOCAL_QUEUE, made),))
    )


def failed_worker(subject: Subject, view: ClusterView) -> tuple[Change, ...]:
    """A failed worker that nobody replaces: gone, its controller makes it anew, if it then finds a seat."""
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    if job is None or job.kind not in _KEEPS_FAILED or job.state in JobState.ENDED:
        return ()
    failed = [pod for pod in view.jobs.members(job.key) if pod.phase == "Failed" and pod.role == "worker"]
    parts: list[Part] = []
    for pod in failed:
        tree = tree_of(view, "Pod", pod.namespace, pod.name)
        if tree is None:
            return ()
        template = dict(tree)
        template["spec"] = {name: one for name, one in dict(tree["spec"]).items() if name != "nodeName"}
        parts.append(Part(pod.role, 1, shape_of(template, pod.namespace)))
    if not parts or not WhatIf(parts=tuple(parts), around=view.around).starts(view.store):
        return ()
    names = [pod.name for pod in failed]
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        Change(
            kind="delete_worker",
            words=f"delete the failed worker {short(names[0])}{more}: a new one takes its place",
            command=("kubectl", "delete", "pod", *names, "-n", job.namespace),
            is_checked=True,
            target=Subject("pod", job.namespace, names[0]),
        ),
    )
