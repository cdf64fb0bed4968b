"""What a screen may ask of the app, by name: the cluster as it is known, pages to open, changes to propose.

No session and no store that can be written stands in here: what takes the API server goes through
`ApiServer`, what changes the cluster through `Changes`.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from textual.app import App
from textual.worker import WorkType

from cockpit.actions.address import Addressed
from cockpit.api_server import ApiServer
from cockpit.clock import Clock
from cockpit.model.finding import Finding
from cockpit.model.job_reader import JobReader
from cockpit.model.lease import LeaseRead
from cockpit.model.namespaces import Namespaces
from cockpit.model.plan import DrainOrder
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool, SizeAsked
from cockpit.model.price import Prices
from cockpit.model.remembered import Growth, LoadSample, PastRun, PoolSample, Reclaim
from cockpit.model.right import RightsReader
from cockpit.model.trend_reader import TrendReader
from cockpit.pools.forecast import PoolExperience
from cockpit.pools.sightings import Sightings
from cockpit.supervise import Work
from cockpit.telemetry.focus import Focus
from cockpit.triage.since_left import Happened
from cockpit.triage.troubles import Trouble
from cockpit.views.now import HeaderSource
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.actions.bulk import Result
    from cockpit.actions.drain.run import DrainStatus
    from cockpit.actions.perform import AuditLog
    from cockpit.actions.planning import FreshPlanning
    from cockpit.actions.verbs.verb import Verb
    from cockpit.attach_outside import OutsideReads
    from cockpit.gangs.engine import InstalledEngine
    from cockpit.jobs.training.run_cache import RunShelf
    from cockpit.local_state.history import LocalHistory
    from cockpit.model.job import Job
    from cockpit.model.plan import PoolLeaseHandle
    from cockpit.triage.verdicts import Verdicts


Inspection = Literal["why", "logs", "yaml"]
"""What is shown of the thing under the cursor."""


class Cluster(HeaderSource, Protocol):
    """What is known of the cluster now: watched, joined and measured; nothing here asks the server."""

    @property
    def jobs(self) -> JobReader: ...
    @property
    def verdicts(self) -> "Verdicts": ...
    @property
    def trends(self) -> TrendReader: ...
    @property
    def runs(self) -> "RunShelf":
        """What logs of training runs told, of the jobs that were looked at lately."""

    @property
    def sightings(self) -> Sightings:
        """When nodes were first seen with their GPUs."""

    @property
    def outside(self) -> "OutsideReads":
        """Pools outside the cluster, read on demand."""

    @property
    def access(self) -> RightsReader | None:
        """What this user may do; None while not attached."""

    @property
    def namespaces(self) -> Namespaces:
        """Those that are shown."""

    @property
    def home_namespace(self) -> str:
        """That of the kubeconfig's context; "" before there is a session."""

    @property
    def has_discovered(self) -> bool:
        """True once the server said what it serves."""

    @property
    def has_failed(self) -> bool:
        """True where the attachment has given up on the server."""

    @property
    def trouble(self) -> str:
        """Why nothing is known yet, in one sentence; "" while attached."""

    def is_settled(self, kinds: tuple[str, ...], /) -> bool:
        """True when each of these kinds was listed whole, is denied, or is not served."""

    def engines(self) -> "tuple[InstalledEngine, ...] | None":
        """The queueing engines that are there; None while discovery is under way. It reads every pod."""

    def is_served(self, api_version: str, kind: str, /) -> bool | None:
        """Whether the cluster serves a kind; None where it has not said so."""

    def lookup(self, api_version: str, kind: str, /) -> Addressed | None:
        """The served resource of a kind, from discovery; None where it is not served."""

    def look_at(self, focus: Focus, /) -> None:
        """Tell telemetry what is in sight."""


class Pages(Protocol):
    """Where the keys lead."""

    def go(self, place: str) -> None:
        """Show a place; pages opened from the last one are closed."""

    def open_job(self, key: str, *, in_place: bool = False) -> None:
        """The page of a job, above what is shown, or in its place."""

    def open_node(self, name: str) -> None:
        """The page of a node, above what is shown."""

    def inspect(self, place: Any, what: Inspection) -> None:
        """Why it waits, the logs or the YAML of what is under the cursor of that place."""

    def open_verb(self, place: Any, verb: "Verb", things: Sequence[Any]) -> None:
        """Open the form or dialog for the options of a verb."""

    def open_clone(self, place: Any, job: "Job", changed: Mapping[str, str]) -> None:
        """The form of a clone of the job with these values."""

    def open_results(self, verb: str, results: "Sequence[Result]", left_out: Sequence[str]) -> None:
        """What became of each of many."""

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

    def audit(self) -> "AuditLog":
        """Where what is done is noted. Raises BadInput where nothing is kept on this host."""

    def known_of_pools(self) -> PoolExperience:
        """What machines cost, and how long pools took to grow."""

    def unlock(self) -> None:
        """Let changes through from now on."""

    def lock(self) -> None:
        """Let only reading through from now on."""


class TroubleWatch(Protocol):
    """What needs a human, over time (`cockpit.screens.problem_tracker`)."""

    def look(self) -> tuple[Trouble, ...]:
        """What stands on *Now*."""

    def acknowledge(self, found: Finding, note: str, seconds: float | None, who: str, /) -> None:
        """Acknowledge the finding for `seconds`; None: until it changes."""

    def take_back(self, found: Finding, /) -> None:
        """Remove the acknowledgement."""

    @property
    def load(self) -> LoadSample:
        """What is asked for and used now."""

    @property
    def loads(self) -> tuple[LoadSample, ...]:
        """The same a minute, as far as this host has seen it in the last hour."""

    @property
    def past(self) -> tuple[PastRun, ...]:
        """Jobs that ended, as this host remembers them."""

    @property
    def left_seconds(self) -> float | None:
        """When the last session was alive; None where there is none."""

    @property
    def happened(self) -> tuple[Happened, ...]:
        """What happened since then, as it was at first sight."""

    def dismiss_happened(self) -> None:
        """It is known by now."""


class PoolMemory(Protocol):
    """Pools over time (`cockpit.screens.pool_history`)."""

    @property
    def growths(self) -> tuple[Growth, ...]:
        """Growths that are over, the newest first."""

    def asked(self, pool_key: str, /) -> SizeAsked | None:
        """When this session asked for another size last without a Lease; None: it did not."""

    def reclaims(self, pool_key: str, /) -> tuple[Reclaim, ...]:
        """Nodes of that pool that were reclaimed recently, the newest first."""

    async def reclaimed(self, found: tuple[Reclaim, ...], /) -> None:
        """Store the nodes that were just reclaimed."""

    @property
    def empty_since(self) -> Mapping[str, float]:
        """Since when this session has seen nodes empty, epoch seconds by name."""

    def samples(self, pool_key: str, /) -> tuple[PoolSample, ...]:
        """How that pool stood over the last hours, the oldest first."""

    async def recall(self, pool_key: str, /) -> None:
        """Read what is remembered of that pool."""


class RowsInSight(Protocol):
    """Reads on demand for rows on screen (`cockpit.screens.on_demand`)."""

    def show(self, found: Iterable[Finding], /) -> None:
        """These are the rows of *Now*."""

    def show_jobs(self, keys: Iterable[str], /) -> None:
        """These rows of the jobs are in sight."""


class PoolChangesGoing(Protocol):
    """Changes of pools (`cockpit.screens.lease_keeper`)."""

    async def read(self, pool: Pool, /) -> LeaseRead:
        """Who changes the pool now, or did last; what may not be read is said."""

    def follow(self, hold: "PoolLeaseHandle", /) -> None:
        """Keep the hold on a pool until its change is over, and tell who undid it."""


class DrainsGoing(Protocol):
    """The drains of this session (`cockpit.screens.drains`)."""

    def begin(self, order: DrainOrder, /) -> None:
        """Go on with a drain whose node is cordoned."""

    def status(self, node: str, /) -> "DrainStatus | None":
        """How far it has come; None where this session does not drain the node."""


class Cockpit(Pages, Changes, Protocol):
    """The app as the screens know it."""

    clock: Clock
    terminal_lock: asyncio.Lock
    """Whoever gives the terminal away has it: a shell and a login cannot both."""
    typed_namespaces: set[str]
    """Those chosen in this session."""

    @property
    def configured_namespaces(self) -> tuple[str, ...]:
        """Those that the configuration names for the context in force."""

    @property
    def cluster(self) -> Cluster: ...
    def keep(self, host: Any, name: str, work: Work) -> Any:
        """Start what lasts as long as `host`; an error of it is told and it begins again. Its worker."""

    @property
    def now_watch(self) -> TroubleWatch:
        """What needs a human, over time."""

    @property
    def pool_watch(self) -> PoolMemory:
        """Pools over time, as this host remembers them."""

    @property
    def row_reads(self) -> RowsInSight:
        """What rows in sight rest on and no watch covers."""

    @property
    def drains(self) -> DrainsGoing:
        """What is being drained from here."""

    @property
    def pool_changes(self) -> PoolChangesGoing:
        """Changes of pools, those of others and those of this session."""

    @property
    def api(self) -> ApiServer: ...
    def run_history(self) -> "LocalHistory | None":
        """Where this host keeps what training runs reached and how pools grew; None: nowhere."""

    @property
    def prices(self) -> Prices:
        """What machines cost, as the configuration says."""

    @property
    def context(self) -> str:
        """Name of the context in force, "" before there is one."""

    @property
    def default_namespace(self) -> str:
        """Default namespace of a new object: the namespace shown, else the context's."""

    @property
    def template_folders(self) -> tuple[Path, ...]: ...
    @property
    def shrink_at_once(self) -> int | None:
        """Most nodes of a pool to remove without a typed confirmation; None: a tenth of it."""

    def state_of(self, place: str) -> ViewState: ...
    def keep_state(self, place: str, state: ViewState) -> None: ...
    def on_change(self, fn: Callable[[], None]) -> Callable[[], None]:
        """Call `fn` when the cluster moved, coalesced; the answer ends the subscription."""

    def spawn(self, work: WorkType[None], name: str) -> None:
        """`work` is a coroutine function or a `partial` of one: dropped before it began, none was made."""

    def spawn_foreground(self, work: WorkType[None], name: str) -> None:
        """The same for what a key opens: keys typed behind it wait until it asks something, or is over."""


def cockpit_of(app: App[Any]) -> Cockpit:
    """The app, seen through the narrow interface. Raises TypeError when it is not a cockpit."""
    if not hasattr(app, "planner"):
        raise TypeError("this screen belongs to the cockpit app")
    return cast(Cockpit, app)
