"""Who stands at the top: metadata of controllers that are not watched, for pods that ask for GPUs.

A pod of a PyTorchJob, a RayJob or a notebook names its controller; that one may name another. Each is
read once, as metadata alone (PartialObjectMetadata), and told as an OWNER record: many of one kind by a list
of it, what that does not show one by one, a few at a time. While pods are being listed nothing is asked:
several hundred small requests would hold up the list, here and at the server.
"""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Never

import msgspec

from cockpit.errors import CockpitError
from cockpit.kube.decode.decoders import OWNER
from cockpit.kube.decode.frames import FramingError
from cockpit.kube.decode.wire import ListPage, UndecodableError, wire_of
from cockpit.kube.discovery import Served
from cockpit.kube.resource import Resource
from cockpit.kube.session import ApiSession
from cockpit.model.batch import Batch, ListMark
from cockpit.model.job import JobObject, OwnerObject
from cockpit.model.pod import Pod
from cockpit.model.record import Kind, OwnerRef

AT_ONCE = 4
PAUSE_SECONDS = 0.1
REMEMBERED = 20_000
DEEPEST = 6
MANY = 8
"""Owners of one kind from which that kind is listed instead of read by name."""
PAGE_OBJECTS = 500
MOST_PAGES = 20
"""Finished jobs may go back years; after this many pages the rest is read by name."""
LISTING_SECONDS = 15.0
"""A list of pods that takes longer is not waited for."""
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;q=0.5"
METADATA_LIST = METADATA_ONLY.replace("PartialObjectMetadata", "PartialObjectMetadataList")

WATCHED = frozenset({("batch", "Job"), ("kubeflow.org", "MPIJob"), ("", "Pod"), ("", "Node")})
"""Group and kind of what is watched anyway, without the kinds of engines."""

Stream = tuple[str, str]
"""Kind and scope of a stream."""

Wanted = tuple[OwnerRef, str, int]
"""A reference, the namespace of the object that holds it, and how deep in the chain it stands."""


class Owners:
    """Looks at batches that pass, and fetches owners that no watch covers."""

    def __init__(
        self,
        session: ApiSession,
        sink: Callable[[Batch], None],
        *,
        watched: frozenset[tuple[str, str]] = WATCHED,
        find_pod: Callable[[str], Pod | None] = lambda _uid: None,
        pause_seconds: float = PAUSE_SECONDS,
        listing_seconds: float = LISTING_SECONDS,
    ) -> None:
        self._session = session
        self._sink = sink
        self._watched = watched
        self._find_pod = find_pod
        self._awaited: set[str] = set()  # uids of pods that own others and have not come yet
        self._pause = pause_seconds
        self._patience = listing_seconds
        self._served: Served | None = None
        self._wanted: asyncio.Queue[Wanted] = asyncio.Queue()
        self._queue: asyncio.Queue[Wanted] = asyncio.Queue()  # those to be asked for one by one
        self._listing: set[Stream] = set()
        self._listed = asyncio.Event()
        self._listed.set()
        self._known: OrderedDict[str, None] = OrderedDict()
        self._ready = asyncio.Event()
        self._holders = Holders()
        self._watched_names: dict[tuple[str, str], bool] = {}

    def serve(self, served: Served) -> None:
        """What the server serves: needed to turn a kind into a path."""
        self._served = served
        self._ready.set()

    def look(self, batch: Batch) -> None:
        """Add the owners that this batch names, and remove those that no record names any more."""
        if batch.kind not in (Kind.POD, Kind.JOB, Kind.MPIJOB):
            return
        stream = (batch.kind, batch.scope)
        if batch.mark is ListMark.BEGIN:
            self._holders.list_begins(stream)
            self._listing.add(stream)
            self._listed.clear()
        for record in batch.changed:
            if isinstance(record, Pod):
                if record.asks_for_gpus and record.owner_uid:
                    self._want_of(record, stream)
                elif record.uid in self._awaited:
                    self._awaited.discard(record.uid)
                    self._want_of(record, stream)
            elif isinstance(record, JobObject) and record.owner is not None and _has_gpus(record):
                self._want(record.owner, record.namespace, 0, (record.uid, stream))
        gone = [owner for uid in batch.removed for owner in self._holders.let_go(uid)]
        if batch.mark is ListMark.DROP:
            self._holders.list_begins(stream)
        if batch.mark in (ListMark.END, ListMark.DROP):
            gone += self._holders.list_ends(stream)
            self._listing.discard(stream)
            if not self._listing:
                self._listed.set()
        if gone:
            for uid in gone:
                self._known.pop(uid, None)
            self._sink(Batch(kind=Kind.OWNER, removed=tuple(gone)))

    def _is_watched(self, pod: Pod) -> bool:
        """True where the pod's controller is of a kind that is watched: asked for every pod."""
        named = (pod.owner_api_version, pod.owner_kind)
        found = self._watched_names.get(named)
        if found is None:
            found = (named[0].rpartition("/")[0], named[1]) in self._watched
            if len(self._watched_names) < REMEMBERED:
                self._watched_names[named] = found
        return found

    def _want_of(self, pod: Pod, stream: Stream) -> None:
        """The owner of a pod; where that is a pod itself (the driver of Spark), the owner of that."""
        if pod.owner_kind == "Pod":
            self._want_above(pod.owner_uid, stream)
            return
        if not pod.owner_uid or self._is_watched(pod):
            return
        if pod.owner_uid in self._known:
            self._holders.hold(pod.uid, pod.owner_uid, stream)
            return
        reference = OwnerRef(pod.owner_api_version, pod.owner_kind, pod.owner_name, pod.owner_uid)
        self._want(reference, pod.namespace, 0, (pod.uid, stream))

    def _want_above(self, uid: str, stream: Stream) -> None:
        """The owner of a pod that owns others, once that pod has come."""
        above = self._find_pod(uid)
        if above is None:
            self._awaited.add(uid)
        elif above.owner_kind != "Pod":  # pods that own each other would have no end
            self._want_of(above, stream)

    def _want(self, reference: OwnerRef, namespace: str, depth: int, holder: tuple[str, Stream]) -> None:
        group = reference.api_version.rpartition("/")[0]
        if reference.kind == "Pod":
            self._want_above(reference.uid, holder[1])
        if (group, reference.kind) in self._watched:
            return
        self._holders.hold(holder[0], reference.uid, holder[1])
        if reference.uid in self._known or depth >= DEEPEST:
            return
        self._known[reference.uid] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        self._wanted.put_nowait((reference, namespace, depth))

    async def run(self) -> Never:
        """Fetch what is wanted until cancelled."""
        await self._ready.wait()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sort())
            for _ in range(AT_ONCE):
                group.create_task(self._work())
        raise AssertionError("the workers never end")

    async def _sort(self) -> Never:
        """What is wanted by kind: many by a list, the others one by one."""
        while True:
            wanted = [await self._wanted.get()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._listed.wait()
            while not self._wanted.empty():
                wanted.append(self._wanted.get_nowait())
            kinds: dict[Resource | None, list[Wanted]] = {}
            for item in wanted:
                kinds.setdefault(self._resource_of(item[0]), []).append(item)
            for resource, some in kinds.items():
                if resource is None:
                    self._tell([(_missing(item[0], item[1]), item) for item in some])
                    continue
                for one in some if len(some) < MANY else await self._read_list(resource, some):
                    self._queue.put_nowait(one)

    async def _read_list(self, resource: Resource, wanted: list[Wanted]) -> list[Wanted]:
        """Tell those that a list of the resource shows; gives the others, all of them where it is refused."""
        left = {item[0].uid: item for item in wanted}
        spaces = {namespace for _, namespace, _ in wanted}
        space = spaces.pop() if len(spaces) == 1 else ""
        token = ""
        for _ in range(MOST_PAGES):
            page = await self._page(resource, space, token)
            if page is None:
                break
            found = []
            for raw in page.items:
                made = _decoded(raw)
                one = left.pop(made.uid, None) if made is not None else None
                if made is not None and one is not None:
                    found.append((_as_named(made, one[0]), one))
            self._tell(found)
            token = page.continue_token
            if not token or not left:
                break
        return list(left.values())

    async def _page(self, resource: Resource, namespace: str, token: str) -> ListPage | None:
        query = [("limit", str(PAGE_OBJECTS)), *([("continue", token)] if token else [])]
        try:
            path = resource.path(namespace)
            answer = await self._session.request("GET", path, query=query, accept=METADATA_LIST)
            return wire_of(answer.content_type).page(answer.body) if answer.ok else None
        except (CockpitError, FramingError, UndecodableError):
            return None

    def _tell(self, found: list[tuple[OwnerObject, Wanted]]) -> None:
        """Hand over records, and note the owners that they name themselves."""
        if not found:
            return
        self._sink(Batch(kind=Kind.OWNER, changed=tuple(owner for owner, _ in found)))
        for owner, (_, namespace, depth) in found:
            if owner.owner is not None:
                self._want(owner.owner, namespace, depth + 1, (owner.uid, ("", "")))

    async def _work(self) -> Never:
        while True:
            wanted = await self._queue.get()
            reference, namespace, _ = wanted
            owner = await self._fetch(reference, namespace)
            if owner is None:
                self._known.pop(
                    reference.uid, None
                )  # the server could not be asked: the next batch asks again
                await asyncio.sleep(self._pause * 20)
                continue
            self._tell([(owner, wanted)])
            await asyncio.sleep(self._pause)

    async def _fetch(self, reference: OwnerRef, namespace: str) -> OwnerObject | None:
        """The owner's record, marked missing where the server does not show it; None without an answer."""
        resource = self._resource_of(reference)
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
        made = _decoded(answer.body)
        if made is None or made.uid != reference.uid:
            return _missing(reference, namespace)  # another object of the same name
        return _as_named(made, reference)

    def _resource_of(self, reference: OwnerRef) -> Resource | None:
        """The resource of a kind, in its own version where that is served; None where the kind is not."""
        if self._served is None:
            return None
        group, _, version = reference.api_version.rpartition("/")
        return self._served.find(group, reference.kind, version) or self._served.find(group, reference.kind)


def _decoded(raw: bytes) -> OwnerObject | None:
    """The object's record; None where it cannot be read."""
    try:
        made = OWNER.from_json(raw)
    except (UndecodableError, TypeError, ValueError, AttributeError, KeyError, IndexError, OverflowError):
        return None  # an invalid value costs this object only
    return made if isinstance(made, OwnerObject) else None


def _as_named(made: OwnerObject, reference: OwnerRef) -> OwnerObject:
    """The record under the kind that its holder gives it: a PartialObjectMetadata calls itself so."""
    return msgspec.structs.replace(made, api_version=reference.api_version, kind=reference.kind)


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
        """Remove the holder; returns the owners that no record names any more."""
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
        """Begin a list: a holder that it does not name is removed at its end."""
        self._unseen[stream] = set(self._members.get(stream, ()))

    def list_ends(self, stream: Stream) -> list[str]:
        """End the list; returns the owners that no record names any more. A holder that another stream
        has reported meanwhile is kept."""
        unseen = self._unseen.pop(stream, set())
        self._members.get(stream, set()).difference_update(unseen)
        over = [item for item in unseen if not any(item in members for members in self._members.values())]
        return [owner for holder in over for owner in self.let_go(holder)]


def _has_gpus(job: JobObject) -> bool:
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
