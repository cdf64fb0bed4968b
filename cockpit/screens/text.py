"""Screens of plain text: an object as YAML, and why a job waits."""

import textwrap
from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import LogView
from cockpit_widgets.types import ToneLine, tone_of
from textual.binding import BindingType
from textual.widget import Widget
from textual.worker import WorkType

from cockpit.errors import CockpitError
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place


class TextScreen(Place):
    """A page of lines, top first."""

    DEFAULT_CSS = "TextScreen #text { padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*EVERYWHERE)]

    def body(self) -> Iterable[Widget]:
        yield LogView(id="text", follow=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#text").focus()

    def put(self, lines: Iterable[str]) -> None:
        """Replace the whole text."""
        if self.is_going:
            return
        self.query_one("#text", LogView).replace(lines)


class YamlScreen(TextScreen):
    """One object as the server tells it now, without managed fields."""

    def __init__(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        super().__init__()
        self._address = (api_version, kind, namespace, name)

    def on_mount(self) -> None:
        super().on_mount()
        self.put([f"reading {self.heading} ..."])
        # a worker of this screen: it ends with it, whatever the server still answers
        work: WorkType[None] = self._read
        self.run_worker(work, name="yaml", group="yaml", exclusive=True)

    @property
    def heading(self) -> str:
        return "/".join(part for part in self._address[1:] if part)

    async def _read(self) -> None:
        try:
            self.put(await self.cockpit.api.read_yaml(*self._address))
        except CockpitError as error:
            self.put([error.sentence])


class WhyScreen(TextScreen):
    """One sentence, and under it what it rests on."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("back", "yaml", *EVERYWHERE[1:])]

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._shown: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        return f"why {self._key.split('/', 1)[-1]}"

    def project(self) -> None:
        from cockpit.views.why import lines

        cluster = self.cockpit.cluster
        room = max(20, self.size.width - 4)
        found = lines(self._key, cluster.jobs, cluster.store, self.cockpit.clock.cluster_now())
        text = tuple(part for line in found for part in _folded(line, room))
        if text != self._shown:
            self._shown = text
            self.put(text)

    def action_yaml(self) -> None:
        from cockpit.gangs import registry

        job = self.cockpit.cluster.jobs.job(self._key)
        for workload in self.cockpit.cluster.store.workloads_of(job.uid) if job else ():
            kind = registry.engine_of_workload(workload).workload_kind
            if kind is not None:
                self.app.push_screen(YamlScreen(kind[0], kind[1], workload.namespace, workload.name))
                return
        if job is not None:
            self.app.push_screen(YamlScreen(job.api_version, job.kind, job.namespace, job.name))


def _folded(line: str, room: int) -> list[ToneLine]:
    parts = textwrap.wrap(line, room, subsequent_indent="    ", break_on_hyphens=False) or [""]
    return [ToneLine(part, tone_of(line)) for part in parts]
