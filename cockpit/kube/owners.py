"""Who stands at the top: metadata of controllers that are not watched, for pods that ask for GPUs.

A pod of a PyTorchJob, a RayJob or a notebook names its controller; that one may name another. Each is
fetched once, as metadata alone (PartialObjectMetadata), a few at a time, and told as OWNER records.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Never

from cockpit.errors import CockpitError
from cockpit.kube.decode.decoders import OWNER
from cockpit.kube.decode.wire import UndecodableError
from cockpit.kube.discovery import Served
from cockpit.kube.session import Session
from cockpit.model.batch import Batch, ListMark
from cockpit.model.job import JobObject, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef

AT_ONCE = 4
PAUSE_SECONDS = 0.1
REMEMBERED = 20_000
DEEPEST = 6
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.5"

WATCHED = frozenset(
    {("batch", "Job"), ("kubeflow.org", "MPIJob"), ("", "Pod"), ("", "Node"), ("kueue.x-k8s.io", "Workload")}
)
"""Group and kind of what is watched anyway."""

Stream = tuple[str, str]
"""Kind and scope of a stream."""

Wanted = tuple[OwnerRef, str, int]
"""A reference, the namespace of the object that holds it, and how deep in the chain it stands."""


class Owners:
    """Looks at batches that pass, and fetches owners that nobody watches."""

    def __init__(
        self,
        session: Session,
        sink: Callable[[Batch], None],
        *,
        watched: frozenset[tuple[str, str]] = WATCHED,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._session = session
        self._sink = sink
        self._watched = watched
        self._pause = pause_seconds
        self._served: Served | None = None
        self._queue: asyncio.Queue[Wanted] = asyncio.Queue()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._ready = asyncio.Event()
        self._holders = Holders()

    def serve(self, served: Served) -> None:
        """What the server serves: needed to turn a kind into a path."""
        self._served = served
        self._ready.set()

    def look(self, batch: Batch) -> None:
        """Note the owners that this batch names, and let go of those that nobody names any more."""
        if batch.kind not in (Kind.POD, Kind.JOB, Kind.MPIJOB):
            return
        stream = (batch.kind, batch.scope)
        if batch.mark is ListMark.BEGIN:
            self._holders.list_begins(stream)
        for record in batch.changed:
            reference = _owner_of(record)
            if reference is not None:
                self._want(reference, record.namespace, 0, (record.uid, stream))
        gone = [owner for uid in batch.removed for owner in self._holders.let_go(uid)]
        if batch.mark is ListMark.END:
            gone += self._holders.list_ends(stream)
        if gone:
            for uid in gone:
                self._known.pop(uid, None)
            self._sink(Batch(kind=Kind.OWNER, removed=tuple(gone)))

    def _want(self, reference: OwnerRef, namespace: str, depth: int, holder: tuple[str, Stream]) -> None:
        group = reference.api_version.rpartition("/")[0]
        if (group, reference.kind) in self._watched:
            return
        self._holders.hold(holder[0], reference.uid, holder[1])
        if reference.uid in self._known or depth >= DEEPEST:
            return
        self._known[reference.uid] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        self._queue.put_nowait((reference, namespace, depth))

    async def run(self) -> Never:
        """Fetch what is wanted until cancelled."""
        await self._ready.wait()
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._work())
        raise AssertionError("the workers never end")

    async def _work(self) -> Never:
        while True:
            reference, namespace, depth = await self._queue.get()
            owner = await self._fetch(reference, namespace)
            if owner is None:
                self._known.pop(
                    reference.uid, None
                )  # the server could not be asked: the next batch asks again
                await asyncio.sleep(self._pause * 20)
                continue
            self._sink(Batch(kind=Kind.OWNER, changed=(owner,)))
            if owner.owner is not None:
                self._want(owner.owner, namespace, depth + 1, (owner.uid, ("", "")))
            await asyncio.sleep(self._pause)

    async def _fetch(self, reference: OwnerRef, namespace: str) -> OwnerObject | None:
        """The owner's record, marked missing where the server does not show it; None without an answer."""
        group, _, version = reference.api_version.rpartition("/")
        resource = self._served.find(group, reference.kind, version) if self._served else None
        if resource is None and self._served is not None:
            resource = self._served.find(group, reference.kind)
        if resource is None:
            return _missing(reference, namespace)
        try:
            path = resource.path(namespace, reference.name)
            answer = await self._session.request("GET", path, accept=METADATA_ONLY)
        except CockpitError:
            return None
        if answer.status in (401, 429) or answer.status >= 500:
            return None
        if not answer.ok:
            return _missing(reference, namespace)
        try:
            made = OWNER.from_json(answer.body)
        except UndecodableError:
            return _missing(reference, namespace)
        if not isinstance(made, OwnerObject) or made.uid != reference.uid:
            return _missing(reference, namespace)  # another object of the same name
        return OwnerObject(
            uid=made.uid,
            name=made.name,
            namespace=made.namespace,
            resource_version=made.resource_version,
            created_seconds=made.created_seconds,
            deleting_seconds=made.deleting_seconds,
            api_version=reference.api_version,
            kind=reference.kind,  # a PartialObjectMetadata calls itself so
            labels=made.labels,
            owner=made.owner,
        )


class Holders:
    """Who names which owner, so that an owner without any is let go. An owner may hold another."""

    def __init__(self) -> None:
        self._owner_of: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._members: dict[Stream, set[str]] = {}
        self._unseen: dict[Stream, set[str]] = {}

    def hold(self, holder: str, owner: str, stream: Stream) -> None:
        """`holder`, told by `stream`, names `owner`."""
        if holder not in self._owner_of:
            self._owner_of[holder] = owner
            self._counts[owner] = self._counts.get(owner, 0) + 1
            self._members.setdefault(stream, set()).add(holder)
        unseen = self._unseen.get(stream)
        if unseen is not None:
            unseen.discard(holder)

    def let_go(self, holder: str) -> list[str]:
        """The holder is gone; gives the owners that nobody names any more."""
        gone: list[str] = []
        while (owner := self._owner_of.pop(holder, None)) is not None:
            for members in self._members.values():
                members.discard(holder)
            self._counts[owner] -= 1
            if self._counts[owner]:
                break
            del self._counts[owner]
            gone.append(owner)
            holder = owner
        return gone

    def list_begins(self, stream: Stream) -> None:
        """Whoever is not named until the end is gone."""
        self._unseen[stream] = set(self._members.get(stream, ()))

    def list_ends(self, stream: Stream) -> list[str]:
        """The list is complete; gives the owners that nobody names any more."""
        return [owner for holder in self._unseen.pop(stream, set()) for owner in self.let_go(holder)]


def _owner_of(record: Any) -> OwnerRef | None:
    """The controller of what asks for GPUs, None for everything else."""
    if isinstance(record, Pod):
        if not record.gpus or not record.owner_uid:
            return None
        return OwnerRef(record.owner_api_version, record.owner_kind, record.owner_name, record.owner_uid)
    if isinstance(record, JobObject) and any(part.gpus_each for part in record.replicas):
        return record.owner
    return None


def _missing(reference: OwnerRef, namespace: str) -> OwnerObject:
    return OwnerObject(
        uid=reference.uid,
        name=reference.name,
        namespace=namespace,
        api_version=reference.api_version,
        kind=reference.kind,
        is_missing=True,
    )
