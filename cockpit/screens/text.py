"""Screens of plain text: an object as YAML, and why a job waits."""

import textwrap
from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import LogView
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.errors import CockpitError
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place


class TextScreen(Place):
    """A page of lines, top first."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*EVERYWHERE)]

    def body(self) -> Iterable[Widget]:
        yield LogView(id="text", follow=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#text").focus()

    def put(self, lines: Iterable[str]) -> None:
        """Replace the whole text."""
        self.query_one("#text", LogView).replace(lines)


class YamlScreen(TextScreen):
    """One object as the server tells it now, without managed fields."""

    def __init__(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        super().__init__()
        self._address = (api_version, kind, namespace, name)

    def on_mount(self) -> None:
        super().on_mount()
        self.sub_title = "/".join(part for part in self._address[1:] if part)
        self.put([f"reading {self.sub_title} ..."])
        self.deck.run_soon(self._read(), "yaml")

    async def _read(self) -> None:
        try:
            self.put(await self.deck.read_yaml(*self._address))
        except CockpitError as error:
            self.put([error.sentence])


class WhyScreen(TextScreen):
    """One sentence, and under it what it rests on."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("yaml", *EVERYWHERE)]

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self._shown: tuple[str, ...] = ()

    def project(self) -> None:
        from cockpit.views.why import lines

        attachment = self.deck.attachment
        room = max(20, self.size.width - 3)
        text = tuple(
            part
            for line in lines(self._key, attachment.jobs, attachment.store, self.deck.clock.now())
            for part in textwrap.wrap(line, room, subsequent_indent="    ", break_on_hyphens=False) or [""]
        )
        if text != self._shown:
            self._shown = text
            self.put(text)

    def action_yaml(self) -> None:
        job = self.deck.attachment.jobs.job(self._key)
        for workload in self.deck.attachment.store.workloads_of(job.uid) if job else ():
            self.app.push_screen(
                YamlScreen("kueue.x-k8s.io/v1beta2", "Workload", workload.namespace, workload.name)
            )
            return
        if job is not None:
            self.app.push_screen(YamlScreen(job.api_version, job.kind, job.namespace, job.name))
