"""The pages that keys open, each imported when it is first opened: all of them take 0.3 s of CPU."""

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from textual.worker import WorkType

from cockpit.screens.app_base import AppBase
from cockpit.screens.app_protocol import Inspection, acting_in, cockpit_of

if TYPE_CHECKING:
    from cockpit.actions.execute.bulk_plan import Result
    from cockpit.actions.verbs.verb import Verb
    from cockpit.model.job import Job
    from cockpit.model.pod import Pod
    from cockpit.screens.place import Place
    from cockpit.screens.tour import TourGuide

PLACES: Mapping[str, str] = {
    "now": "NowScreen",
    "jobs": "JobsScreen",
    "nodes": "NodesScreen",
    "queues": "QueuesScreen",
    "pools": "PoolsScreen",
    "events": "EventsScreen",
    "pods": "PodsScreen",
    "fleet": "FleetScreen",
    "audit": "AuditScreen",
}
"""Name of the `:` command, which is that of the module, to the class of the screen."""


def _imported(module: str, name: str) -> Any:
    """What a module of the screens calls by that name."""
    return getattr(import_module(f"cockpit.screens.{module}"), name)


def place_class(place: str) -> "type[Place]":
    """The screen of a place. Raises KeyError where there is no such place."""
    found: type[Place] = _imported(place, PLACES[place])
    return found


class PageOpener:
    """Opens pages in the app, as `cockpit.screens.app_protocol.Pages` says."""

    def __init__(self, app: AppBase) -> None:
        self._app = app

    @cached_property
    def tour(self) -> "TourGuide":
        """Who leads through the tour, where there is one."""
        guide: TourGuide = _imported("tour", "TourGuide")(self._app)
        return guide

    def go(self, place: str) -> None:
        """Show a place; pages opened from the last one are closed."""
        cockpit, screen = cockpit_of(self._app), place_class(place)()
        screen.bind(cockpit)  # one that shows several clusters is about the one of its row
        while len(self._app.screen_stack) > 2:
            self._app.pop_screen()
        with acting_in(None):
            self._app.switch_screen(screen)

    def _begin(self, work: WorkType[None], name: str) -> None:
        """Run what a key opens, about the cluster that is acted in."""
        cockpit_of(self._app).spawn_foreground(work, name)

    def open_job(self, key: str, *, in_place: bool = False) -> None:
        """The page of a job, above what is shown, or in its place."""
        show = self._app.switch_screen if in_place else self._app.push_screen
        show(_imported("job", "JobScreen")(key))

    def open_node(self, name: str) -> None:
        """The page of a node, above what is shown."""
        self._app.push_screen(_imported("node", "NodeScreen")(name))

    def inspect(self, place: Any, what: Inspection) -> None:
        """Why it waits, the logs or the YAML of what is under the cursor of that place."""
        _imported("inspect", "inspect")(place, what)

    def open_verb(self, place: Any, verb: "Verb", things: Sequence[Any]) -> None:
        """The form or dialog for the options of a verb."""
        self._begin(partial(_imported("verb_forms", "open_verb"), place, verb, things), verb.name)

    def open_clone(self, place: Any, job: "Job", changed: Mapping[str, str]) -> None:
        """The form of a clone of the job with these values."""
        self._begin(partial(_imported("verb_forms", "open_changed_clone"), place, job, changed), "clone")

    def open_results(self, verb: str, results: "Sequence[Result]", left_out: Sequence[str]) -> None:
        """What became of each of many."""
        self._app.push_screen(_imported("results", "ResultsScreen")(verb, results, left_out))

    def choose_namespace(self) -> None:
        """The list of namespaces."""
        self._begin(partial(_imported("palette", "pick_namespace"), self._app), "namespace")

    def choose_context(self) -> None:
        """The list of contexts."""
        self._begin(partial(_imported("palette", "pick_context"), self._app), "context")

    def open_palette(self) -> None:
        """The list of all commands."""
        self._begin(partial(_imported("palette", "open_palette"), self._app), "palette")

    def enter_pod(self, pod: "Pod") -> None:
        """A shell in the pod, in this terminal; the screens come back when it ends."""
        self._begin(partial(_imported("enter", "enter_pod"), self._app, pod), "enter")
