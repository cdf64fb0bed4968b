"""What a row of *Now* is about: the job, node or pod behind its key, and its page."""

import msgspec

from cockpit.model.job import Job, JobState
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.place import Place
from cockpit.services.host import Cluster
from cockpit.triage.alerts import ALERT
from cockpit.triage.troubles import Trouble


def thing_of(place: Place, kind: str, key: str) -> Job | Node | Pod | None:
    """The thing of that kind that the finding of this key is about; None where it is about none."""
    store = place.cockpit.cluster.store
    if kind == "job":
        return place.cockpit.cluster.jobs.job(_subject(key))
    if kind == "pod":
        pod = store.by_key(Kind.POD, _subject(key)) if key.startswith(("pod-", ALERT)) else None
        return pod if isinstance(pod, Pod) else None
    found = store.by_key(Kind.NODE, _subject(key)) if kind == "node" else None
    return found if isinstance(found, Node) else None


def as_it_stands(row: Trouble, cluster: Cluster, now_seconds: float) -> Trouble:
    """A row outlives its cause for a while: of a job that was suspended meanwhile it says that."""
    job = None if row.is_resolved or row.found.subject.kind != "job" else cluster.jobs.job(_subject(row.key))
    if job is None or job.state != JobState.SUSPENDED:
        return row
    verdict = cluster.verdicts.of(job, now_seconds)
    found = msgspec.structs.replace(row.found, sentence=verdict.sentence, remedies=verdict.remedies)
    return msgspec.structs.replace(row, found=found)


def open_subject(place: Place, key: str) -> None:
    """A job or a node has a page; what else there is is explained."""
    if isinstance(job := thing_of(place, "job", key), Job):
        place.cockpit.open_job(job.key)
    elif isinstance(node := thing_of(place, "node", key), Node):
        place.cockpit.open_node(node.name)
    else:
        place.action_why()


def _subject(key: str) -> str:
    """The key of the object that a finding is about: finding keys are `finding:object key`."""
    return key.split(":", 1)[1] if ":" in key else key
