"""Small choices that stay between starts: sort, filter and folded detail of each screen, the theme."""

from pathlib import Path

import msgspec

from cockpit.local_state.paths import write_private

_LARGEST_BYTES = 64 * 1024
_MOST_SCREENS = 200


class Choice(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How a person likes one table, or the app."""

    sort: str = ""
    descending: bool = False
    filter: str = ""
    namespace: str = ""
    is_detail_folded: bool = False
    theme: str = ""  # of the whole app


class Choices:
    """The file of choices. A file that cannot be read is left out, with a sentence in `note`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.note = ""
        self._by_screen: dict[str, Choice] = {}
        try:
            raw = path.read_bytes()
            if len(raw) > _LARGEST_BYTES:
                self.note = f"{path} is larger than {_LARGEST_BYTES} bytes: its saved choices are ignored"
                return
            self._by_screen = msgspec.json.decode(raw, type=dict[str, Choice])
        except FileNotFoundError:
            return
        except (OSError, msgspec.DecodeError, ValueError, RecursionError):
            self.note = f"{path} cannot be read: its saved choices are ignored"

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
        try:
            write_private(self._path, msgspec.json.encode(self._by_screen).decode() + "\n")
        except OSError as error:
            self.note = f"{self._path} cannot be written: {error.strerror}; choices are not saved"
            return False
        return True
