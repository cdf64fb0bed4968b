"""Small choices that stay between starts: order, columns and folded detail of each screen, the theme."""

from pathlib import Path
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.local_state.paths import write_private

_LARGEST_BYTES = 256 * 1024
_MOST_SCREENS = 200


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a person likes one table, or the app."""

    sort: str = ""
    descending: bool = False
    filter: str = ""
    namespace: str = ""
    is_detail_folded: bool = False
    shown: tuple[str, ...] = ()  # columns
    hidden: tuple[str, ...] = ()
    filters: dict[str, str] = {}  # by the names under which they are saved
    theme: str = ""  # of the whole app


def kept_json(path: Path, largest_bytes: int, type_: Any, what: str) -> tuple[Any, str]:
    """What a kept file holds, as `type_`, None where there is none or it cannot be read; and a sentence where
    its `what` ("saved choices") are therefore ignored."""
    try:
        with path.open("rb") as file:
            raw = file.read(largest_bytes + 1)
        if len(raw) > largest_bytes:
            return None, f"{path} is larger than {largest_bytes} bytes: its {what} are ignored"
        return msgspec.json.decode(raw, type=type_), ""
    except FileNotFoundError:
        return None, ""
    except (OSError, msgspec.DecodeError, ValueError, RecursionError):
        return None, f"{path} cannot be read: its {what} are ignored"


def keep_json(path: Path, largest_bytes: int, tree: Any, what: str) -> str:
    """Replace a kept file whole; a sentence where it is not, as it cannot be written or would be too large to
    be read again; "" where it was."""
    text = msgspec.json.encode(tree).decode() + "\n"
    if len(text.encode()) > largest_bytes:
        return f"{path} would be larger than {largest_bytes} bytes: {what} are not saved"
    try:
        write_private(path, text)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}; {what} are not saved"
    except BadInput as error:
        return f"{error.sentence}; {what} are not saved"
    return ""


class Choices:
    """The file of choices. A file that cannot be read is left out, with a sentence in `note`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        kept, self.note = kept_json(path, _LARGEST_BYTES, dict[str, Choice], "saved choices")
        self._by_screen: dict[str, Choice] = kept or {}

    def of(self, screen: str) -> Choice:
        """The choice for that screen; an empty one where there is none."""
        return self._by_screen.get(screen, Choice())

    def keep(self, screen: str, choice: Choice) -> bool:
        """Remember the choice; False, with a sentence in `note`, when it could not be written.

        A choice that did not change writes nothing.
        """
        if self._by_screen.get(screen) == choice:
            return True
        if screen not in self._by_screen and len(self._by_screen) >= _MOST_SCREENS:
            self._by_screen.pop(next(iter(self._by_screen)))
        self._by_screen[screen] = choice
        if note := keep_json(self._path, _LARGEST_BYTES, self._by_screen, "choices"):
            self.note = note
        return not note
