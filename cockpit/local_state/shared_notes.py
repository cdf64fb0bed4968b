"""Acknowledgements that a group shares: a folder that all of them may write, a file for each.

A file is written in one step and has the folder's own rights, so a user with write access may replace it. Who
acknowledged is the owner of the file, not a name in it. What others wrote is cleaned and bounded; what
is no acknowledgement is passed over. Methods block and raise BadInput with one sentence.
"""

import hashlib
import os
import pwd
import stat
from pathlib import Path
from typing import Final

import msgspec

from cockpit.errors import BadInput
from cockpit.local_state.paths import write_whole
from cockpit.mask import mask_text
from cockpit.model.remembered import Acknowledgement, ProblemKey
from cockpit.sanitise import clean

MOST_NOTES: Final = 500
LARGEST_BYTES: Final = 4096
LONGEST_NAME: Final = 600
LONGEST_NOTE: Final = 200
_SUFFIX: Final = ".note.json"
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Note(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in a file. `cluster` is the API server's address."""

    cluster: str
    subject_key: str
    finding: str
    made_seconds: float
    until_seconds: float | None = None
    note: str = ""
    is_bad: bool = False
    gpus: int = 0
    cause: str = ""


class SharedNotes:
    """The acknowledgements of one cluster in a shared folder."""

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self._server = server

    def read(self) -> tuple[Acknowledgement, ...]:
        """Those of this cluster, the newest of each problem last."""
        try:
            names = sorted(item for item in os.listdir(self.folder) if item.endswith(_SUFFIX))[:MOST_NOTES]
        except OSError as error:
            raise BadInput(
                f"acknowledgements-folder {self.folder} cannot be read: {error.strerror}"
            ) from None
        found = (self._read(self.folder / name) for name in names)
        return tuple(sorted((item for item in found if item is not None), key=lambda one: one.made_seconds))

    def write(self, known: Acknowledgement) -> None:
        """Put the acknowledgement where the others find it; it replaces one of the same problem."""
        note = _Note(
            cluster=self._server,
            subject_key=known.subject_key[:LONGEST_NAME],
            finding=known.finding[:LONGEST_NAME],
            made_seconds=known.made_seconds,
            until_seconds=known.until_seconds,
            note=mask_text(known.note)[:LONGEST_NOTE],
            is_bad=known.is_bad,
            gpus=known.gpus,
            cause=known.cause[:LONGEST_NAME],
        )
        try:
            rights = stat.S_IMODE(self.folder.stat().st_mode) & 0o666
            write_whole(self._path(known.key), msgspec.json.encode(note), rights)
        except OSError as error:
            raise BadInput(
                f"acknowledgements-folder {self.folder} cannot be written: {error.strerror};"
                " the acknowledgement is kept for you alone"
            ) from None

    def remove(self, key: ProblemKey) -> None:
        """Remove the acknowledgement of that problem."""
        try:
            self._path(key).unlink(missing_ok=True)
        except OSError as error:
            raise BadInput(f"{self._path(key)} cannot be removed: {error.strerror}") from None

    def _path(self, key: ProblemKey) -> Path:
        whole = "\0".join((self._server, *key)).encode("utf-8", "replace")
        return self.folder / f"{hashlib.sha256(whole).hexdigest()[:32]}{_SUFFIX}"

    def _read(self, path: Path) -> Acknowledgement | None:
        try:
            handle = os.open(path, _FLAGS)
        except OSError:
            return None
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_BYTES:
                return None
            note = msgspec.json.decode(os.read(handle, LARGEST_BYTES), type=_Note)
        except (OSError, ValueError, RecursionError):  # msgspec's own and UnicodeDecodeError are ValueErrors
            return None
        finally:
            os.close(handle)
        if note.cluster != self._server or path != self._path((note.subject_key, note.finding)):
            return None
        return Acknowledgement(
            subject_key=clean(note.subject_key, LONGEST_NAME),
            finding=clean(note.finding, LONGEST_NAME),
            made_seconds=note.made_seconds,
            until_seconds=note.until_seconds,
            note=clean(note.note, LONGEST_NOTE),
            who=_name_of(found.st_uid),
            is_bad=note.is_bad,
            gpus=note.gpus,
            cause=clean(note.cause, LONGEST_NAME),
        )


def _name_of(uid: int) -> str:
    try:
        return clean(pwd.getpwuid(uid).pw_name, 64)
    except (KeyError, OSError):
        return f"user {uid}"
