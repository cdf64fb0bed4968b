"""Audit lines: one JSON object a line for every change that was tried, before it and after it.

The file is 0600 and grows to a bound; full ones are kept under `.1`, `.2` and so on until their last line is
older than the configuration keeps them. A line holds no request body (it may carry environment variables) but
its SHA-256, and its command line without values that look secret.
"""

import getpass
import hashlib
import json
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from cockpit.errors import BadInput
from cockpit.local_state.kept_manifests import keep_manifest
from cockpit.local_state.line_file import LockedFile, Stamp
from cockpit.local_state.paths import state_folder
from cockpit.local_state.process import process_here
from cockpit.mask import mask_text
from cockpit.model.audit_action import AuditAction

LARGEST_BYTES = 4 * 1024 * 1024
LONGEST_TEXT = 2000
LONGEST_WANTED = 8000
KEEP_SECONDS: Final = 365 * 86_400.0
"""So old the last line of a full file may be where the configuration does not say (`audit-keep`)."""


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
    server_audit_id: str = ""
    """Audit-Id of the line of the server's own audit log: under which the call is sent, and which the answer
    has."""
    sentence: str = ""
    is_kept: bool = False
    """The manifest of what the change deletes is kept on this host (`kept_manifests`) under `audit_id`."""
    process: str = ""  # of the cockpit: `cockpit.local_state.process`; `Audit` fills it in
    call: int = 0  # which call of its plan, from 1
    calls: int = 0  # of so many
    wanted: Any = None  # of a call: what of its body tells later whether it took place; never a secret
    foretold: str = ""  # what the person read of what it does to other jobs
    undo: str = ""  # the command line that takes it back, "" where none does
    newer: dict[str, Any] = {}  # fields that a newer version wrote, as they stand in its line


_KNOWN: Final = frozenset(Entry.__struct_fields__) - {"newer"}


class DamagedLine(NamedTuple):
    """A line that is no audit line: it is skipped, and told by its number."""

    file: str
    number: int  # from 1
    why: str

    @property
    def sentence(self) -> str:
        """`/home/ann/.../audit.jsonl line 3 is damaged and was skipped: ...`."""
        return f"{self.file} line {self.number} is damaged and was skipped: {self.why}"


def read_line(line: bytes) -> Entry:
    """One audit line, with what a newer version wrote into it. Raises ValueError for what is none."""
    try:
        tree = msgspec.json.decode(line)
        if not isinstance(tree, dict):
            raise ValueError("it is no JSON object")
        known = {key: value for key, value in tree.items() if key in _KNOWN}
        newer = {key: value for key, value in tree.items() if key not in _KNOWN}
        return msgspec.convert(known | {"newer": newer}, Entry)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def entry_tree(entry: Entry) -> dict[str, Any]:
    """The entry as its line has it."""
    tree: dict[str, Any] = msgspec.to_builtins(entry)
    newer: dict[str, Any] = tree.pop("newer", {})
    return newer | tree


def read_lines(file: str, text: bytes) -> Iterator[Entry | DamagedLine]:
    """What the text of an audit file holds, line by line; empty lines are none."""
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            try:
                yield read_line(line)
            except ValueError as error:
                yield DamagedLine(file, number, str(error))


def actions_of(entries: Iterable[Entry]) -> list[AuditAction]:
    """What was done, each action once, by its last line; oldest first."""
    last: dict[str, Entry] = {}
    for entry in entries:
        last.pop(entry.audit_id, None)
        last[entry.audit_id] = entry
    return [
        AuditAction(
            audit_id=entry.audit_id,
            at_seconds=entry.at_seconds,
            verb=entry.verb,
            target=entry.target,
            who=who_of(entry),
            context=entry.context,
            server=entry.server,
            state=entry.state,
            sentence=entry.sentence,
            shell=entry.shell,
            foretold=entry.foretold,
            undo=entry.undo if entry.state == "done" else "",
        )
        for entry in last.values()
    ]


def who_of(entry: Entry) -> str:
    """The kubeconfig's user and whom it acted as, else who sits here."""
    user = entry.user or entry.local_user
    return f"{user} as {entry.acts_as}" if entry.acts_as else user


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
    """The audit file, which several processes may share: a line is appended whole or not at all.

    Who sits here is put into each line as it is written, so no key and no command can leave it out.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        largest_bytes: int = LARGEST_BYTES,
        keep_seconds: float | None = None,
        who: str | None = None,
    ) -> None:
        """`path` None is `audit.jsonl` in the state folder, `who` None is `local_user`."""
        self.path = path or state_folder(os.environ) / "audit.jsonl"
        self._file = LockedFile(self.path, largest_bytes)
        self._keep_seconds = KEEP_SECONDS if keep_seconds is None else keep_seconds
        self._who = local_user() if who is None else who

    def append(self, entry: Entry) -> None:
        """Write one line and wait until it is on the disk. Raises BadInput when that cannot be."""
        ours = {"local_user": self._who, "process": process_here()}
        texts: dict[str, Any] = {
            name: mask_text(value)[:LONGEST_TEXT]
            for name, value in (msgspec.structs.asdict(entry) | ours).items()
            if isinstance(value, str)
        }
        told = msgspec.structs.replace(entry, **texts, wanted=_kept(entry.wanted))
        until = entry.at_seconds - self._keep_seconds
        try:
            self._file.append(msgspec.json.encode(entry_tree(told)), is_old=lambda last: _is_old(last, until))
        except OSError as error:
            raise BadInput(
                f"the audit file {self.path} cannot be written ({error.strerror}):"
                " no change is made without an audit line; free disk space or set XDG_STATE_HOME"
            ) from None

    def keep(self, audit_id: str, manifest: Mapping[str, Any]) -> None:
        """Keep the manifest of what is about to be deleted. Raises BadInput when that cannot be."""
        keep_manifest(self.path.parent, audit_id, manifest)

    def stamp(self) -> Stamp:
        """Another one once the log has changed: inode, size and time of change of each of its files. Raises
        BadInput where they cannot be read."""
        try:
            return self._file.stamp()
        except OSError as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: OSError) -> BadInput:
        return BadInput(f"the audit file {self.path} cannot be read: {error.strerror}")

    def lines(self) -> Iterator[Entry | DamagedLine]:
        """Every line, oldest first, those of the older files included. Raises BadInput where it cannot be
        read."""
        try:
            segments = self._file.segments()
        except OSError as error:
            raise self._unreadable(error) from None
        for path, text in segments:
            yield from read_lines(str(path), text)

    def entries(self) -> Iterator[Entry]:
        """Every audit line, oldest first. Raises as `lines`; damaged ones are passed over."""
        return (it for it in self.lines() if isinstance(it, Entry))


def _kept(wanted: Any) -> Any:
    """What of a body is written down: nothing of one that holds a secret or is long."""
    if wanted is None:
        return None
    text = json.dumps(wanted, ensure_ascii=False)
    return wanted if len(text) <= LONGEST_WANTED and mask_text(text) == text else None


def _is_old(last: bytes, until_seconds: float) -> bool:
    """Whether a file with that last line is kept no more; one that cannot be read is."""
    try:
        return read_line(last).at_seconds < until_seconds
    except ValueError:
        return False
