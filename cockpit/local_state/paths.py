"""Where files of the cockpit live (XDG base directories), and how they are written: 0600, in one step."""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from cockpit.errors import BadInput

_NAME = "gpu-cockpit"


def config_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_CONFIG_HOME/gpu-cockpit`, else `~/.config/gpu-cockpit`."""
    return _base(environment, "XDG_CONFIG_HOME", ".config") / _NAME


def state_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/gpu-cockpit`, else `~/.local/state/gpu-cockpit`: audit lines, choices, logs."""
    return _base(environment, "XDG_STATE_HOME", ".local/state") / _NAME


def _base(environment: Mapping[str, str], variable: str, below_home: str) -> Path:
    named = environment.get(variable, "")
    # The specification says that a relative path is to be ignored.
    if named and os.path.isabs(named):
        return Path(named)
    home = environment.get("HOME", "")
    return (Path(home) if home else Path.home()) / below_home


def make_private_folder(folder: Path) -> Path:
    """Make the folder (0700) where it is missing. Raises BadInput with a sentence when that cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"{folder} cannot be created: {error.strerror}; set XDG_STATE_HOME to another folder"
        ) from None
    return folder


def write_private(path: Path, text: str) -> None:
    """Replace the file by `text` in one step, 0600. Raises OSError."""
    make_private_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
