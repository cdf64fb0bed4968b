"""Who stands at the top: metadata of controllers that are not watched, for pods that ask for GPUs.

A pod of a PyTorchJob, a RayJob or a notebook names its controller; that one may name another. Each is
fetched once, as metadata alone (PartialObjectMetadata), a few at a time, and told as OWNER records.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Never

from cockpit.errors import CockpitError
from cockpit.kube.decode.decoders import OWNER
from cockpit.kube.decode.wire import UndecodableError
from cockpit.kube.discovery import Served
from cockpit.kube.session import Session
from cockpit.model.batch import Batch
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

    def serve(self, served: Served) -> None:
        """What the server serves: needed to turn a kind into a path."""
        self._served = served
        self._ready.set()

    def look(self, batch: Batch) -> None:
        """Note the owners that this batch names."""
        if batch.kind == Kind.POD:
            for pod in batch.changed:
                if isinstance(pod, Pod) and pod.gpus and pod.owner_uid:
                    reference = OwnerRef(pod.owner_api_version, pod.owner_kind, pod.owner_name, pod.owner_uid)
                    self._want(reference, pod.namespace, 0)
        elif batch.kind in (Kind.JOB, Kind.MPIJOB):
            for job in batch.changed:
                if isinstance(job, JobObject) and job.owner is not None and _asks_for_gpus(job):
                    self._want(job.owner, job.namespace, 0)

    def _want(self, reference: OwnerRef, namespace: str, depth: int) -> None:
        if reference.uid in self._known or depth >= DEEPEST:
            return
        group = reference.api_version.rpartition("/")[0]
        if (group, reference.kind) in self._watched:
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
                self._want(owner.owner, namespace, depth + 1)
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


def _asks_for_gpus(job: JobObject) -> bool:
    return any(part.gpus_each for part in job.replicas)


def _missing(reference: OwnerRef, namespace: str) -> OwnerObject:
    return OwnerObject(
        uid=reference.uid,
        name=reference.name,
        namespace=namespace,
        api_version=reference.api_version,
        kind=reference.kind,
        is_missing=True,
    )
