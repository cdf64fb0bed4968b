"""Checkpoints in a folder: written beside and renamed, the newest whole one found, damaged ones named.

torch writes a zip file whose members carry a CRC-32 each. So a file that was cut or changed is told from a
whole one without another file beside it, before torch reads a byte.
"""

import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_NAME = re.compile(r"checkpoint-([0-9]{8,})\.pt")
_HALF = ".half-written"


def path_of(folder: Path, step: int) -> Path:
    """Where the checkpoint of that step is kept."""
    return folder / f"checkpoint-{step:08d}.pt"


def found(folder: Path) -> list[Path]:
    """The checkpoints of a folder, newest step first. A folder that is not there has none."""
    if not folder.is_dir():
        return []
    steps = {path: int(match[1]) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))}
    return sorted(steps, key=lambda path: -steps[path])


def what_is_wrong(path: Path) -> str | None:
    """Why a checkpoint cannot be used; None where it is whole."""
    try:
        with zipfile.ZipFile(path) as file:
            damaged = file.testzip()
    except zipfile.BadZipFile:
        return f"{path.stat().st_size} bytes without an end: it was cut while it was written or copied"
    except (OSError, EOFError, zipfile.LargeZipFile) as error:
        return f"cannot be read: {error}"
    return None if damaged is None else f"the part {damaged} has changed since it was written"


def newest_whole(folder: Path, refused: Callable[[Path, str], None]) -> Path | None:
    """The newest checkpoint that is whole; `refused` is told each newer one that is not, and why."""
    for path in found(folder):
        if (why := what_is_wrong(path)) is None:
            return path
        refused(path, why)
    return None


def write(folder: Path, step: int, fill: Callable[[BinaryIO], None], keep: int) -> Path:
    """Write the checkpoint of a step and remove all but the newest `keep`. Raises OSError.

    It has its name only once its last byte is on the disk, so that whoever is killed meanwhile leaves the
    one before.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f".*{_HALF}"):
        left.unlink(missing_ok=True)
    path = path_of(folder, step)
    half = folder / f".{path.name}{_HALF}"
    with half.open("wb") as sink:
        fill(sink)
        sink.flush()
        os.fsync(sink.fileno())
    half.replace(path)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    for old in found(folder)[max(keep, 1) :]:
        old.unlink(missing_ok=True)
    return path
