"""Logs of all members of a job in one view, followed; each line begins with the member's rank."""

import asyncio
from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import LogView
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.errors import CockpitError
from cockpit.model.pod import Pod
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place

MOST_MEMBERS = 64
"""Streams held open at once: each is a connection of the API server's."""
TAIL_LINES = 200


class LogsScreen(Place):
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*EVERYWHERE)]

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key

    @property
    def heading(self) -> str:
        return f"logs of {self._key.split('/', 1)[-1]}"

    def body(self) -> Iterable[Widget]:
        yield LogView(id="log", follow=True)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#log").focus()
        self.run_worker(self._follow_all(), name="logs", group="logs", exclusive=True)

    async def _follow_all(self) -> None:
        view = self.query_one("#log", LogView)
        members = self.deck.attachment.jobs.members(self._key)
        if not members:
            view.append([f"{self._key} has no pods: there is no log yet"])
            return
        if len(members) > MOST_MEMBERS:
            view.append([f"following the first {MOST_MEMBERS} of {len(members)} members"])
        async with asyncio.TaskGroup() as group:
            for pod in members[:MOST_MEMBERS]:
                group.create_task(self._follow(pod, view))

    async def _follow(self, pod: Pod, view: LogView) -> None:
        from cockpit.views.pods import rank_text

        prefix = rank_text(pod) or pod.name
        try:
            async for line in self.deck.attachment.follow_logs(pod.namespace, pod.name, TAIL_LINES):
                view.append([f"{prefix:>10} {line}"])
        except CockpitError as error:
            view.append([f"{prefix:>10} -- {error.sentence}"])
