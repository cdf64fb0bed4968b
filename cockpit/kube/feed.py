"""Everything that is watched in one context: a reflector for each known kind that the server serves.

Core kinds start at once; the others when discovery has found them, and again when a kind is installed later.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Never

import msgspec

from cockpit.clock import Clock
from cockpit.errors import CockpitError
from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder
from cockpit.kube.discovery import Served, ServedReads
from cockpit.kube.namespaced_streams import NamespacedStreams, Sink
from cockpit.kube.owners import WATCHED, Owners
from cockpit.kube.pulse import within
from cockpit.kube.reflector import IDLE_SECONDS, Reflector
from cockpit.kube.resource import EVENTS, JOBS, NAMESPACES, NODES, PODS, Resource
from cockpit.kube.session import ApiSession
from cockpit.kube.single_object import SingleObject
from cockpit.model.batch import Batch, ListMark, Phase, StreamStatus
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.right import Right
from cockpit.model.watched import Watched
from cockpit.supervise import Tell, Work

REDISCOVER_SECONDS = 60.0
"""Where each look costs a request for each API group."""
CHANGED_SECONDS = 12.0
"""Where one conditional request tells that nothing has changed: a new kind shows within 15 s."""
UNKNOWN_SECONDS = 8.0
"""After a look that failed."""

EVENT_IDLE_SECONDS = 330.0
"""Events are served from etcd without a watch cache, and without bookmarks (seen on 1.36): silence is normal.
A peer that is gone is noticed by TCP keep-alive (cockpit.kube.session)."""

DEVICE_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""Of resource.k8s.io: v1 since Kubernetes 1.34. Both lists are empty where no driver offers devices."""


class Known(msgspec.Struct, frozen=True):
    """One kind the cockpit reads. `versions` are those whose shape is known, "" for any."""

    kind: str
    group: str
    plural: str
    decoder: Decoder
    versions: tuple[str, ...] = ()


GATHERED = {
    Kind.POOL: "No machine-pool API is served.",
    Kind.MACHINE: "No API of machines is served.",
    Kind.POD_GROUP: "No PodGroup API is served.",
    Kind.OTHER_JOB: "No API of other jobs is served.",
}
"""Kinds of record that several resources become, each with its own stream and scope, and the sentence
where none of them is served."""

CORE: tuple[tuple[Resource, Decoder], ...] = (
    (NODES, decoders.NODE),
    (PODS, decoders.POD),
    (JOBS, decoders.JOB),
    (EVENTS, decoders.EVENT),
    (NAMESPACES, decoders.NAMESPACE),
)
"""Served by every API server: no need to ask."""

CUSTOM: tuple[Known, ...] = (
    Known(Kind.MPIJOB, "kubeflow.org", "mpijobs", decoders.MPIJOB, ("v2beta1",)),
    Known(Kind.DEVICE_SLICE, "resource.k8s.io", "resourceslices", decoders.DEVICE_SLICE, DEVICE_VERSIONS),
    Known(Kind.DEVICE_CLAIM, "resource.k8s.io", "resourceclaims", decoders.DEVICE_CLAIM, DEVICE_VERSIONS),
)


KeepUp = Callable[[str, Work, Tell], Coroutine[Any, Any, None]]
"""(name, work, tell) -> the work as a task that an unexpected error does not end; see `cockpit.supervise`."""


async def once(name: str, work: Work, tell: Tell) -> None:
    """The work as it is: what it raises ends the feed."""
    await work()


def _overlook(_served: Served) -> None:
    """Only the feed itself wants to know."""


def _say_nothing(sentence: str) -> None:
    """The error is in its report; no stream has failed."""


class Feed:
    """All streams of one context, delivered to one sink. `run` is one task; cancelling it ends them all.

    `watched` are the kinds that queueing engines and pool owners live by. Each kind in namespaces is read
    everywhere where that is allowed, else in each of `namespaces`; with `is_narrow` in those alone.
    `find_pod` gives a pod that was delivered, by its uid.
    """

    def __init__(
        self,
        session: ApiSession,
        sink: Callable[[Batch], None],
        *,
        clock: Clock,
        rng: random.Random,
        watched: Sequence[Watched],
        namespaces: Namespaces = EVERY,
        is_narrow: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        keep_up: KeepUp = once,
        serve: Callable[[Served], None] = _overlook,
        find_pod: Callable[[str], Pod | None] = lambda _uid: None,
    ) -> None:
        self.served: Served | None = None
        self._session = session
        self._deliver = sink
        self._clock = clock
        self._rng = rng
        self._namespaces = namespaces
        self._is_narrow = is_narrow
        self._sleep = sleep
        self._serve = serve
        self._keep_up = keep_up
        self._gathered = tuple(item for item in watched if item.kind in GATHERED)
        self._single = tuple(item for item in watched if item.name)
        self._custom = (
            *CUSTOM,
            *(
                Known(item.kind, item.group, item.plural, decoders.engine_decoder(item), item.versions)
                for item in watched
                if item.kind not in GATHERED and not item.name
            ),
        )
        kinds = frozenset((item.group, item.api_kind) for item in watched if item.api_kind)
        self._owners = Owners(session, sink, watched=WATCHED | kinds, find_pod=find_pod)
        self._running: dict[tuple[str, str], tuple[Resource, asyncio.Task[None]]] = {}
        self._absent: set[str] = set()

    async def run(self) -> Never:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for resource, decoder in CORE:
                self._start(group, resource, decoder)
            for item in self._single:
                self._start_single(group, item)
            owners, discovery = self._owners.run, partial(self._discover, group)
            group.create_task(self._keep_up("owners", owners, _say_nothing), name="owners")
            group.create_task(self._keep_up("kinds", discovery, self._tell_unknown), name="kinds")
        raise AssertionError("the streams never end")

    def _sink(self, batch: Batch) -> None:
        self._deliver(batch)
        self._owners.look(batch)

    def _start(
        self, group: asyncio.TaskGroup, resource: Resource, decoder: Decoder, *, is_gathered: bool = False
    ) -> None:
        name = (resource.group, resource.plural)
        running = self._running.get(name)
        if running is not None:
            if running[0] == resource:
                return
            running[1].cancel()  # the server prefers another version now
        scope_of = partial(_scope, resource, is_gathered)

        def stream(namespace: str, sink: Sink) -> Coroutine[Any, Any, None]:
            return self._stream(resource, decoder, namespace, scope_of(namespace), sink)

        if not resource.namespaced:
            work = stream("", self._sink)
            self._running[name] = (resource, group.create_task(work, name=resource.label))
            return
        streams = NamespacedStreams(
            self._session,
            resource,
            decoder.kind,
            stream,
            self._sink,
            namespaces=self._namespaces.names,
            is_narrow=self._is_narrow,
            scope_of=scope_of,
            rng=random.Random(self._rng.random()),
        )
        work = self._keep_up(f"namespaces of {resource.label}", streams.run, _say_nothing)
        self._running[name] = (resource, group.create_task(work, name=resource.label))

    async def _stream(
        self, resource: Resource, decoder: Decoder, namespace: str, scope: str, sink: Sink
    ) -> None:
        """One stream that goes on after an unexpected error, which its status tells."""

        async def watch() -> None:
            reflector = Reflector(
                self._session,
                resource,
                decoder,
                sink,
                kind=decoder.kind,
                namespace=namespace,
                scope=scope,
                clock=self._clock,
                rng=random.Random(self._rng.random()),
                idle_seconds=EVENT_IDLE_SECONDS if resource == EVENTS else IDLE_SECONDS,
            )
            await reflector.run()

        def tell(sentence: str) -> None:
            self._tell(decoder.kind, Phase.BACKING_OFF, sentence, scope)

        await self._keep_up(f"watch of {resource.label}", watch, tell)

    def _start_single(self, group: asyncio.TaskGroup, one: Watched) -> None:
        """Not asked of discovery: whether it is there is told by the answer."""
        (version,) = one.versions
        resource = Resource(one.group, version, one.plural, one.api_kind, namespaced=bool(one.namespace))
        right = Right("get", one.group, one.plural, namespace=one.namespace, name=one.name)
        path = resource.path(one.namespace, one.name)
        decoder = decoders.engine_decoder(one)
        single = SingleObject(self._session, path, right, decoder, self._deliver, self._clock)
        work = self._keep_up(f"reads of {one.name}", single.run, _say_nothing)
        group.create_task(work, name=one.name)

    async def _discover(self, group: asyncio.TaskGroup) -> Never:
        """Look what is served, now and then again: kinds are installed and removed while we run."""
        discovery, pulse = ServedReads(self._session), self._session.pulse
        while True:
            try:
                served = await discovery.read()
            except CockpitError as error:
                self._tell_unknown(error.sentence)
                await within(UNKNOWN_SECONDS, pulse.returned(), self._sleep)
                continue
            if served is not self.served:
                before, self.served = self.served, served
                self._owners.serve(served)
                self._serve(served)
                self._start_served(group, served, before)
            seconds = CHANGED_SECONDS if discovery.is_cheap else REDISCOVER_SECONDS
            await within(seconds * (1.0 + 0.1 * self._rng.random()), pulse.asked_again(), self._sleep)

    def _start_served(self, group: asyncio.TaskGroup, served: Served, before: Served | None) -> None:
        for name, (known_as, task) in list(self._running.items()):
            was_gone = before is not None and before.find(*name, known_as.version) is None
            if was_gone and served.find(*name, known_as.version) is not None:
                task.cancel()  # installed again: what waits for it need not wait any longer
                del self._running[name]
        for known in self._custom:
            resource = _served_version(served, known.group, known.plural, known.versions)
            if resource is None:
                self._tell_absent(known.kind, f"The server does not serve {known.plural}.{known.group}.")
            else:
                self._start(group, resource, known.decoder)
        self._start_gathered(group, served)

    def _start_gathered(self, group: asyncio.TaskGroup, served: Served) -> None:
        running = {item.kind for item in self._gathered if (item.group, item.plural) in self._running}
        for item in self._gathered:
            resource = _served_version(served, item.group, item.plural, item.versions)
            entry = served.entry(item.group, item.plural, resource.version) if resource is not None else None
            if resource is None or entry is None or not entry.can_watch:
                continue
            running.add(item.kind)
            self._start(group, resource, decoders.gathered_decoder(item, resource), is_gathered=True)
        for kind, absent in GATHERED.items():
            if kind not in running:
                self._tell_absent(kind, absent)
            else:  # what was told of the kind as a whole is over: each of its resources has its own stream
                self._deliver(Batch(kind=kind, mark=ListMark.DROP))

    def _tell_absent(self, kind: str, message: str) -> None:
        if kind not in self._absent:
            self._absent.add(kind)
            self._tell(kind, Phase.ABSENT, message)

    def _tell_unknown(self, message: str) -> None:
        """Discovery failed: nothing is known about the kinds that need it."""
        if self.served is None:
            for kind in (*(known.kind for known in self._custom), *GATHERED):
                self._tell(kind, Phase.BACKING_OFF, message)

    def _tell(self, kind: str, phase: Phase, message: str, scope: str = "") -> None:
        status = StreamStatus(
            kind=kind,
            scope=scope,
            phase=phase,
            message=message,
            since_seconds=self._clock.cluster_now(),
        )
        self._deliver(Batch(kind=kind, scope=status.scope, status=status))


def _served_version(served: Served, group: str, plural: str, versions: tuple[str, ...]) -> Resource | None:
    """The resource in the first version whose shape is known; another version is better than none."""
    for version in versions:
        resource = served.find(group, plural, version)
        if resource is not None:
            return resource
    return served.find(group, plural)


def _scope(resource: Resource, is_gathered: bool, namespace: str) -> str:
    """Of what a stream delivers: its namespace; where a kind gathers several resources with the resource."""
    if not is_gathered:
        return namespace
    return f"{resource.label}/{namespace}" if namespace else resource.label
