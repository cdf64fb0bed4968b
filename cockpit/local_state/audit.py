"""Audit lines: one JSON object a line for every change that was tried, before it and after it.

The file is 0600, grows to a bound, and is then kept once under the name `.1`. A line holds no request body
(it may carry environment variables) but its SHA-256, and its command line without values that look secret.
"""

import contextlib
import getpass
import hashlib
import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.local_state.kept_manifests import keep_manifest
from cockpit.local_state.paths import make_private_folder, state_folder
from cockpit.mask import mask_text

LARGEST_BYTES = 4 * 1024 * 1024
LONGEST_TEXT = 2000
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One audit line.

    `step` is `intent` before a call, `outcome` after it; both carry the same `audit_id`. `at_seconds` is
    epoch time. `state` of an outcome: done, unchanged, refused, failed, unknown.
    """

    audit_id: str
    step: str
    at_seconds: float
    verb: str
    target: str
    context: str = ""
    server: str = ""
    user: str = ""  # the kubeconfig's user, whose login it was
    acts_as: str = ""  # whom that user acted as by impersonation, "": as itself
    local_user: str = ""  # name@host of who sits here; `Audit` fills it in
    uid: str = ""
    resource_version: str = ""
    method: str = ""
    path: str = ""
    body_sha256: str = ""
    shell: str = ""
    state: str = ""
    status: int = 0  # HTTP, of a refusal
    reason: str = ""  # Kubernetes' own for a refusal: Conflict, Forbidden
    server_audit_id: str = ""  # the Audit-Id of the answer: the line of the server's own audit log
    sentence: str = ""
    is_kept: bool = False
    """The manifest of what the change deletes is kept on this host (`kept_manifests`) under `audit_id`."""


def body_digest(body: Any) -> str:
    """SHA-256 of a request body as hexadecimal, "" where there is none."""
    if body is None:
        return ""
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def local_user() -> str:
    """Who sits here: `name@host`, "" where the system does not say."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):
        return ""


class Audit:
    """The audit file. One process appends a whole line at a time; several may share the file.

    Who sits here is put into each line as it is written, so no key and no command can leave it out.
    """

    def __init__(
        self, path: Path | None = None, *, largest_bytes: int = LARGEST_BYTES, who: str | None = None
    ) -> None:
        """`path` None is `audit.jsonl` in the state folder, `who` None is `local_user`."""
        self.path = path or state_folder(os.environ) / "audit.jsonl"
        self._largest_bytes = largest_bytes
        self._who = local_user() if who is None else who

    def append(self, entry: Entry) -> None:
        """Write one line and wait until it is on the disk. Raises BadInput when that cannot be."""
        texts: dict[str, Any] = {
            name: mask_text(value)[:LONGEST_TEXT]
            for name, value in (msgspec.structs.asdict(entry) | {"local_user": self._who}).items()
            if isinstance(value, str)
        }
        line = msgspec.json.encode(msgspec.structs.replace(entry, **texts)) + b"\n"
        try:
            make_private_folder(self.path.parent)
            self._rotate(len(line))
            handle = os.open(
                self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            try:
                os.fchmod(handle, 0o600)
                # One write of one line: with O_APPEND lines of several processes never mix.
                os.write(handle, line)
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise BadInput(
                f"the audit file {self.path} cannot be written ({error.strerror}):"
                " no change is made without an audit line; free disk space or set XDG_STATE_HOME"
            ) from None

    def keep(self, audit_id: str, manifest: Mapping[str, Any]) -> None:
        """Keep the manifest of what is about to be deleted. Raises BadInput when that cannot be."""
        keep_manifest(self.path.parent, audit_id, manifest)

    def _rotate(self, more_bytes: int) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self.path.stat().st_size + more_bytes > self._largest_bytes:
                os.replace(self.path, self.path.with_name(f"{self.path.name}.1"))

    def entries(self) -> Iterator[Entry]:
        """Every readable line, oldest first, the kept older file included. Broken lines are passed over."""
        for path in (self.path.with_name(f"{self.path.name}.1"), self.path):
            try:
                lines = path.read_bytes().splitlines()
            except FileNotFoundError:
                continue
            except OSError as error:
                raise BadInput(f"the audit file {path} cannot be read: {error.strerror}") from None
            for line in lines:
                with contextlib.suppress(msgspec.DecodeError, RecursionError):
                    yield msgspec.json.decode(line, type=Entry)
