"""A shell in a pod: the screens give the terminal away, and come back as they were."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from cockpit_widgets import ChoiceDialog
from cockpit_widgets.text import plain
from textual.app import App, SuspendNotSupported

from cockpit import terminal
from cockpit.actions.enter import Entrance, Running, containers_of, plan_entrance
from cockpit.errors import BadInput, CockpitError
from cockpit.model.pod import Pod
from cockpit.screens.app_protocol import cockpit_of

NO_TERMINAL = "no terminal is available here; use cockpit job exec"


async def enter_pod(app: App[Any], pod: Pod) -> None:
    """Ask which container where there are several, then hand the terminal to a shell in it."""
    try:
        container = await _container(app, pod)
        if container is None:
            return
        code = await _enter(app, plan_entrance(pod, container=container))
    except CockpitError as error:
        app.notify(error.sentence, severity="error")
    else:
        if code:
            app.notify(f"the shell ended with exit code {code}")


async def _container(app: App[Any], pod: Pod) -> str | None:
    """The one to enter, "" for the only one; None when the person left."""
    names = containers_of(pod)
    if len(names) < 2:
        return ""
    plan_entrance(pod, container=names[0])  # a pod that cannot be entered asks nothing
    chosen: str | None = await app.push_screen_wait(ChoiceDialog(f"Shell in {pod.name}", names))
    return chosen


async def _enter(app: App[Any], entrance: Entrance) -> int:
    cockpit = cockpit_of(app)
    audit = cockpit.audit()

    async def join(running: Running) -> None:
        async with cockpit.terminal_lock:
            with given_away(app):
                say(f"shell in {entrance.target}, container {entrance.container}; exit or ctrl+d returns")
                await terminal.join(running, is_tty=True)

    return await cockpit.api.enter(entrance, audit, join)


@contextlib.contextmanager
def given_away(app: App[Any], instead: str = NO_TERMINAL) -> Iterator[None]:
    """The terminal as it was before the app; nothing of the app is painted meanwhile, though it lives on.

    Raises BadInput with the sentence `instead` where there is no terminal to give. What the block raises is
    raised once the app is back.
    """
    raised: Exception | None = None
    try:
        with app.batch_update(), app.suspend():
            # Textual resumes only after a block that ended well.
            try:
                yield
            except Exception as error:  # noqa: BLE001 - kept, and raised below
                raised = error
    except SuspendNotSupported:
        raise BadInput(instead) from None
    app.refresh(layout=True)
    if raised is not None:
        raise raised


def say(sentence: str) -> None:
    """A line on the terminal that was given away."""
    sys.stdout.write(f"{plain(sentence)}\r\n")
    sys.stdout.flush()
