"""`F`: forward a port of a pod, by what it declares, the ports used last, or any that is typed; and stop."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from cockpit_widgets import ChoiceDialog, ConfirmDialog
from cockpit_widgets.choices import ChoiceRows, search
from cockpit_widgets.types import ChoiceItem
from textual.app import App

from cockpit.actions.forward import DeclaredPort, Passage, parse_ports, plan_passage
from cockpit.errors import BadInput
from cockpit.listener import LOOPBACK
from cockpit.model.pod import Pod
from cockpit.screens.app_protocol import cockpit_of

if TYPE_CHECKING:
    from cockpit.screens.place import Place
    from cockpit.services.port_forwards import PortForward

_STOP: Final = "stop-forward"
_PLACEHOLDER: Final = "port of the pod: 8080, 9090:8080 (local:pod) or :8080"
_LIFE: Final = "any local user can open this port; it closes when you stop it, the pod ends, or you leave"
_UNTRIED: Final = "a port-forward has no dry run: the server answers when it opens"


class PortDialog(ChoiceDialog):
    """A choice of ports, where a port that was typed is an entry, too."""

    def rows(self, words: str) -> ChoiceRows:
        try:
            parse_ports(words)
        except BadInput:
            return super().rows(words)
        known = [item for item in search(self._items, words) if item.value != words.strip()]
        return ChoiceRows([ChoiceItem(words.strip(), words.strip(), "as typed"), *known], ())


def target_of(place: "Place", pod: Pod) -> str:
    """What the last ports are kept for: the job of the pod, for its pods change their names; else the pod."""
    job = place.cockpit.cluster.jobs.job_of_pod(pod)
    key = f"pod/{pod.namespace}/{pod.name}" if job is None else job.key
    return f"{place.cockpit.context} {key}"


def stop_items(forwards: "tuple[PortForward, ...]") -> Iterator[ChoiceItem]:
    """An entry for each open port; its value is `stop` and the port of this machine."""
    for forward in forwards:
        note = f"{forward.traffic} · {forward.passage.target}"
        yield ChoiceItem(f"{_STOP} {forward.listener.port}", f"stop {forward.address}", note)


def stopped(app: App[Any], answer: str) -> bool:
    """Whether an entry of `stop_items` was chosen; its port is closed."""
    what, _, port = answer.partition(" ")
    if what != _STOP:
        return False
    for forward in cockpit_of(app).port_forwards.open:
        if str(forward.listener.port) == port:
            forward.stop()
    return True


def port_items(last: tuple[tuple[int, int], ...], declared: tuple[DeclaredPort, ...]) -> list[ChoiceItem]:
    """The last ports, then those that the pod declares; the value is what one would type."""
    items = [ChoiceItem(typed(*ports), note="used last") for ports in last]
    known = {item.value for item in items}
    items += [
        ChoiceItem(str(port.number), note=port.words) for port in declared if str(port.number) not in known
    ]
    return items


def typed(local_port: int, port: int) -> str:
    """`8080`, `9090:8080` or `:8080`: what `parse_ports` reads."""
    return str(port) if local_port == port else f"{local_port or ''}:{port}"


async def forward_port(place: "Place", pod: Pod) -> None:
    """Ask which port, show what opens it, and open it; or stop one. Raises CockpitError."""
    cockpit, target = place.cockpit, target_of(place, pod)
    plan_passage(pod, 1)  # a pod that cannot be reached asks nothing
    declared = await cockpit.api.read_ports(pod)
    forwards = cockpit.port_forwards
    items = [*stop_items(forwards.open), *port_items(forwards.last_ports(target), declared)]
    dialog = PortDialog(f"Forward a port of {pod.name}", items, placeholder=_PLACEHOLDER, is_free=True)
    answer = await place.app.push_screen_wait(dialog)
    if answer is None or stopped(place.app, answer):
        return
    local_port, port = parse_ports(answer)
    passage = plan_passage(pod, port, local_port)
    if await _is_confirmed(place.app, passage):
        forwards.begin(passage, target)


async def _is_confirmed(app: App[Any], passage: Passage) -> bool:
    local = f"port {passage.local_port}" if passage.local_port else "a free port"
    dialog = ConfirmDialog(
        f"Forward to {passage.namespace}/{passage.pod}",
        (f"{passage.target}, on {local} of {LOOPBACK}", _LIFE, _UNTRIED),
        command=f"cockpit pod forward {passage.namespace}/{passage.pod}"
        f" --port {typed(passage.local_port, passage.port)} --write",
        equivalents=(passage.line(cockpit_of(app).context),),
        confirm_label="forward",
    )
    return await app.push_screen_wait(dialog) is True
