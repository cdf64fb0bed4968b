"""`cockpit audit list` (also `show`) and `cockpit audit apply`."""

import argparse
import importlib
import shlex
from collections.abc import Sequence
from contextlib import redirect_stderr
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Final, Literal, NamedTuple

from cockpit.actions.shell import restore_line
from cockpit.actions.verbs.registry import is_repeatable
from cockpit.commands.document import OutputDocument, document_lines
from cockpit.commands.output import grid, note, plain, put
from cockpit.errors import BadInput, CockpitError
from cockpit.local_state.audit import LONGEST_TEXT, Audit, DamagedLine, Entry, entry_tree, read_lines, who_of
from cockpit.mask import has_mark

_MOST_TOLD: Final = 20
_OTHERS: Final = ("kubectl",)
"""Programs whose command lines stand in for a shell or a port of a pod."""


class AuditDocument(OutputDocument, kw_only=True):
    """`cockpit audit list`: lines of the audit log, newest last; fields without a value are left out."""

    kind: Literal["audit"]
    items: list[Entry]


def show(options: argparse.Namespace) -> int:
    """The newest audit lines of this host, newest last."""
    if options.last < 1:
        raise BadInput(f"--last: {options.last} is too small: give 1 or more")
    lines = list(Audit().lines())
    _tell_damaged([it for it in lines if isinstance(it, DamagedLine)])
    entries = [it for it in lines if isinstance(it, Entry)][-options.last :]
    if options.output != "table":
        tree = {"kind": "audit", "items": [plain(entry_tree(entry)) for entry in entries]}
        put(document_lines(AuditDocument, tree, options.output))
        return 0
    rows = [_row(entry) for entry in entries]
    put(grid(["when", "id", "step", "verb", "target", "context", "user", "state", "sentence"], rows))
    return 0


def _tell_damaged(damaged: Sequence[DamagedLine]) -> None:
    note(it.sentence for it in damaged[:_MOST_TOLD])
    if len(damaged) > _MOST_TOLD:
        note([f"and {len(damaged) - _MOST_TOLD} more damaged lines"])


def _row(entry: Entry) -> list[str]:
    when = datetime.fromtimestamp(entry.at_seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    return [
        when,
        entry.audit_id,
        entry.step,
        entry.verb,
        entry.target,
        entry.context,
        who_of(entry),
        entry.state,
        _sentence(entry),
    ]


def _sentence(entry: Entry) -> str:
    """Its outcome, how to create again what it deleted, and how to undo it."""
    kept = f" (kept: {restore_line(entry.audit_id, entry.context)})" if entry.is_kept else ""
    undo = f" (undo: {entry.undo})" if entry.undo and entry.state == "done" else ""
    return f"{entry.sentence or entry.shell}{kept}{undo}"


def apply(options: argparse.Namespace) -> int:
    """Repeat the recorded actions that were done, in their order, on the cluster of `--context`.

    Only their command lines are taken: each action is planned again on that cluster and confirmed. What
    cannot be repeated by name is left out and told before the first is done. It ends at the first that fails;
    the answer is the exit code.
    """
    if not getattr(options, "context", None):
        raise BadInput("no target cluster: give --context NAME")
    found = recorded(options.file)
    # All are read before the first is done: what is left out is told while nothing has changed.
    actions: list[tuple[str, argparse.Namespace]] = []
    left_out = list(found.left_out)
    for line in found.lines:
        try:
            actions.append((line.shell, _parsed(line.shell, options)))
        except BadInput as error:
            left_out.append(LeftOut(line.place, error.sentence))
    note(f"left out: {sentence}" for sentence in _left_out(left_out))
    if not actions:
        put([f"{options.file}: it records no action that can be repeated"])
        return 0
    for number, (shell, action) in enumerate(actions, 1):
        put([f"{number} of {len(actions)}: {shell}"])
        try:
            code = _repeat(action)
        except CockpitError:
            note([f"{number - 1} of {len(actions)} repeated"])
            raise
        if code:
            return code
    return 0


class RecordedLine(NamedTuple):
    """The command line of an action that was done, and where it stands: `audit.jsonl line 3`."""

    place: str
    shell: str


class LeftOut(NamedTuple):
    """What is not repeated: where it stands, and why."""

    place: str
    why: str


class Recorded(NamedTuple):
    """What an audit file holds: each action that was done once, in the order of the file."""

    lines: tuple[RecordedLine, ...]
    left_out: tuple[LeftOut, ...]


def recorded(file: str) -> Recorded:
    """The actions in an audit file that were done. Raises BadInput for a file that cannot be read or holds no
    audit line at all."""
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    found: dict[str, RecordedLine] = {}
    left_out: list[LeftOut] = []
    seen = set[str]()
    damaged = [it for it in read_lines(file, text) if isinstance(it, DamagedLine)]
    numbers = [number for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    for number, it in zip(numbers, read_lines(file, text), strict=True):
        place = f"{file} line {number}"
        if isinstance(it, DamagedLine):
            left_out.append(LeftOut(place, f"it is not a valid audit line: {it.why}"))
        elif it.step == "outcome" and it.state == "done" and it.audit_id not in seen:
            seen.add(it.audit_id)
            why = _why_not(it)
            if why:
                left_out.append(LeftOut(place, why))
            else:
                found[it.audit_id] = RecordedLine(place, it.shell)
    if damaged and len(damaged) == len(numbers):
        raise BadInput(f"{file} line {damaged[0].number} is not a valid audit line: {damaged[0].why}")
    return Recorded(tuple(found.values()), tuple(left_out))


def _why_not(entry: Entry) -> str:
    """Why its command line cannot be repeated, "" where it can."""
    what = f"{entry.verb} {entry.target}"
    if has_mark(entry.shell):
        return f"{what} contained a secret, which is not recorded; run it yourself"
    if not entry.shell:
        return f"{entry.verb}: a step of another action, without its own command line"
    if len(entry.shell) >= LONGEST_TEXT:
        return f"{what} was not recorded in full; run it yourself"
    return ""


def _left_out(left_out: Sequence[LeftOut]) -> list[str]:
    """A sentence for each reason, with the places that it stands for."""
    places: dict[str, list[str]] = {}
    for it in left_out:
        places.setdefault(it.why, []).append(it.place)
    return [
        f"{them[0]}{f' and {len(them) - 1} more' if len(them) > 1 else ''}: {why}"
        for why, them in places.items()
    ]


def _parsed(line: str, options: argparse.Namespace) -> argparse.Namespace:
    try:
        words = shlex.split(line)
    except ValueError:
        words = []
    if not words:
        raise BadInput(f"{line!r} is not a command of this version")
    if words[0] in _OTHERS:
        raise BadInput(f"{line!r} is run by {words[0]}: it names pods that another cluster does not have")
    try:
        with redirect_stderr(StringIO()):  # argparse writes its usage there
            action: argparse.Namespace = options.parse(words[1:])
    except (CockpitError, SystemExit):
        raise BadInput(f"{line!r} is not a command of this version") from None
    if words[0] != "cockpit" or not is_repeatable(getattr(action, "verb", "")):
        raise BadInput(f"{line!r} does not change the cluster: it cannot be repeated")
    action.context = options.context
    for name in ("kubeconfig", "write"):
        if hasattr(options, name):
            setattr(action, name, getattr(options, name))
        elif hasattr(action, name):
            delattr(action, name)  # what the line says was said of another cluster
    action.yes, action.dry_run, action.timeout = options.yes, options.dry_run, options.timeout
    return action


def _repeat(action: argparse.Namespace) -> int:
    module, _, function = action.command.partition(":")
    run = getattr(importlib.import_module(f"cockpit.commands.{module}"), function)
    return int(run(action))
