"""What lower-case keys show of what is under the cursor: why it waits or is broken, its logs, its YAML."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from textual.screen import Screen

from cockpit.model.finding import Subject
from cockpit.model.gang import ClusterQueue, LocalQueue
from cockpit.model.gpu import Gpu
from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.model.pool import Pool
from cockpit.screens.app_protocol import Inspection
from cockpit.screens.copying import copy_from
from cockpit.screens.logs import LogsScreen
from cockpit.screens.object_address import OBJECTS, address_of, first_thing, is_object
from cockpit.screens.text import DescribeScreen, OwnersScreen, YamlScreen
from cockpit.screens.why import WhyScreen
from cockpit.triage.pool_walk import queue_subject

if TYPE_CHECKING:
    from cockpit.screens.place import Place


def inspect(place: "Place", what: Inspection) -> None:
    """Open that page of what the place is about, or say that nothing is under the cursor."""
    if what == "copy":
        place.cockpit.spawn_foreground(partial(copy_from, place), "copy")
        return
    page = PAGES[what]
    kinds = [item for item in (place.why_kinds if what == "why" else place.kinds) if item in page.kinds]
    thing = first_thing(place, kinds)
    if thing is None or (page.kinds == OBJECTS and not is_object(thing)):
        place.say(f"no {kinds[0] if kinds else page.kinds[0]} under the cursor {page.purpose}")
        return
    place.app.push_screen(page.made(thing))


def _why(one: Job | Pod | Node | Gpu | Pool | LocalQueue | ClusterQueue) -> Screen[None]:
    match one:
        case Job():
            subject = Subject("job", one.namespace, one.name)
        case Pod():
            subject = Subject("pod", one.namespace, one.name)
        case Node():
            subject = Subject("node", "", one.name)
        case Gpu():
            subject = Subject("card", "", f"{one.node}/{one.index}")
        case Pool():
            subject = Subject("pool", "", one.name)
        case LocalQueue() | ClusterQueue():
            subject = queue_subject(one)
    return WhyScreen(subject)


def _logs(one: Job | Pod) -> Screen[None]:
    if isinstance(one, Job):
        return LogsScreen(one.key)
    return LogsScreen(f"pod/{one.namespace}/{one.name}", one.uid)


def _of_object(page: Callable[..., Screen[None]]) -> Callable[[Any], Screen[None]]:
    return lambda one: page(*address_of(one))


class InspectionPage(NamedTuple):
    """The kinds of object it is made for, and what it is for, after "no job under the cursor"."""

    kinds: tuple[str, ...]
    made: Callable[[Any], Screen[None]]
    purpose: str


PAGES: Final[dict[Inspection, InspectionPage]] = {
    "why": InspectionPage(("job", "pod", "node", "card", "queue", "pool"), _why, "to explain"),
    "logs": InspectionPage(("job", "pod"), _logs, "whose logs could be shown"),
    "yaml": InspectionPage(OBJECTS, _of_object(YamlScreen), "to show as YAML"),
    "describe": InspectionPage(OBJECTS, _of_object(DescribeScreen), "to describe"),
    "owners": InspectionPage(OBJECTS, _of_object(OwnersScreen), "whose owners could be shown"),
}
