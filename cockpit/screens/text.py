"""Screens of plain text: an object as YAML."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import LogView
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
