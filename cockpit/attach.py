"""One attachment to one context: session, streams, telemetry, store. Shared by the app and the commands."""

import asyncio
import enum
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cockpit.clock import Clock
from cockpit.errors import BadInput, CockpitError, NoConnection, Refused
from cockpit.jobs.index import JobIndex
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.log import Life, LogLine, LogSource, LogWish
from cockpit.model.pod import Pod
from cockpit.model.pod_times import PodTimes
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.store.trends import Trends
from cockpit.telemetry.look import EVERYTHING, NOBODY, Look
from cockpit.yaml_text import yaml_text

if TYPE_CHECKING:
    from cockpit.kube.discovery import Served
    from cockpit.kube.log_crowd import Crowd
    from cockpit.kube.session import Session

ABSORB_OBJECTS = 1_500
"""While a big list comes in, the job rows follow in pieces of a few milliseconds: no key waits for all."""
RETRY_SECONDS = (2.0, 4.0, 8.0, 15.0, 30.0)
ALIVE_SECONDS = 10.0
"""How often the API server is asked for its version: streams may be quiet for a minute and all be well."""
ANSWER_SECONDS = 5.0
"""Without an answer for so long what is on the screen is called stale."""


BIG_LISTS = (Kind.POD, Kind.NODE)
"""What everything else is about; pods first: they are in last, and they are looked at with every status."""
FIRST_LISTS_SECONDS = 5.0
"""So long telemetry waits for these, whose time it would take: its numbers belong to nodes and pods."""
NAMESPACED = (Kind.POD, Kind.JOB, Kind.EVENT, Kind.MPIJOB, Kind.WORKLOAD, Kind.LOCAL_QUEUE)


class Link(enum.Enum):
    """Where the attachment stands."""

    IDLE = "not attached"
    CONNECTING = "connecting"
    ATTACHED = "attached"
    WAITING = "waiting to try again"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """What a person chose at the start; None means: as the kubeconfig says."""

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str = ""  # "" is all namespaces
    write: bool = False
    prometheus_url: str = ""
    telemetry_seconds: float = 5.0
    is_narrow: bool = False  # read no other namespace, although GPUs held there are then not known


class Attachment:
    """Owns the store of one context and fills it until it is closed.

    `run()` is one task; expected failures become `link` and `sentence`, never exceptions. `changed` is
    called (often) when there is something new; the caller coalesces.
    """

    def __init__(
        self,
        options: AttachOptions,
        clock: Clock,
        rng: random.Random,
        changed: Callable[[], None],
    ) -> None:
        self.options = options
        self.clock = clock
        self.store = Store()
        self.jobs = JobIndex(self.store)
        self.session: Session | None = None
        self.served: Served | None = None
        self.scope = ""  # namespace that the streams are narrowed to, "" for all
        self.link = Link.IDLE
        self.sentence = ""
        self.api_seconds: float | None = None
        self.unanswered_since_seconds: float | None = None
        self._rng = rng
        self._changed = changed
        self._unabsorbed = 0
        self.trends = Trends()
        self._look = EVERYTHING
        self._looked = asyncio.Event()
        self._listed = asyncio.Event()  # the big lists are in, or cannot be had
        self.is_away = False  # the screens are suspended: a shell or another program has the terminal

    def look_at(self, look: Look) -> None:
        """Tell telemetry what is in sight; a page that was just opened has its round at once."""
        before = self._look
        is_new = (look.pace, look.details, look.pods) != (before.pace, before.details, before.pods)
        self._look = look
        if is_new:
            self._looked.set()

    def step_away(self, *, is_away: bool) -> None:
        """Tell telemetry that nobody can see the screens, or that somebody is back."""
        self.is_away = is_away
        self._looked.set()

    @property
    def is_read_only(self) -> bool:
        """True until a session exists and was unlocked."""
        return self.session is None or self.session.read_only

    @property
    def trouble(self) -> str:
        """Why nothing is known yet, in one sentence; "" while attached."""
        if self.link is Link.FAILED:
            return f"{self.sentence} To try again, press ctrl+x and choose a context."
        if self.link is Link.WAITING:
            return f"{self.sentence} It is tried again by itself."
        return "" if self.link is Link.ATTACHED else f"{self.link.value.capitalize()} ..."

    def narrow(self, namespace: str) -> bool:
        """Show one namespace (or "" for all) of what is read already; False where it must be read anew."""
        if self.session is None or not all(_is_told(self.store.status(kind)) for kind in NAMESPACED):
            return False
        self.options = replace(self.options, namespace=namespace)
        self._changed()
        return True

    def sink(self, batch: Batch) -> None:
        """Where every room that fetches delivers."""
        self.store.apply(batch)
        if batch.status is not None and not self._listed.is_set() and self.is_settled(BIG_LISTS):
            self._listed.set()
        self._unabsorbed += len(batch.changed) + len(batch.removed)
        if self._unabsorbed >= ABSORB_OBJECTS:
            self.absorb()
        self._changed()

    def absorb(self) -> None:
        """Bring the job rows up to the store."""
        self._unabsorbed = 0
        self.jobs.update(self.store.take_delta())

    @property
    def has_listed(self) -> bool:
        """True from the moment on when the big lists were in for the first time, or could not be had."""
        return self._listed.is_set()

    def is_settled(self, kinds: tuple[str, ...]) -> bool:
        """True when each of these kinds was listed whole, is denied, or is not served."""
        for kind in kinds:
            status = self.store.status(kind)
            if status is None or status.phase in (Phase.CONNECTING, Phase.LISTING):
                return False
        return True

    async def run(self) -> None:
        """Connect, then feed the store until cancelled; tries again when the server cannot be reached."""
        attempt = 0
        while True:
            self._set(Link.CONNECTING, "")
            try:
                session = await self._open()
            except NoConnection as error:
                if not getattr(error, "can_retry", False):
                    self._set(Link.FAILED, error.sentence)
                    return
                self._set(Link.WAITING, error.sentence)
                await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
                attempt += 1
                continue
            except CockpitError as error:
                self._set(Link.FAILED, error.sentence)
                return
            self.session = session
            self._set(Link.ATTACHED, "")
            try:
                await self._feed(session)
            finally:
                self.session = None
                await session.close()
            return

    async def _open(self) -> "Session":
        from cockpit.kube.session import SessionOptions, open_session

        options = SessionOptions(
            kubeconfig=self.options.kubeconfig, context=self.options.context, read_only=not self.options.write
        )
        return await open_session(options, self.clock)

    async def _feed(self, session: "Session") -> None:
        from cockpit.kube.feed import Feed

        self.scope = await self._widest_scope(session)
        feed = Feed(session, self.sink, clock=self.clock, rng=self._rng, namespace=self.scope)
        async with asyncio.TaskGroup() as group:
            group.create_task(feed.run(), name="feed")
            await asyncio.sleep(0)  # its requests leave before all others
            group.create_task(self._discover(session), name="discovery")
            group.create_task(self._places(session), name="places")
            group.create_task(self._measure(session), name="latency")
            group.create_task(self._telemetry(session), name="telemetry")

    async def _widest_scope(self, session: "Session") -> str:
        """All namespaces where they may be read: what is free depends on the pods of all; views narrow."""
        from cockpit.kube.access import can
        from cockpit.kube.resource import EVENTS, JOBS, LOCAL_QUEUES, MPIJOBS, PODS, WORKLOADS

        namespace = self.options.namespace
        if not namespace or self.options.is_narrow:
            return namespace
        every = (PODS, JOBS, EVENTS, MPIJOBS, WORKLOADS, LOCAL_QUEUES)
        try:
            answers = await asyncio.gather(*(can(session, "list", one) for one in every))
        except CockpitError:
            return namespace
        return "" if all(answers) else namespace

    async def _discover(self, session: "Session") -> None:
        """What the server serves, for paths of kinds that nobody watches; asked once an attachment."""
        from cockpit.kube.discovery import discover

        try:
            self.served = await discover(session)
        except CockpitError:
            self.served = None  # the feed tells the same trouble as the status of its streams

    async def _places(self, session: "Session") -> None:
        """Places in line as Kueue tells them, while somebody waits."""
        from cockpit.gangs.kueue import lines
        from cockpit.kube.visibility import Places

        await Places(session, lambda: lines(self.store), self.sink).run()

    async def _measure(self, session: "Session") -> None:
        """How long the API server takes to answer, and since when it does not: both for the header."""
        while True:
            before, asked_seconds = self.clock.monotonic(), self.clock.now()
            try:
                await session.request("GET", "/version", timeout_seconds=ANSWER_SECONDS)
                self.api_seconds = self.clock.monotonic() - before
                self.unanswered_since_seconds = None
            except CockpitError:
                self.api_seconds = None
                if self.unanswered_since_seconds is None:
                    self.unanswered_since_seconds = asked_seconds
            self._changed()
            await asyncio.sleep(ALIVE_SECONDS)

    async def _telemetry(self, session: "Session") -> None:
        """GPU samples; what is missing becomes the status of the GPU stream."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_LISTS_SECONDS):
                await self._listed.wait()

        from cockpit.kube.proxy import http_session
        from cockpit.kube.resource import SERVICES
        from cockpit.telemetry.discovery import Service, services_of
        from cockpit.telemetry.start import run_telemetry

        async def list_services() -> list[Service]:
            answer = await session.request("GET", SERVICES.path())
            if not answer.ok:
                raise Refused(f"Services cannot be listed: {answer.message()}")
            return services_of(answer.json())

        async def read_page(path: str, query: tuple[tuple[str, str], ...], most_bytes: int) -> bytes:
            answer = await session.request(
                "GET", path, query=query, accept="*/*", timeout_seconds=ANSWER_SECONDS, limit_bytes=most_bytes
            )
            if not answer.ok:
                raise Refused(answer.message())
            return answer.body

        loop = asyncio.get_running_loop()
        await run_telemetry(
            proxied_http=lambda: http_session(session, loop),
            list_services=list_services,
            cluster=self.store,
            sink=self.sink,
            clock=self.clock,
            configured_url=self.options.prometheus_url,
            interval_seconds=self.options.telemetry_seconds,
            rng=self._rng,
            read_page=read_page,
            looking=lambda: NOBODY if self.is_away else self._look,
            nudge=self._looked,
            after_round=self._note_trends,
            remember=self.trends.remember,
        )

    def _note_trends(self, now_seconds: float) -> None:
        self.trends.note(self.store, now_seconds, (*self._look.nodes, *self._look.details))

    # ---- questions of the screens, answered by reading

    def _connected(self) -> "Session":
        if self.session is None:
            raise NoConnection(self.sentence or "not attached to a cluster")
        return self.session

    async def contexts(self) -> tuple[str, ...]:
        """Names of the contexts in the kubeconfig. Raises NoConnection where it cannot be read."""
        from cockpit.kube.contexts import context_names

        names: tuple[str, ...] = await asyncio.to_thread(context_names, self.options.kubeconfig)
        return names

    async def read_yaml(self, api_version: str, kind: str, namespace: str, name: str) -> list[str]:
        """Lines of one object as YAML, read now. Raises CockpitError with one sentence."""
        from cockpit.kube.objects import get_object

        session = self._connected()
        group = api_version.rpartition("/")[0]
        resource = self.served.find(group, kind) if self.served is not None else None
        if resource is None:
            raise BadInput(f"this server does not serve {kind} of {api_version}")
        tree = await get_object(session, resource, namespace, name)
        return (await asyncio.to_thread(yaml_text, tree, 110)).splitlines()

    def crowd(self, wish: LogWish, sink: Callable[[list[LogLine]], None]) -> "Crowd":
        """A reader of many logs; it says itself what it cannot read."""
        from cockpit.kube.log_crowd import Crowd

        return Crowd(self._connected, wish, sink, self._life)

    async def refuse_unsplit(self, source: LogSource) -> None:
        """Raises CockpitError with one sentence where one stream of a log alone cannot be had."""
        from cockpit.kube.log_streams import refuse_unsplit

        await refuse_unsplit(self._connected(), source)

    async def read_log(
        self,
        source: LogSource,
        *,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        is_previous: bool = False,
    ) -> list[LogLine]:
        """The last or the first lines of one log. Raises CockpitError with one sentence."""
        from cockpit.kube.log_crowd import read_once

        return await read_once(
            self._connected(),
            source,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            is_previous=is_previous,
        )

    async def read_times(self, namespace: str, pod: str) -> PodTimes:
        """When a pod was bound and started. Raises CockpitError with one sentence."""
        from cockpit.kube.pod_times import read_times

        return await read_times(self._connected(), namespace, pod)

    def _life(self, uid: str) -> Life:
        pod = self.store.get(Kind.POD, uid)
        if not isinstance(pod, Pod):
            return Life(is_over=True)
        return Life(is_over=pod.is_finished, restarts=pod.restarts)

    def _set(self, link: Link, sentence: str) -> None:
        self.link, self.sentence = link, sentence
        self._changed()


def _is_told(status: StreamStatus | None) -> bool:
    """True where the whole cluster was listed, or there is nothing of the kind to be listed."""
    return status is not None and (status.is_whole or status.phase is Phase.ABSENT)
