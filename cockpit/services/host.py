"""What a service is handed: the cluster as it is known, and the app that it runs in."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from cockpit.actions.address import Addressed
from cockpit.clock import Clock
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import Namespaces
from cockpit.model.right import RightsReader
from cockpit.model.trend_reader import TrendReader
from cockpit.pools.sightings import Sightings
from cockpit.telemetry.focus import Focus
from cockpit.views.now import HeaderSource

if TYPE_CHECKING:
    from cockpit.api_server import ApiServer
    from cockpit.attach_outside import OutsideReads
    from cockpit.gangs.engine import InstalledEngine
    from cockpit.jobs.training.run_cache import RunShelf
    from cockpit.local_state.audit import Audit
    from cockpit.triage.verdicts import Verdicts


class JobRows(JobReader, Protocol):
    """The rows of jobs, which follow the store."""

    @property
    def is_behind(self) -> bool:
        """Whether rows of a long line have yet to be looked at."""

    def catch_up(self, *, is_whole: bool) -> None:
        """Bring them up to the store; unless `is_whole` of long lines a part."""


class ServedKinds(Protocol):
    """What the cluster serves, and how much of it was listed."""

    @property
    def has_discovered(self) -> bool:
        """True once the server said what it serves."""

    def is_settled(self, kinds: tuple[str, ...], /) -> bool:
        """True when each of these kinds was listed whole, is denied, or is not served."""

    def engines(self) -> "tuple[InstalledEngine, ...] | None":
        """The queueing engines that are there; None while discovery is under way. It reads every pod."""

    def is_served(self, api_version: str, kind: str, /) -> bool | None:
        """Whether the cluster serves a kind; None where it has not said so."""

    def lookup(self, api_version: str, kind: str, /) -> Addressed | None:
        """The served resource of a kind, from discovery; None where it is not served."""


class Admittance(Protocol):
    """What this user sees and may do, and why nothing where that is so."""

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
    def has_failed(self) -> bool:
        """True where the attachment has given up on the server."""

    @property
    def trouble(self) -> str:
        """Why nothing is known yet, in one sentence; "" while attached."""


class Cluster(HeaderSource, ServedKinds, Admittance, Protocol):
    """What is known of the cluster now: watched, joined and measured; nothing here asks the server."""

    @property
    def jobs(self) -> JobRows: ...
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

    def look_at(self, focus: Focus, /) -> None:
        """Tell telemetry what is in sight."""


class Host(Protocol):
    """The app that the services run in. `cluster` is another one after a change of context."""

    clock: Clock

    @property
    def cluster(self) -> Any: ...
    @property
    def api(self) -> "ApiServer": ...
    def audit(self) -> "Audit":
        """Where what is done is noted. Raises BadInput where nothing is kept on this host."""

    def spawn(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Run it beside the screens."""

    def notify(self, message: str, **options: Any) -> None:
        """Show a remark."""

    def looked_up(self) -> None:
        """There is something new to show."""
