"""Lines written to a file that a person names: a new one, 0600, never over one that is there."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from cockpit.errors import BadInput


def path_of(name: str) -> Path:
    """The path that a person means: `~` is the home folder."""
    return Path(name).expanduser()


def open_new(name: str) -> TextIO:
    """A new file for text. Raises BadInput with one sentence: it is there already, or cannot be made."""
    path = path_of(name)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise BadInput(f"{path} already exists and was not overwritten; give another name") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be created: {error.strerror}; give another name") from None
    except ValueError:
        raise BadInput(f"{name!r} is not a valid file name; give another name") from None
    return os.fdopen(handle, "w", encoding="utf-8", errors="replace")


def save_lines(name: str, lines: Iterable[str]) -> tuple[Path, int]:
    """Write the lines to a new file; its path and how many lines. Raises BadInput as `open_new`."""
    count = 0
    try:
        with open_new(name) as file:
            for line in lines:
                file.write(f"{line}\n")
                count += 1
    except OSError as error:
        raise BadInput(f"{path_of(name)} cannot be written: {error.strerror}; give another name") from None
    return path_of(name), count
