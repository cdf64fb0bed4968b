"""What a screen may ask of the app, by name: the cluster as it is known, pages to open, changes to propose.

No session and no store that can be written stands in here: what takes the API server goes through
`ApiServer`, what changes the cluster through `Changes`.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from textual.app import App
from textual.worker import WorkType

from cockpit.clock import Clock
from cockpit.model.namespaces import Namespaces
from cockpit.model.pod import Pod
from cockpit.model.price import Prices
from cockpit.pools.forecast import PoolExperience
from cockpit.screens.kept_views import KeptViews
from cockpit.services.host import Cluster
from cockpit.services.pool_watch import PoolWatch
from cockpit.services.port_forwards import PortForwards
from cockpit.services.problems import NowWatch
from cockpit.services.row_reads import RowReads
from cockpit.services.tab_counts import TabCounts
from cockpit.supervise import Work
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.actions.execute.bulk_plan import Result
    from cockpit.actions.planning import FreshPlanning
    from cockpit.actions.verbs.verb import Verb
    from cockpit.api_server import ApiServer
    from cockpit.local_state.audit import Audit
    from cockpit.local_state.history import LocalHistory
    from cockpit.local_state.kept_forms import KeptForms
    from cockpit.model.job import Job
    from cockpit.services.drains import Drains
    from cockpit.services.pool_changes import PoolChanges


Inspection = Literal["why", "logs", "yaml", "describe", "owners", "copy"]
"""What is shown, or copied, of the thing under the cursor."""


class Pages(Protocol):
    """Where the keys lead."""

    def go(self, place: str) -> None:
        """Show a place; pages opened from the last one are closed."""

    def open_job(self, key: str, *, in_place: bool = False) -> None:
        """The page of a job, above what is shown, or in its place."""

    def open_node(self, name: str) -> None:
        """The page of a node, above what is shown."""

    def inspect(self, place: Any, what: Inspection) -> None:
        """Open that page of what is under the cursor of that place, or the choice what to copy."""

    def open_verb(self, place: Any, verb: "Verb", things: Sequence[Any]) -> None:
        """Open the form or dialog for the options of a verb."""

    def open_clone(self, place: Any, job: "Job", changed: Mapping[str, str]) -> None:
        """The form of a clone of the job with these values."""

    def open_results(self, verb: str, results: "Sequence[Result]", left_out: Sequence[str]) -> None:
        """What became of each of many."""


class Choosers(Protocol):
    """What is chosen for all places."""

    def choose_namespace(self) -> None: ...
    def choose_context(self) -> None: ...
    def open_palette(self) -> None: ...
    def reattach(self, *, context: str = "", namespaces: Namespaces = ...) -> None:
        """Leave this context or these namespaces and attach to others."""


class Changes(Protocol):
    """How the cluster is changed: behind a plan that was shown, with an audit line."""

    def planner(self) -> "FreshPlanning":
        """What plans are made on as it is by then, and the moment at which the person asked."""

    def enter_pod(self, pod: Pod) -> None:
        """A shell in the pod, in this terminal; the screens come back when it ends."""

    def audit(self) -> "Audit":
        """Where what is done is noted. Raises BadInput where nothing is kept on this host."""

    def known_of_pools(self) -> PoolExperience:
        """What machines cost, and how long pools took to grow."""

    def unlock(self) -> None:
        """Let changes through from now on."""

    def lock(self) -> None:
        """Let only reading through from now on."""


class RunningServices(Protocol):
    """What runs beside the screens."""

    @property
    def now_watch(self) -> NowWatch:
        """What needs a human, over time."""

    @property
    def tab_counts(self) -> TabCounts:
        """What needs attention on each place."""

    @property
    def pool_watch(self) -> PoolWatch:
        """Pools over time, as this host remembers them."""

    @property
    def row_reads(self) -> RowReads:
        """What rows in sight rest on and no watch covers."""

    @property
    def port_forwards(self) -> PortForwards:
        """Ports of pods that are open on this machine."""

    @property
    def drains(self) -> "Drains":
        """What is being drained from here."""

    @property
    def pool_changes(self) -> "PoolChanges":
        """Changes of pools, those of others and those of this session."""


class KeptSettings(Protocol):
    """What this host keeps from before."""

    @property
    def kept_forms(self) -> "KeptForms":
        """What forms were filled in with before."""

    @property
    def kept_views(self) -> KeptViews:
        """What a person asked each list to show, and the filters saved by name."""

    def state_of(self, place: str) -> ViewState: ...
    def keep_state(self, place: str, state: ViewState) -> None: ...
    def run_history(self) -> "LocalHistory | None":
        """Where this host keeps what training runs reached and how pools grew; None: nowhere."""


class SessionSettings(Protocol):
    """What the configuration and this session say."""

    typed_namespaces: set[str]
    """Those chosen in this session."""

    @property
    def configured_namespaces(self) -> tuple[str, ...]:
        """Those that the configuration names for the context in force."""

    @property
    def prices(self) -> Prices:
        """What machines cost, as the configuration says."""

    @property
    def default_namespace(self) -> str:
        """Default namespace of a new object: the namespace shown, else the context's."""

    @property
    def template_folders(self) -> tuple[Path, ...]: ...
    @property
    def docs_url(self) -> str:
        """Where the site of the documents is; "" unknown."""

    @property
    def shrink_at_once(self) -> int | None:
        """Most nodes of a pool to remove without a typed confirmation; None: a tenth of it."""


class StartsTasks(Protocol):
    """What lasts longer than one call."""

    def keep(self, host: Any, name: str, work: Work) -> Any:
        """Start what lasts as long as `host`; its errors are told and it begins again. Its worker."""

    def on_change(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call `fn` when the cluster moved, coalesced; the answer ends the subscription."""

    def spawn(self, work: WorkType[None], name: str) -> None:
        """`work` is a coroutine function or a `partial` of one: dropped before it began, none was made."""

    def spawn_foreground(self, work: WorkType[None], name: str) -> None:
        """The same for what a key opens: keys typed behind it wait until it asks something, or is over."""


class Cockpit(
    Pages, Choosers, Changes, RunningServices, KeptSettings, SessionSettings, StartsTasks, Protocol
):
    """The app as the screens know it."""

    clock: Clock
    terminal_lock: asyncio.Lock
    """Whoever gives the terminal away has it: a shell and a login cannot both."""

    @property
    def clusters(self) -> "tuple[Cockpit, ...]":
        """Every cluster that is open here, the same app as each knows it."""

    @property
    def cluster(self) -> Cluster: ...
    @property
    def api(self) -> "ApiServer": ...
    @property
    def context(self) -> str:
        """Name of the context in force, "" before there is one."""


_acting: ContextVar[Cockpit | None] = ContextVar("acting", default=None)


@contextmanager
def acting_in(cockpit: Any) -> Iterator[None]:
    """What runs in the block, and tasks and pages that begin in it, are about that cluster; None: about that
    of the page on top."""
    token = _acting.set(cockpit)
    try:
        yield
    finally:
        _acting.reset(token)


def acting() -> Cockpit | None:
    """The cluster that what runs now is about; None where it began at no cluster."""
    return _acting.get()


def cockpit_of(app: App[Any]) -> Cockpit:
    """The app, seen through the narrow interface: of several clusters as that one which what runs now is
    about, else as that of the page on top. Raises TypeError when it is not a cockpit."""
    if not hasattr(app, "planner"):
        raise TypeError("this screen belongs to the cockpit app")
    first = cast(Cockpit, app)
    if len(first.clusters) < 2:
        return first
    pages = (getattr(screen, "bound_cluster", None) for screen in reversed(app.screen_stack))
    return acting() or next((page for page in pages if page is not None), first)
