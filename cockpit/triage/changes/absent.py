"""What is missing or stands in the way by itself: a claim, a worker that failed and is not replaced."""

import msgspec

from cockpit.fit.scheduling_context import Claim, Volume
from cockpit.fit.shape import Part, shape_of
from cockpit.fit.what_if import WhatIf
from cockpit.gangs.wording import short
from cockpit.model.finding import Change, Subject
from cockpit.model.job import JobState
from cockpit.triage.changes.offer import FREE, ChangeOffers, Desk, made
from cockpit.triage.cluster_view import ClusterView
from cockpit.triage.wanted import job_of

_KEEPS_FAILED = ("MPIJob",)
"""Kinds whose controllers leave a failed worker where it is and start no other in its place."""


def claims(desk: Desk) -> ChangeOffers:
    """Claims of its pods that do not exist. Any volume does: where it will lie is the choice of its maker."""
    known, space = desk.view.around.claims, desk.wanted.namespace
    names = sorted(
        {name for one in desk.wanted.parts for name in one.shape.claims if name not in (known or {})}
    )
    if known is None or not names:
        return
    bound = {name: Claim(name, volume=f"for {name}", is_bound=True) for name in names}
    volumes = {one.volume: Volume(one.volume) for one in bound.values()}
    around = msgspec.structs.replace(
        desk.view.around,
        claims={**known, **bound},
        volumes={**(desk.view.around.volumes or {}), **volumes},
    )
    words = " and ".join(short(name) for name in names)
    yield made(
        desk,
        FREE + len(names),
        "create",
        f"create claim{'s' * (len(names) != 1)} {words} in {short(space)}",
        ("kubectl", "apply", "-n", space, "-f", f"{names[0]}.yaml"),
        target=Subject("claim", space, names[0]),
        around=around,
    )


def failed_worker(subject: Subject, view: ClusterView) -> tuple[Change, ...]:
    """A failed worker that nobody replaces: gone, its controller makes it anew, if it then finds a seat."""
    job = job_of(subject, view) if subject.kind in ("job", "gang") else None
    if job is None or job.kind not in _KEEPS_FAILED or job.state in JobState.ENDED:
        return ()
    failed = [pod for pod in view.jobs.members(job.key) if pod.phase == "Failed" and pod.role == "worker"]
    parts: list[Part] = []
    for pod in failed:
        tree = view.tree("Pod", pod.namespace, pod.name)
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
