"""One cluster that is open in the cockpit: its attachment, the services beside it, its plans, its settings.

The app is the first of its clusters itself; every further one is a `FurtherCluster`, which has all that is
not of one cluster (pages, signals, tasks) from the app. Screens see either as a `Cockpit` (`app_protocol`).
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cockpit import gc_tuning
from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import Clock
from cockpit.errors import BadInput, NoConnection
from cockpit.kube.logins import Logins
from cockpit.local_state.audit import Audit
from cockpit.local_state.config import Settings
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.pod import Pod
from cockpit.model.price import Prices
from cockpit.pools.forecast import PoolExperience
from cockpit.screens.app_protocol import Inspection, acting_in
from cockpit.screens.kept_views import KeptViews
from cockpit.screens.login import ScreensTerminal
from cockpit.screens.place import close_pages
from cockpit.services.pool_watch import PoolWatch
from cockpit.services.port_forwards import PortForwards
from cockpit.services.problems import Files, NowWatch
from cockpit.services.row_reads import RowReads
from cockpit.services.tab_counts import TabCounts
from cockpit.supervise import Work
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.actions.execute.bulk_plan import Result
    from cockpit.actions.planning import FreshPlanning, Planning
    from cockpit.actions.verbs.verb import Verb
    from cockpit.api_server import ApiServer
    from cockpit.local_state.history import LocalHistory
    from cockpit.model.finding import Finding
    from cockpit.model.job import Job
    from cockpit.services.drains import Drains
    from cockpit.services.pool_changes import PoolChanges

_OF_CONTEXT = ("namespaces", "write", "prometheus", "alertmanager", "outside", "autoscaler_status")


@dataclass(frozen=True, slots=True)
class AppOptions:
    """How the app starts. `attach=False` draws the first screen and connects to nothing; `state_folder`
    None keeps nothing on this host (tests, screenshots). `goes_on`: report unexpected errors and continue.
    `first_note` is a toast on the first screen. `logins` were created before the app. `attach_also` are
    further clusters that are open beside the first. `has_tour`: each page
    says what to press for the next step of the tour."""

    attach_to: AttachOptions = field(default_factory=AttachOptions)
    attach_also: tuple[AttachOptions, ...] = ()
    attach: bool = True
    first_place: str = "now"
    settings: Settings = field(default_factory=Settings)
    state_folder: Path | None = None
    goes_on: bool = False
    first_note: str = ""
    logins: Logins | None = None
    has_tour: bool = False


class OpenCluster:
    """What the screens ask of one cluster. `host` is the app, `clusters` are all that are open in it."""

    options: AppOptions
    clock: Clock
    kept_views: KeptViews
    attachment: Attachment
    now_watch: NowWatch
    tab_counts: TabCounts
    pool_watch: PoolWatch
    row_reads: RowReads
    port_forwards: PortForwards
    clusters: "tuple[OpenCluster, ...]"

    @property
    def host(self) -> Any:
        """The app."""
        return self

    def open(self, options: AttachOptions, logins: Logins | None, rng: random.Random) -> None:
        """Set up the attachment and what runs beside it; nothing is asked of the server yet."""
        self._rng = rng
        self._logins = logins or Logins()  # one a cluster: a plugin that hangs holds up no other
        self._logins.lender = ScreensTerminal(self.host)
        self.attachment = self._new_attachment(options)
        self.now_watch = NowWatch(self.host_of_services, self.files, self.announce)
        self.tab_counts = TabCounts(self.host_of_services, self.now_watch)
        self.pool_watch = PoolWatch(self.host_of_services, self.run_history)
        self.row_reads = RowReads(self.host_of_services)
        folder = self.options.state_folder
        ports = folder / "ports.json" if folder else None
        self.port_forwards = PortForwards(self.host_of_services, ports)
        self.typed_namespaces: set[str] = set()

    @property
    def host_of_services(self) -> Any:
        """This cluster as its services know it (`cockpit.services.host.Host`)."""
        return self

    def _new_attachment(self, options: AttachOptions) -> Attachment:
        app = self.host
        moved, listed, note = app.moved, app.show_lists, app.note_task
        return Attachment(
            options, self.clock, self._rng, moved, listed=listed, note=note, logins=self._logins
        )

    # ---- start and end

    def begin(self) -> None:
        """Attach, and start what runs beside the screens."""
        app = self.host
        if self.options.attach:
            self._start()
            self.keep(app, "rows", self.row_reads.read_on)
        if self.options.state_folder is not None:
            self.keep(app, "history", self.now_watch.keep_history)
            self.keep(app, "pools", self.pool_watch.keep_on)

    def keep(self, host: Any, name: str, work: Work) -> Any:
        """As the app does, by a name of this cluster."""
        return self.host.keep_running(host, self.task_name(name), work)

    def task_name(self, name: str) -> str:
        """The name of a task of this cluster among those of all."""
        at = self.clusters.index(self)
        return f"{name} {at + 1}" if at else name

    def _start(self) -> None:
        with acting_in(None):  # it outlives what it is begun by
            self.host.run_worker(
                self.attachment.run,
                name=self.task_name("attachment"),
                group=self.task_name("ingest"),
                exclusive=True,
            )

    def look_behind(self, typed_at: float) -> None:
        """News comes behind other screens, too; a shell has the terminal for itself."""
        if not self.attachment.is_read_only:
            self.pool_changes.look()
        if not self.attachment.is_connected or self.attachment.is_away:
            return
        if self.now_watch.is_due(typed_at):
            self.attachment.jobs.catch_up(is_whole=False)
            self.now_watch.look()

    def reattach(self, *, context: str = "", namespaces: Namespaces = EVERY) -> None:
        """Leave this context or these namespaces and attach to others: the screen is emptied immediately.

        With a context its own settings are in force (write, namespace, Prometheus): what the command line
        said was said of another. Without one only the namespaces change; an unlocked session stays so.
        """
        options = self.attachment.options
        if not context and self.attachment.narrow(namespaces):
            close_pages(self.host)
            return
        if context:
            own = self.options.settings.of_context(context)
            options = replace(options, context=context, **{name: getattr(own, name) for name in _OF_CONTEXT})
        else:
            write = options.write if self.attachment.session is None else not self.attachment.is_read_only
            options = replace(options, namespaces=namespaces, write=write)
        if "drains" in self.__dict__:
            self.drains.leave()
        self.port_forwards.leave()
        gc_tuning.expect_others()
        self.attachment = self._new_attachment(options)
        close_pages(self.host)
        self._start()
        self.host.moved()

    # ---- what the screens ask (cockpit.screens.app_protocol)

    @property
    def cluster(self) -> Attachment:
        return self.attachment

    @property
    def api(self) -> "ApiServer":
        from cockpit.api_server import ApiServer

        return ApiServer(self.attachment)

    @cached_property
    def drains(self) -> "Drains":
        from cockpit.services.drains import Drains

        return Drains(self.host_of_services)

    @cached_property
    def pool_changes(self) -> "PoolChanges":
        from cockpit.services.pool_changes import PoolChanges

        return PoolChanges(self.host_of_services, self.pool_watch, lambda: self.lease_namespace)

    @property
    def context(self) -> str:
        return self.attachment.context

    @property
    def default_namespace(self) -> str:
        """Where something new goes: the namespace shown; of several that of the context, or the first."""
        shown, home = self.attachment.namespaces, self.attachment.home_namespace
        return home if home in shown else shown.names[0]

    @property
    def configured_namespaces(self) -> tuple[str, ...]:
        return self.options.settings.of_context(self.context).namespaces.names

    @property
    def prices(self) -> Prices:
        return self.options.settings.prices

    @property
    def template_folders(self) -> tuple[Path, ...]:
        return self.options.settings.template_folders

    @property
    def docs_url(self) -> str:
        return self.options.settings.docs_url

    def state_of(self, place: str) -> ViewState:
        at = self.attachment
        return replace(self.kept_views.of(place, at.context), namespaces=at.namespaces)

    def keep_state(self, place: str, state: ViewState) -> None:
        self.kept_views.keep(place, self.attachment.context, state)

    # ---- what is opened from here is about this cluster

    def spawn_foreground(self, work: Work, name: str) -> None:
        with acting_in(self):
            self.host.run_foreground(work, name)

    def open_job(self, key: str, *, in_place: bool = False) -> None:
        with acting_in(self):
            self.host.pages.open_job(key, in_place=in_place)

    def open_node(self, name: str) -> None:
        with acting_in(self):
            self.host.pages.open_node(name)

    def inspect(self, place: Any, what: Inspection) -> None:
        with acting_in(self):
            self.host.pages.inspect(place, what)

    def open_verb(self, place: Any, verb: "Verb", things: Sequence[Any]) -> None:
        with acting_in(self):
            self.host.pages.open_verb(place, verb, things)

    def open_clone(self, place: Any, job: "Job", changed: Mapping[str, str]) -> None:
        with acting_in(self):
            self.host.pages.open_clone(place, job, changed)

    def open_results(self, verb: str, results: "Sequence[Result]", left_out: Sequence[str]) -> None:
        with acting_in(self):
            self.host.pages.open_results(verb, results, left_out)

    def choose_namespace(self) -> None:
        with acting_in(self):
            self.host.pages.choose_namespace()

    def choose_context(self) -> None:
        with acting_in(self):
            self.host.pages.choose_context()

    def open_palette(self) -> None:
        with acting_in(self):
            self.host.pages.open_palette()

    def enter_pod(self, pod: Pod) -> None:
        with acting_in(self):
            self.host.pages.enter_pod(pod)

    # ---- rights

    def unlock(self) -> None:
        if self.attachment.session is not None:
            self.attachment.session.unlock()
        self.host.redraw()

    def lock(self) -> None:
        if self.attachment.session is not None:
            self.attachment.session.lock()
        self.host.redraw()

    # ---- what needs a human, over time (cockpit.services.problems)

    def files(self) -> Files:
        """Where what former sessions left is kept, and what a group shares."""
        from cockpit.local_state.history import LocalHistory, history_path
        from cockpit.local_state.shared_notes import SharedNotes

        session, folder = self.attachment.session, self.options.state_folder
        if session is None or folder is None:
            return Files()
        context, server = self.attachment.context, session.server
        shared = self.options.settings.of_context(context).acknowledgements_folder
        history = LocalHistory(history_path(folder, context, server))
        return Files(history, SharedNotes(shared, server) if shared is not None else None)

    def run_history(self) -> "LocalHistory | None":
        """Where this host keeps what training runs reached, and how pools grew."""
        return self.files().history

    def announce(self, news: "tuple[Finding, ...]") -> None:
        """New problems, each once: a toast, and the bell where the configuration wants it."""
        first, more = news[0], len(news) - 1
        where = f" in {self.context}" if len(self.clusters) > 1 else ""
        also = f" and {more} more" if more else ""
        self.host.notify(
            f"{first.glyph} {first.title}: {first.sentence}{also}",
            title=f"{'New problem' if not more else f'{more + 1} new problems'}{where}",
            severity="warning",
        )
        if self.options.settings.bell:
            self.host.bell()

    # ---- plans

    def planner(self) -> "FreshPlanning":
        at_seconds, cluster_seconds = self.clock.now(), self.clock.cluster_now()
        own = self.options.settings.of_context(self.context)
        attachment = self.attachment  # also once another cluster is attached in its place

        def fresh(*, reads: bool = False) -> "Planning":
            from cockpit.actions.planning import Planning, PoolTerms  # slow: it imports the session

            if attachment.session is None:
                raise NoConnection("not connected to a cluster; nothing was sent")
            attachment.jobs.catch_up()
            return Planning(
                attachment.store,
                attachment.session,
                attachment.lookup,
                attachment.context,
                attachment.jobs.jobs,
                reads,
                self.template_folders,
                attachment.session.server_version,
                at_seconds,
                PoolTerms(
                    self.lease_namespace,
                    cluster_seconds,
                    outside=attachment.outside,
                    known=self.known_of_pools,
                    made_seconds=self.clock.cluster_now(),
                    shrink_at_once=self.shrink_at_once,
                    reclaim_idle_for_seconds=own.reclaim_idle_for_seconds,
                    reclaim_grace_seconds=own.reclaim_grace_seconds,
                ),
                self.pool_watch.empty_since,
                attachment.lines,
            )

        return fresh

    def known_of_pools(self) -> PoolExperience:
        return PoolExperience(self.prices, self.pool_watch.growths)

    @property
    def lease_namespace(self) -> str:
        return self.options.settings.of_context(self.attachment.context).lease_namespace

    @property
    def shrink_at_once(self) -> int | None:
        return self.options.settings.of_context(self.attachment.context).shrink_at_once

    def audit(self) -> Audit:
        """Where what is done is noted. Raises BadInput where nothing is kept on this host."""
        if (folder := self.options.state_folder) is None:
            raise BadInput("no state folder for the audit log; nothing was sent. Set XDG_STATE_HOME")
        return Audit(folder / "audit.jsonl", keep_seconds=self.options.settings.audit_keep_seconds)


class FurtherCluster(OpenCluster):
    """A cluster beside the first. What is of no cluster alone is the app's."""

    def __init__(self, app: Any, options: AttachOptions, rng: random.Random) -> None:
        self._app = app
        self.options = app.options
        self.clock = app.clock
        self.open(options, None, rng)

    @property
    def host(self) -> Any:
        return self._app

    def __getattr__(self, name: str) -> Any:
        return getattr(self._app, name)
