"""Records of objects as they were read just now: what a plan rests on once the tables were too old.

A write that names a version is refused while a watch is behind. The plan is then made anew from a read of the
object, and not from what the watch may tell later.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.actions.refusals import recreated
from cockpit.errors import Refused
from cockpit.gangs.suspend_field import ended_as
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.decode.wire import UndecodableError
from cockpit.model.job import Job, JobState


def record_of(decoder: Decoder, tree: Mapping[str, Any], uid: str, target: str) -> Any:
    """The record of what was read. Raises Refused where it is another object or cannot be understood."""
    if tree["metadata"].get("uid") != uid:
        raise recreated(target)
    try:
        found = decoder.from_json(msgspec.json.encode(tree))
    except UndecodableError as error:
        raise Refused(f"{target} cannot be decoded: {error}") from None
    if found is None:
        raise Refused(f"{target} has changed; refresh and retry")
    return found


def job_as_read(job: Job, tree: Mapping[str, Any]) -> Job:
    """The row, with the version of the object that was read, and with its end where the row does not know."""
    metadata = tree["metadata"]
    state = job.state
    if metadata.get("deletionTimestamp"):
        state = JobState.FINISHING
    elif state not in JobState.ENDED:
        state = {"succeeded": JobState.SUCCEEDED, "failed": JobState.FAILED}.get(ended_as(tree), state)
    return msgspec.structs.replace(
        job, resource_version=str(metadata.get("resourceVersion") or ""), state=state
    )
