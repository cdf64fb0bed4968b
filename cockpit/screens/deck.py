"""What a screen may ask of the app: the attachment, choices that stay, how a plan is carried out."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual.app import App

from cockpit.actions.address import Addressed
from cockpit.attach import Attachment
from cockpit.clock import Clock
from cockpit.model.plan import Outcome, Plan
from cockpit.model.pod import Pod
from cockpit.views.view_state import ViewState

if TYPE_CHECKING:
    from cockpit.actions.ground import Make
    from cockpit.actions.sweep import Sweep


class Deck(Protocol):
    """The app as the screens know it."""

    clock: Clock

    @property
    def attachment(self) -> Attachment: ...
    @property
    def context(self) -> str:
        """Name of the context in force, "" before there is one."""

    @property
    def default_namespace(self) -> str:
        """Where a new object goes when nobody says: the namespace shown, else the context's."""

    @property
    def template_folders(self) -> tuple[Path, ...]: ...
    @property
    def state_folder(self) -> Path | None:
        """Where this host keeps audit lines; None where nothing is kept."""

    def state_of(self, place: str) -> ViewState: ...
    def keep_state(self, place: str, state: ViewState) -> None: ...
    def on_change(self, fn: Callable[[], None]) -> Callable[[], None]: ...
    def go(self, place: str) -> None: ...
    def choose_namespace(self) -> None: ...
    def choose_context(self) -> None: ...
    def open_palette(self) -> None: ...
    def choices(self, source: str) -> tuple[str, ...]:
        """What the cluster offers for a parameter's `choices-from`."""

    def confirm_and_carry(
        self,
        plan: Plan,
        *,
        again: "Make | None" = None,
        then: Callable[[Outcome], None] | None = None,
    ) -> None:
        """Show the plan; on yes carry it out (made anew by `again`, where given), tell the outcome.

        Where it would do something else by then, nothing is done: it is shown again with what changed.
        """

    def confirm_and_carry_all(self, sweep: "Sweep", *, then: Callable[[Outcome], None] | None = None) -> None:
        """Show one verb on many jobs; on yes carry it out and tell what became of each."""

    def enter_pod(self, pod: Pod) -> None:
        """A shell in the pod, in this terminal; the screens come back when it ends."""

    def run_soon(self, work: Coroutine[Any, Any, None], name: str) -> None: ...
    async def read_yaml(self, api_version: str, kind: str, namespace: str, name: str) -> list[str]:
        """Lines of the object as YAML. Raises CockpitError with one sentence."""

    def lookup(self, api_version: str, kind: str) -> Addressed | None:
        """The served resource of a kind, from discovery; None when the server does not serve it."""


def deck_of(app: App[Any]) -> Deck:
    """The app, seen through the narrow door. Raises TypeError when it is not a cockpit."""
    if not hasattr(app, "attachment"):
        raise TypeError("this screen belongs to the cockpit app")
    return cast(Deck, app)
