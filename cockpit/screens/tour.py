"""The card of the tour above the last lines of each page: what to press for its step, until that is done."""

import re

from cockpit_widgets import Form
from cockpit_widgets.panel import Panel
from textual.app import ComposeResult
from textual.content import Content
from textual.css.query import NoMatches
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Static

from cockpit.local_state.audit import actions_of
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.screens.app_base import AppBase
from cockpit.screens.app_protocol import cockpit_of
from cockpit.screens.place import Place
from cockpit.services.tour import FORM, MODEL, POOL, Sight, Tour, load_steps, made_here

LOOK_SECONDS = 0.3
LEAVE = "ctrl+t"
_KEY = re.compile(r"`([^`]+)`")


class TourCard(Panel):
    """A panel with the step's title, how far the tour is, and what to press."""

    DEFAULT_CSS = """
    TourCard { border-top: solid $accent; border-title-color: $text-accent; padding: 0 1; }
    TourCard Static { height: auto; color: $foreground; }
    """

    def __init__(self, says: str) -> None:
        super().__init__()
        self._says = says

    def compose(self) -> ComposeResult:
        yield Static(_shown(self._says))

    def tell(self, title: str, progress: str, says: str) -> None:
        """Show the step; the same one again costs nothing."""
        self.set_title(f"Tour · {title}", progress)
        if says != self._says:
            self._says = says
            self.query_one(Static).update(_shown(says))


def _shown(says: str) -> Content:
    """Keys stand out."""
    return Content.from_markup(_KEY.sub(r"[b $text-accent]\1[/]", says))


class TourGuide:
    """Goes through the tour beside the person who uses the app."""

    def __init__(self, app: AppBase) -> None:
        self._app = app
        self._tour = Tour(load_steps())
        self._timer: Timer | None = None

    def begin(self) -> None:
        """Look at what is shown, from now until the tour is left."""
        self._app.bind(LEAVE, "leave_tour", show=False)
        self._timer = self._app.set_interval(LOOK_SECONDS, self.look)
        self._app.screen_change_signal.subscribe(self._app, lambda _: self._app.call_after_refresh(self.look))

    def leave(self) -> None:
        """No card from now on; the demo goes on."""
        if self._timer is None:
            return
        self._timer.stop()
        self._timer = None
        for screen in self._app.screen_stack:
            screen.query(TourCard).remove()
        self._app.notify("the tour is left; the demo goes on, q leaves it")

    def look(self) -> None:
        """Tell on the page on top what the step asks for; a question above it has its own keys."""
        page = next((item for item in reversed(self._app.screen_stack) if isinstance(item, Place)), None)
        if self._timer is None or page is None or not page.is_mounted or page.is_going:
            return
        says = self._tour.look(self._sight(page))
        card = _card(page, says)
        if card.is_mounted:
            _lift_toasts(page, card)
            card.tell(self._tour.step.title, f"{self._tour.progress} · {LEAVE} leaves the tour", says)

    def _sight(self, page: Screen[None]) -> Sight:
        cockpit = cockpit_of(self._app)
        cluster = cockpit.cluster
        made = made_here(actions_of(cockpit.audit().entries()))
        jobs = {f"{job.namespace}/{job.name}": job for job in cluster.jobs.jobs.values()}
        pools: list[PoolObject] = list(cluster.store.records(Kind.POOL).values())
        nodes: list[Node] = list(cluster.store.records(Kind.NODE).values())
        forms = page.query(Form)
        is_form = hasattr(page, "own_values")
        return Sight(
            FORM if is_form else getattr(page, "place", ""),
            forms.first().values if is_form and forms else {},
            next((jobs[name] for name in reversed(made) if name in jobs), None),
            bool(made),
            next((pool.replicas or 0 for pool in pools if pool.name == POOL), 0),
            nodes_ready=sum(node.gpu_model == MODEL and bool(node.gpu_allocatable) for node in nodes),
        )


def _lift_toasts(page: Place, card: TourCard) -> None:
    """Remarks stand above the card, not on it."""
    for rack in page.query("ToastRack"):
        rack.styles.margin = (0, 0, page.size.height - card.region.y, 0)


def _card(page: Place, says: str) -> TourCard:
    """The card of that page, which gets one where it has none."""
    try:
        return page.query_one(TourCard)
    except NoMatches:
        card = TourCard(says)
        page.query_one("#foot").mount(card, before=0)
        return card
