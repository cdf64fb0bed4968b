"""Tables with an object in them as it was read just now: what a plan rests on once the tables were too old.

A write that names a version is refused while a watch is behind. The plan is then made anew from a read of the
object, and not from what the watch may tell later.
"""

from collections import ChainMap
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from cockpit.errors import Refused
from cockpit.gangs.hold import ended_as
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.decode.wire import UndecodableError
from cockpit.model.batch import StreamStatus
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Record
from cockpit.store.indexes import Requests
from cockpit.store.store import Store


class Fresh:
    """The store, with one record of `kind` in place of the one that it holds."""

    def __init__(self, store: Store, kind: str, record: Record) -> None:
        self._store = store
        self._kind = kind
        self._records: dict[str, Any] = {record.uid: record}

    def get(self, kind: str, uid: str) -> Any | None:
        found = self._records.get(uid) if kind == self._kind else None
        return found if found is not None else self._store.get(kind, uid)

    def records(self, kind: str) -> Mapping[str, Any]:
        told = self._store.records(kind)
        # A ChainMap writes into its first mapping only, and nobody writes here.
        return ChainMap(self._records, told) if kind == self._kind else told  # type: ignore[arg-type]

    def status(self, kind: str) -> StreamStatus | None:
        return self._store.status(kind)

    def pods_on(self, node: str) -> Collection[Pod]:
        return self._store.pods_on(node)

    def requests_on(self, node: str) -> Requests:
        return self._store.requests_on(node)


def record_of(decoder: Decoder, tree: Mapping[str, Any], uid: str, target: str) -> Any:
    """The record of what was read. Raises Refused where it is another object or cannot be understood."""
    if tree["metadata"].get("uid") != uid:
        raise Refused(f"{target} is another object of the same name now: look again")
    try:
        found = decoder.from_json(msgspec.json.encode(tree))
    except UndecodableError as error:
        raise Refused(f"{target} cannot be understood: {error}") from None
    if found is None:
        raise Refused(f"{target} is not what it was: look again")
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
