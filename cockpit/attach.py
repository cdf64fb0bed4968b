"""One attachment to one context: session, streams, telemetry, store. Shared by the app and the commands."""

import asyncio
import enum
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from cockpit.attach_outside import OutsideReads
from cockpit.clock import Clock
from cockpit.errors import CockpitError, NoConnection, NoContexts
from cockpit.gangs import registry
from cockpit.gangs.installed_engines import installed_engines
from cockpit.jobs import other_jobs
from cockpit.jobs.index import JobIndex
from cockpit.local_state.crashes import Crashes
from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.metrics_server import NO_ALERTMANAGER, NO_METRICS_SERVER, MetricsServer
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.reach import NOTHING_OUTSIDE, Outside
from cockpit.model.record import Kind
from cockpit.model.trust import Trust
from cockpit.model.watched import Watched
from cockpit.pools import registry as pool_owners
from cockpit.pools.sightings import Sightings, kept_events
from cockpit.store.store import Store
from cockpit.store.trends import Trends
from cockpit.supervise import Note, Sleep, Tell, Work, kept_up
from cockpit.telemetry.focus import EVERYTHING, NOBODY, Focus
from cockpit.triage.namespace_notes import is_confined, reads_all

if TYPE_CHECKING:
    from cockpit.gangs.engine import InstalledEngine
    from cockpit.jobs.training.run_cache import RunShelf
    from cockpit.kube.access_reviews import AccessReviews
    from cockpit.kube.discovery import Served
    from cockpit.kube.logins import Logins
    from cockpit.kube.resource import Resource
    from cockpit.kube.session import ApiSession, SessionOptions
    from cockpit.kube.visibility import Lines, QueuePlaces
    from cockpit.model.acts_as import ActsAs
    from cockpit.model.pod import Pod
    from cockpit.model.trace import PodLines
    from cockpit.telemetry.source import KeepsPast
    from cockpit.triage.verdicts import Verdicts

CATCH_UP_OBJECTS = 1_500
"""While a big list comes in, the job rows follow in pieces of a few milliseconds: no key waits for all."""
RETRY_SECONDS = (1.0, 2.0, 4.0)
"""Between attempts to reach a server; the last one from then on: the return is seen within 10 s."""
HOME = "default"
"""The namespace of a context that names none, as kubectl has it."""
BIG_LISTS = (Kind.POD, Kind.NODE)
"""Lists that gate the first paint. Pods first: they take longest, and each status checks them."""
FIRST_LISTS_SECONDS = 5.0
"""The first scrape waits for these lists, at most this long: samples are joined to nodes and pods."""


class Link(enum.Enum):
    """Where the attachment stands."""

    IDLE = "not connected"
    CONNECTING = "connecting"
    ATTACHED = "connected"
    WAITING = "waiting to reconnect"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """What a person chose at the start; None means: as the kubeconfig says."""

    kubeconfig: str | None = None
    context: str | None = None
    namespaces: Namespaces = EVERY  # those that are shown
    write: bool = False
    prometheus: MetricsServer = NO_METRICS_SERVER
    alertmanager: MetricsServer = NO_ALERTMANAGER  # whose alerts are shown
    patience_seconds: float = 20.0  # for a whole answer of a metrics server
    telemetry_seconds: float = 5.0
    outside: Outside = NOTHING_OUTSIDE  # how pools outside the cluster are read
    autoscaler_status: str = ""  # namespace/name of what the autoscaler of nodes writes, "": as usual
    is_narrow: bool = False  # read no other namespace, although GPUs allocated there are then not known


class Attachment:
    """Owns the store of one context and fills it until it is closed.

    `run()` is one task; expected failures become `link` and `sentence`, never exceptions. `changed` is
    called (often) when there is something new; the caller coalesces. `listed` takes its place once, when the
    big lists are in. `note` keeps a report of an unexpected error and words its sentence. `logins` keeps what
    credential plugins gave, over attachments.
    """

    def __init__(
        self,
        options: AttachOptions,
        clock: Clock,
        rng: random.Random,
        changed: Callable[[], None],
        *,
        listed: Callable[[], None] | None = None,
        note: Note | None = None,
        logins: "Logins | None" = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.options = options
        self.clock = clock
        self.store = Store()
        self.jobs = JobIndex(self.store, self.store.take_delta)
        self.session: ApiSession | None = None
        self.served: Served | None = None
        self.access: AccessReviews | None = None  # what this user may do here; None while not attached
        self.link = Link.IDLE
        self.sentence = ""
        self.has_contexts = True  # False where the kubeconfig has none, or cannot be read
        self._named = options.context or ""
        self._rng = rng
        self._changed = changed
        self._big_lists_came = listed or changed
        self._note = note or Crashes(None, clock).note
        self._logins = logins
        self._sleep = sleep
        self.faults: dict[str, str] = {}  # task -> the sentence about its last unexpected error
        self.trends = Trends()
        self.sightings = Sightings()
        self._source: KeepsPast | None = None  # whom telemetry asks now
        self._look = EVERYTHING
        self._looked = asyncio.Event()
        self._listed = asyncio.Event()  # the big lists are in, or cannot be had
        self.is_away = False  # the screens are suspended: a shell or another program has the terminal

    @cached_property
    def runs(self) -> "RunShelf":
        """What logs of training runs told, of the jobs that were looked at lately."""
        from cockpit.jobs.training.run_cache import RunShelf

        return RunShelf()

    @cached_property
    def outside(self) -> OutsideReads:
        """Pools outside the cluster."""
        return OutsideReads(self.store, self.options.outside, self.sink, self.clock, sleep=self._sleep)

    @cached_property
    def verdicts(self) -> "Verdicts":
        """Why each job waits or is broken."""
        from cockpit.triage.verdicts import SLICE_SECONDS, Pace, Verdicts  # a third of what a feed imports

        return Verdicts(self.store, self.jobs, Pace(self.clock.monotonic, SLICE_SECONDS))

    def look_at(self, look: Focus) -> None:
        """Tell telemetry what is in sight; a page that was just opened has its round at once."""
        before = self._look
        is_new = (look.pace, look.details, look.pods) != (before.pace, before.details, before.pods)
        self._look = look
        if is_new:
            self._looked.set()

    def step_away(self, *, is_away: bool) -> None:
        """Pause telemetry while the screens are out of sight, and resume it."""
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
            remedy = " To reconnect, press ctrl+x and choose a context." if self.has_contexts else ""
            return f"{self.sentence}{remedy}"
        if self.link is Link.WAITING:
            return f"{self.sentence} Retrying automatically."
        return "" if self.link is Link.ATTACHED else f"{self.link.value.capitalize()} ..."

    @property
    def is_connected(self) -> bool:
        """True while there is a session."""
        return self.session is not None

    @property
    def has_discovered(self) -> bool:
        """True once the server said what it serves."""
        return self.served is not None

    @property
    def api_seconds(self) -> float | None:
        """How long the API server took to answer last; None where it does not, or was not asked yet."""
        return None if self.session is None else self.session.pulse.api_seconds

    @property
    def unanswered_since_seconds(self) -> float | None:
        """Since when it does not answer; None while it does."""
        return None if self.session is None else self.session.pulse.unanswered_since_seconds

    @property
    def context(self) -> str:
        """Name of the context, "" where the kubeconfig says it and was not read yet."""
        return self.session.context if self.session is not None else self._named

    @property
    def trust(self) -> Trust | None:
        """Whether the server's certificate is checked; None while there is no session."""
        return None if self.session is None else self.session.trust

    @property
    def acts_as(self) -> "ActsAs | None":
        """Whom the kubeconfig's user acts as; None: as itself, or there is no session."""
        return None if self.session is None else self.session.acts_as

    @property
    def namespaces(self) -> Namespaces:
        """Those that are shown: as chosen, or that of the context where not all of them may be read."""
        chosen = self.options.namespaces
        return Namespaces((self.home_namespace,)) if not chosen and is_confined(self.store) else chosen

    @property
    def home_namespace(self) -> str:
        """That of the kubeconfig's context; "" before there is a session."""
        return "" if self.session is None else self.session.namespace or HOME

    @property
    def has_failed(self) -> bool:
        """True where the attachment has given up on the cluster."""
        return self.link is Link.FAILED

    def lookup(self, api_version: str, kind: str) -> "Resource | None":
        """The served resource of a kind, from discovery; None where it is not served."""
        if self.served is None:
            return None
        group, _, version = api_version.rpartition("/")
        return self.served.find(group, kind, version) or self.served.find(group, kind)

    def is_served(self, api_version: str, kind: str) -> bool | None:
        """Whether the cluster serves a kind; None where it has not said so."""
        if self.served is None:
            return None
        if self.lookup(api_version, kind) is not None:
            return True
        return None if api_version in self.served.incomplete else False

    def engines(self) -> "tuple[InstalledEngine, ...] | None":
        """The queueing engines that are there; None while discovery is under way. It reads every pod."""
        served = self.served
        if served is None:
            return None
        return installed_engines(self.store, lambda group, plural: served.find(group, plural) is not None)

    def narrow(self, namespaces: Namespaces) -> bool:
        """Show some namespaces (or all) of what is read already; False where they are not all read."""
        if self.session is None or not reads_all(self.store):
            return False
        self.options = replace(self.options, namespaces=namespaces)
        self._changed()
        return True

    def sink(self, batch: Batch) -> None:
        """Where every room that fetches delivers."""
        self.store.apply(batch)
        if batch.kind == Kind.NODE:
            self.sightings.note(batch.changed, self.clock.cluster_now())
        elif batch.kind == Kind.POD and self._listed.is_set():
            self.sightings.note_pods(batch.changed, self.clock.cluster_now())
        if batch.kind == Kind.EVENT and (kept := kept_events(batch, self.store)) is not None:
            self.store.apply(kept)
        has_listed = batch.status is not None and not self._listed.is_set() and self.is_settled(BIG_LISTS)
        if has_listed:
            self._listed.set()
        self.jobs.behind += len(batch.changed) + len(batch.removed)
        if self.jobs.behind >= CATCH_UP_OBJECTS:
            self.jobs.catch_up(is_whole=False)
        (self._big_lists_came if has_listed else self._changed)()

    @property
    def has_listed(self) -> bool:
        """True from the moment on when the big lists were in for the first time, or could not be had."""
        return self._listed.is_set()

    def is_settled(self, kinds: tuple[str, ...]) -> bool:
        """True when each of these kinds was listed whole, is denied, or is not served."""
        statuses = map(self.store.status, kinds)
        return all(one is not None and one.phase not in (Phase.CONNECTING, Phase.LISTING) for one in statuses)

    async def run(self) -> None:
        """As `_run`; an unexpected error is reported, and it is tried again."""

        def tell(sentence: str) -> None:
            self.tell_fault("attachment", sentence)
            if sentence:
                self._set(Link.WAITING, f"{sentence}.")

        await kept_up(
            "attachment", self._run, self._note, tell, monotonic=self.clock.monotonic, sleep=self._sleep
        )

    async def _run(self) -> None:
        """Connect, then feed the store until cancelled; tries again when the server cannot be reached."""
        attempt = 0
        while True:
            self._set(Link.CONNECTING, "")
            try:
                session = await self._open()
            except NoConnection as error:
                if not error.can_retry:
                    self.has_contexts = not isinstance(error, NoContexts)
                    self._set(Link.FAILED, error.sentence)
                    return
                self._set(Link.WAITING, error.sentence)
                await self._sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
                attempt += 1
                continue
            except CockpitError as error:
                self._set(Link.FAILED, error.sentence)
                return
            self.session, self.access = session, self._reviews(session)
            self._set(Link.ATTACHED, "")
            try:
                await self._feed(session)
            finally:
                if "outside" in self.__dict__:
                    self.outside.stop()
                self.session = self.access = None
                await session.close()
            return

    async def _open(self) -> "ApiSession":
        opened, options_of = await asyncio.to_thread(_opening)
        options = options_of(
            kubeconfig=self.options.kubeconfig,
            context=self.options.context,
            read_only=not self.options.write,
            logins=self._logins,
            named=self._take_name,
        )
        return await opened(options, self.clock)

    def _take_name(self, context: str) -> None:
        """Keep the name of the context that is tried; called in the thread that reads the kubeconfig."""
        self._named = context

    def _reviews(self, session: "ApiSession") -> "AccessReviews":
        from cockpit.connection import AccessReviews

        reviews = AccessReviews(session, self.clock.monotonic, self._changed, sleep=self._sleep)
        session.forbidden = reviews.refused
        return reviews

    async def _ask_rights(self) -> None:
        """Run the requested access reviews while this attachment lasts."""
        if self.access is not None:
            await self.access.run()

    async def _feed(self, session: "ApiSession") -> None:
        async with asyncio.TaskGroup() as group:
            for name, work in self.tasks(session).items():
                # the header alone tells of the others
                tell = self._tell_telemetry if name == "telemetry" else lambda _sentence: None
                group.create_task(self._keep_up(name, work, tell), name=name)
                if name == "feed":
                    await asyncio.sleep(0)  # its requests leave before all others

    def tasks(self, session: "ApiSession") -> dict[str, Work]:
        """What runs side by side, by name. An error of one is told, and costs no other."""
        from cockpit.connection import Feed, QueuePlaces, alert_poller, run_telemetry, server_reads

        def feed() -> Awaitable[object]:
            return Feed(
                session,
                self.sink,
                clock=self.clock,
                rng=self._rng,
                watched=watched_kinds(self.options.autoscaler_status),
                namespaces=self.options.namespaces or Namespaces((self.home_namespace,)),
                is_narrow=self.options.is_narrow and bool(self.options.namespaces),
                keep_up=self._keep_up,
                serve=self._serve,
                find_pod=partial(self.store.get, Kind.POD),
            ).run()

        return {
            "feed": feed,
            "places": lambda: self._places(partial(QueuePlaces, session)),
            "pulse": lambda: session.pulse.run(self._changed),
            "telemetry": lambda: self._telemetry(partial(run_telemetry, **server_reads(session)._asdict())),
            "alerts": lambda: alert_poller(
                session, self.options.alertmanager, self.sink, self.clock, lambda: self.is_away
            ).run(),
            "rights": self._ask_rights,
        }

    def tell_fault(self, name: str, sentence: str) -> None:
        """Where a task stands that could not go on; "" once it does."""
        self.faults.pop(name, None)
        if sentence:
            self.faults[name] = sentence
        self._changed()

    async def _keep_up(self, name: str, work: Work, tell: Tell) -> None:
        def told(sentence: str) -> None:
            self.tell_fault(name, sentence)
            if sentence:
                tell(sentence)

        await kept_up(name, work, self._note, told, monotonic=self.clock.monotonic, sleep=self._sleep)

    def _tell_telemetry(self, sentence: str) -> None:
        status = StreamStatus(
            kind=Kind.GPU, phase=Phase.BACKING_OFF, message=sentence, since_seconds=self.clock.now()
        )
        self.sink(Batch(kind=Kind.GPU, status=status))

    def _serve(self, served: "Served") -> None:
        """What the server serves, for paths of kinds that are not watched."""
        self.served = served
        self._changed()

    async def _places(self, reader: "Callable[..., QueuePlaces]") -> None:
        """Read queue positions from the engines while jobs are pending."""
        told = (one.line for one in registry.engines() if one.line is not None)

        def waiting(lines: "Callable[[Store], Lines]") -> "Lines":
            return {} if self.is_away else lines(self.store)

        readers = [
            reader(
                partial(waiting, line.lines), self.sink, self.clock, path=line.path, versions=line.versions
            )
            for line in told
        ]
        await asyncio.gather(*(one.run() for one in readers))

    async def _telemetry(self, run_telemetry: Callable[..., Awaitable[None]]) -> None:
        """GPU samples; what is missing becomes the status of the GPU stream."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_LISTS_SECONDS):
                await self._listed.wait()
        await run_telemetry(
            cluster=self.store,
            sink=self.sink,
            clock=self.clock,
            server=self.options.prometheus,
            patience_seconds=self.options.patience_seconds,
            interval_seconds=self.options.telemetry_seconds,
            rng=self._rng,
            looking=lambda: self.look,
            nudge=self._looked,
            after_round=self.note_trends,
            remember=self.trends.remember,
            asks=self._asks,
        )

    def _asks(self, source: "KeepsPast | None") -> None:
        self._source = source

    async def lines(self, pods: Sequence["Pod"]) -> "PodLines | None":
        """Usage of these pods and their cards over the last hours; None without history. Raises
        TelemetryError."""
        if self._source is None:
            return None
        return await self._source.lines(pods, self.clock.cluster_now())

    @property
    def look(self) -> Focus:
        """What is in sight."""
        return NOBODY if self.is_away else self._look

    def note_trends(self, now_seconds: float) -> None:
        self.trends.note(self.store, now_seconds, (*self._look.nodes, *self._look.details))

    # ---- questions of the screens and commands

    def connected(self) -> "ApiSession":
        """The session. Raises NoConnection where there is none."""
        if self.session is None:
            raise NoConnection(self.sentence or "not connected to a cluster")
        return self.session

    def _set(self, link: Link, sentence: str) -> None:
        self.link, self.sentence = link, sentence
        self._changed()


def _opening() -> "tuple[Callable[[SessionOptions, Clock], Awaitable[ApiSession]], type[SessionOptions]]":
    """What opens a session. Slow: it imports the whole connection."""
    from cockpit.connection import SessionOptions, open_session

    return open_session, SessionOptions


def watched_kinds(autoscaler_status: str = "") -> tuple[Watched, ...]:
    """Watched kinds of engines, pool owners and jobs, in addition to those of every cluster."""
    return (*registry.watched(), *pool_owners.watched(autoscaler_status), *other_jobs.watched())
