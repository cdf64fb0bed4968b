"""`cockpit audit list` (also `show`) and `cockpit audit apply`."""

import argparse
import importlib
import shlex
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from cockpit.actions.shell import restore_line
from cockpit.actions.verbs.registry import is_repeatable
from cockpit.commands.output import grid, note, plain, put, tree_text
from cockpit.errors import BadInput, CockpitError
from cockpit.local_state.audit import LONGEST_TEXT, Audit, Entry
from cockpit.mask import has_mark


def show(options: argparse.Namespace) -> int:
    """The newest audit lines of this host, newest last."""
    if options.last < 1:
        raise BadInput(f"--last: {options.last} is too small: give 1 or more")
    entries = list(Audit().entries())[-options.last :]
    if options.output != "table":
        put([tree_text(plain(entries), options.output)])
        return 0
    rows = [_row(one) for one in entries]
    put(grid(["when", "id", "step", "verb", "target", "context", "user", "state", "sentence"], rows))
    return 0


def _row(entry: Entry) -> list[str]:
    when = datetime.fromtimestamp(entry.at_seconds, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    user = entry.user or entry.local_user
    if entry.acts_as:
        user = f"{user} as {entry.acts_as}"
    return [
        when,
        entry.audit_id,
        entry.step,
        entry.verb,
        entry.target,
        entry.context,
        user,
        entry.state,
        _sentence(entry),
    ]


def _sentence(entry: Entry) -> str:
    """What became of it, and how what it deleted can be created again."""
    kept = f" (kept: {restore_line(entry.audit_id, entry.context)})" if entry.is_kept else ""
    return f"{entry.sentence or entry.shell}{kept}"


def apply(options: argparse.Namespace) -> int:
    """Repeat the recorded actions that were done, in their order, on the cluster of `--context`.

    Only their command lines are taken: every plan is made anew on that cluster, shown, and asked for. It ends
    at the first that fails; the answer is the exit code.
    """
    if not getattr(options, "context", None):
        raise BadInput("no target cluster: give --context NAME")
    lines = recorded(options.file)
    # All are read before the first is done: a line that cannot be repeated is told while nothing has changed.
    actions = [_parsed(line, options) for line in lines]
    if not actions:
        put([f"{options.file}: it records no action that was carried out"])
        return 0
    for number, (line, action) in enumerate(zip(lines, actions, strict=True), 1):
        put([f"{number} of {len(actions)}: {line}"])
        try:
            code = _repeat(action)
        except CockpitError:
            note([f"{number - 1} of {len(actions)} repeated"])
            raise
        if code:
            return code
    return 0


def recorded(file: str) -> list[str]:
    """The command lines of the actions in an audit file that were done, each once, in the order of the file.

    Raises BadInput for a file that cannot be read, a line that is no audit line, and one that was not kept
    whole.
    """
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = msgspec.json.decode(line, type=Entry)
        except (msgspec.DecodeError, RecursionError) as error:
            raise BadInput(f"{file} line {number} is not a valid audit line: {error}") from None
        if entry.step == "outcome" and entry.state == "done" and entry.audit_id not in found:
            found[entry.audit_id] = _whole(entry, f"{file} line {number}")
    return list(found.values())


def _whole(entry: Entry, place: str) -> str:
    if has_mark(entry.shell):
        raise BadInput(
            f"{place}: {entry.verb} {entry.target} contained a secret, which is not recorded; run it yourself"
        )
    if not entry.shell or len(entry.shell) >= LONGEST_TEXT:
        raise BadInput(f"{place}: {entry.verb} {entry.target} was not recorded in full; run it yourself")
    return entry.shell


def _parsed(line: str, options: argparse.Namespace) -> argparse.Namespace:
    try:
        words = shlex.split(line)
        action: argparse.Namespace = options.parse(words[1:])
    except (ValueError, IndexError, SystemExit):
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
