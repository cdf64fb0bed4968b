"""What lower-case keys show of the job, pod or node under the cursor: why it waits, its logs, its YAML."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from textual.screen import Screen

from cockpit.model.job import Job
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.screens.app_protocol import Inspection

if TYPE_CHECKING:
    from cockpit.screens.place import Place


def inspect(place: "Place", what: Inspection) -> None:
    """Open that page of what the place is about, or say that nothing is under the cursor."""
    page = PAGES[what]
    kinds = [one for one in place.kinds if one in page.kinds]
    for kind in kinds:
        if (thing := place.thing(kind)) is not None:
            place.app.push_screen(page.made(thing))
            return
    place.say(f"no {kinds[0] if kinds else page.kinds[0]} under the cursor {page.purpose}")


def _why(job: Job) -> Screen[None]:
    from cockpit.screens.text import WhyScreen

    return WhyScreen(job.key)


def _logs(one: Job | Pod) -> Screen[None]:
    from cockpit.screens.logs import LogsScreen

    if isinstance(one, Job):
        return LogsScreen(one.key)
    return LogsScreen(f"pod/{one.namespace}/{one.name}", one.uid)


def _yaml(one: Job | Pod | Node) -> Screen[None]:
    from cockpit.screens.text import YamlScreen

    if isinstance(one, Job):
        return YamlScreen(one.api_version, one.kind, one.namespace, one.name)
    if isinstance(one, Pod):
        return YamlScreen("v1", "Pod", one.namespace, one.name)
    return YamlScreen("v1", "Node", "", one.name)


class InspectionPage(NamedTuple):
    """The kinds of object it is made for, and what it is for, after "no job under the cursor"."""

    kinds: tuple[str, ...]
    made: Callable[[Any], Screen[None]]
    purpose: str


PAGES: Final[dict[Inspection, InspectionPage]] = {
    "why": InspectionPage(("job",), _why, "to explain"),
    "logs": InspectionPage(("job", "pod"), _logs, "whose logs could be shown"),
    "yaml": InspectionPage(("job", "pod", "node"), _yaml, "to show as YAML"),
}
