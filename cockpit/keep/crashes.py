"""Where the details of an unexpected error go: a bounded file in the state folder, for a report."""

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from cockpit.clock import Clock, SystemClock
from cockpit.errors import CockpitError
from cockpit.keep.paths import state_folder, write_private
from cockpit.keep.redact import redact

_LARGEST_CHARACTERS = 256 * 1024


def note_crash(error: BaseException, clock: Clock | None = None, folder: Path | None = None) -> Path | None:
    """Add the traceback to `errors.log`; the file's path, None when it could not be written."""
    path = (folder or state_folder(os.environ)) / "errors.log"
    when = datetime.fromtimestamp((clock or SystemClock()).now(), UTC).isoformat(timespec="seconds")
    text = f"--- {when}\n{redact(''.join(traceback.format_exception(error)))}"
    try:
        before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        write_private(path, (before + text)[-_LARGEST_CHARACTERS:])
    except (OSError, CockpitError):
        return None
    return path
