"""Manifests of jobs that the cockpit deleted to create them once more: by them what was deleted can be
created again.

A manifest may hold secrets in environment variables, and without them it would create another job. So it is
kept whole, in a file of its own below the state folder (0600, its folder 0700), and is never shown: an audit
line names it by its id alone. The newest `MOST_KEPT` are kept.
"""

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.local_state.paths import make_private_folder, state_folder, write_private

MOST_KEPT: Final = 200
_FOLDER: Final = "kept"
_ID: Final = re.compile(r"[A-Za-z0-9]{1,64}")


def keep_manifest(folder: Path, audit_id: str, manifest: Mapping[str, Any]) -> None:
    """Write the manifest below the state folder `folder`. Raises BadInput when that cannot be."""
    path = folder / _FOLDER / f"{audit_id}.json"
    try:
        make_private_folder(path.parent)
        write_private(path, json.dumps(manifest, ensure_ascii=False))
        _drop_oldest(path.parent)
    except OSError as error:
        raise BadInput(
            f"the manifest cannot be kept in {path} ({error.strerror}): nothing is deleted without it;"
            " free disk space or set XDG_STATE_HOME"
        ) from None


def kept_manifest(audit_id: str, folder: Path | None = None) -> dict[str, Any]:
    """The manifest that is kept under the id of an audit line. Raises BadInput where there is none."""
    folder = folder or state_folder(os.environ)
    if not _ID.fullmatch(audit_id):
        raise BadInput(f"{audit_id!r} is no id of an audit line; see cockpit audit list")
    path = folder / _FOLDER / f"{audit_id}.json"
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise BadInput(
            f"no manifest is kept under {audit_id}: the newest {MOST_KEPT} recreated jobs of this host are;"
            " see cockpit audit list"
        ) from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"{path} is damaged: it contains no JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise BadInput(f"{path} is damaged: it contains no manifest")
    return found


def _drop_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda one: one.stat().st_mtime, reverse=True)
    for path in files[MOST_KEPT:]:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
