"""What a row of *Now* is about: the job, node or pod behind its key, and its page."""

from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.screens.place import Place
from cockpit.triage.alerts import ALERT


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
