"""`cockpit audit show`."""

import argparse
from datetime import UTC, datetime

from cockpit.commands.paper import grid, plain, put, tree_text
from cockpit.errors import BadInput
from cockpit.keep.audit import Audit, Entry


def show(options: argparse.Namespace) -> int:
    """The newest audit lines of this host, newest last."""
    if options.last < 1:
        raise BadInput(f"--last: {options.last} is too small, at least 1")
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
    return [
        when,
        entry.audit_id,
        entry.step,
        entry.verb,
        entry.target,
        entry.context,
        user,
        entry.state,
        entry.sentence or entry.shell,
    ]
