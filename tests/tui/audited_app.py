"""The scripted estate on a host from which a few things were changed."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cockpit.local_state.audit import Audit
from tests.tui.deck import ScriptedApp
from tests.tui.estate import NOW, Estate

DONE = (
    ("scale", "pool a100", 5_400, "done", "cockpit pool scale a100 --to 12 --write"),
    ("kill", "job team-a/sweep-07", 3_000, "done", ""),
    ("stop", "queue research", 1_260, "refused", ""),
    ("cordon", "node h100-03", 240, "done", "cockpit node uncordon h100-03 --write"),
)
"""Verb, target, seconds ago, state, the command that takes it back."""


class AuditedApp(ScriptedApp):
    """Its audit log has four actions, of which the server refused one."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self._kept = TemporaryDirectory()
        steps = [
            {
                "audit_id": f"{number:012x}", "step": step, "at_seconds": NOW - ago, "verb": verb,
                "target": target, "context": "prod-eu", "user": "ann", "undo": undo,
                "state": state if step == "outcome" else "",
                "sentence": "you may not patch clusterqueues" if state == "refused" else "",
            }
            for number, (verb, target, ago, state, undo) in enumerate(DONE)
            for step in ("intent", "outcome")
        ]  # fmt: skip
        path = Path(self._kept.name) / "audit.jsonl"
        path.write_text("".join(f"{json.dumps(step)}\n" for step in steps), encoding="utf-8")
        path.chmod(0o600)

    def audit(self) -> Audit:
        return Audit(Path(self._kept.name) / "audit.jsonl", keep_seconds=365 * 86_400)
