"""Screens of plain text: an object as YAML, described, among its owners."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from cockpit_widgets import LogView
from cockpit_widgets.log_view import broken_lines
from textual.binding import BindingType
from textual.widget import Widget
from textual.worker import WorkType

from cockpit.errors import CockpitError
from cockpit.model.object_table import ObjectAddress
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.place import Place
from cockpit.views.describe import describe_lines, owner_lines

MARGIN_CELLS = 3
"""Padding on both sides, and the scroll bar."""


class TextScreen(Place):
    """A page of lines, top first."""

    DEFAULT_CSS = "TextScreen #text { padding: 0 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(*EVERYWHERE)]
    _sentences: tuple[str, ...] = ()

    def body(self) -> Iterable[Widget]:
        yield LogView(id="text", follow=False)

    def on_mount(self) -> None:
        self.query_one("#text").focus()

    def put(self, lines: Iterable[str]) -> None:
        """Replace the whole text."""
        if self.is_going:
            return
        self.query_one("#text", LogView).replace(lines)

    def tell(self, sentences: Iterable[str]) -> None:
        """Replace the text by sentences, each broken at the width of the page."""
        self._sentences = tuple(sentences)
        self.put(broken_lines(self._sentences, max(20, self.app.size.width - MARGIN_CELLS)))

    def on_resize(self) -> None:
        if self._sentences:
            self.tell(self._sentences)


class ObjectScreen(TextScreen):
    """What is read of one object when the page opens."""

    def __init__(self, api_version: str, kind: str, namespace: str, name: str) -> None:
        super().__init__()
        self.address = ObjectAddress(api_version, kind, namespace, name)

    def on_mount(self) -> None:
        self.put([f"reading {self.heading} ..."])
        # a worker of this screen: it ends with it, whatever the server still answers
        work: WorkType[None] = self._read
        self.run_worker(work, name="yaml", group="yaml", exclusive=True)

    @property
    def heading(self) -> str:
        return "/".join(part for part in self.address[1:] if part)

    async def _read(self) -> None:
        try:
            self.put(await self.lines())
        except CockpitError as error:
            self.put([error.sentence])

    async def lines(self) -> Sequence[str]:
        """What to show. Raises CockpitError with one sentence."""
        raise TypeError(f"{type(self).__name__} reads nothing")


class YamlScreen(ObjectScreen):
    """One object as the server tells it now, without managed fields."""

    async def lines(self) -> Sequence[str]:
        return await self.cockpit.api.read_yaml(*self.address)


class DescribeScreen(ObjectScreen):
    """One object in facts: metadata, owners, conditions, its fields, its events."""

    async def lines(self) -> Sequence[str]:
        detail = await self.cockpit.api.read_detail(self.address)
        events = self.cockpit.cluster.store.events_of(detail.uid)
        return describe_lines(detail, events, self.cockpit.clock.cluster_now())


class OwnersScreen(ObjectScreen):
    """Which objects own it, from the top, and what these own."""

    async def lines(self) -> Sequence[str]:
        return owner_lines(await self.cockpit.api.read_owners(self.address), self.address)
