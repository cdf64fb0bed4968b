"""What `c` copies of the row under the cursor: its name, commands that show it, its YAML, its cells."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cockpit_widgets import ChoiceDialog, ResourceTable
from cockpit_widgets.types import ChoiceItem
from textual.css.query import NoMatches

from cockpit.errors import CockpitError
from cockpit.k8s.kubectl import get_command
from cockpit.model.object_table import ObjectAddress
from cockpit.screens.object_address import address_of, object_of
from cockpit.screens.text import TextScreen

if TYPE_CHECKING:
    from cockpit.screens.place import Place

MOST_BYTES: Final = 74_994
"""What xterm takes by OSC 52 (its ctlseqs page: 100,000 bytes of base64); other terminals take more."""
_YAML: Final = "yaml"
_SHOW: Final = "show"


async def copy_from(place: "Place") -> None:
    """Ask what of the row to copy, and hand it to the terminal by OSC 52."""
    found = object_of(place)
    texts = list(_texts(place, None if found is None else address_of(found)))
    items = [ChoiceItem(str(number), label, text) for number, (label, text) in enumerate(texts)]
    if found is not None:
        items.append(ChoiceItem(_YAML, "YAML", "as the server has it now"))
    if not items:
        place.say("nothing to copy under the cursor")
        return
    items.append(ChoiceItem(_SHOW, "show all", "plain, to be marked with the mouse"))
    chosen = await place.app.push_screen_wait(ChoiceDialog("Copy", items))
    if chosen is None:
        return
    if chosen == _SHOW:
        page = CopyScreen([f"{label}: {text}" for label, text in texts])
        place.app.push_screen(page)
        return
    try:
        text = await _yaml(place, found) if chosen == _YAML else texts[int(chosen)][1]
    except CockpitError as error:
        place.say(error.sentence)
        return
    if len(text.encode()) > MOST_BYTES:
        place.say(
            f"not copied: {len(text.encode()) // 1024:,} KiB is more than terminals take; press y to read it"
        )
        return
    place.app.copy_to_clipboard(text)
    first = text.partition("\n")[0]
    place.say(f"copied: {first[:60]}{'…' if len(first) > 60 or first != text else ''}")


async def _yaml(place: "Place", found: object) -> str:
    return "\n".join(await place.cockpit.api.read_yaml(*address_of(found)))


def _texts(place: "Place", address: ObjectAddress | None) -> Iterator[tuple[str, str]]:
    """Label and text of each thing that can be copied without reading."""
    if address is not None:
        yield "name", address.name
        if address.namespace:
            yield "namespace/name", f"{address.namespace}/{address.name}"
        group = address.api_version.rpartition("/")[0]
        kind = f"{address.kind.lower()}.{group}" if "." in group else address.kind.lower()
        yield "kubectl", shlex.join(get_command(kind, address.namespace, address.name))
    try:
        table = place.query_one("#table", ResourceTable)
    except NoMatches:
        return
    source, key = table.source, table.cursor_key
    row = None if source is None or key is None else source.index(key)
    if source is not None and row is not None:
        for column, cell in zip(source.columns, source.cells(row), strict=True):
            if cell.text:
                yield column.title or column.id, cell.text


class CopyScreen(TextScreen):
    """What could be copied, plain: for terminals that refuse OSC 52."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    @property
    def heading(self) -> str:
        return "copy: mark with the mouse"

    def on_mount(self) -> None:
        self.put(self._lines)
