"""Place 9: what was done from this host, and what takes it back."""

import asyncio
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar, Final

from textual.binding import BindingType

from cockpit.actions.offered import intended
from cockpit.errors import CockpitError
from cockpit.local_state.audit import actions_of
from cockpit.local_state.line_file import Stamp
from cockpit.model.audit_action import AuditAction
from cockpit.model.finding import Change
from cockpit.model.plan import Outcome
from cockpit.screens.keymap import EVERYWHERE, bindings
from cockpit.screens.read_place import ReadPlace
from cockpit.screens.text import TextScreen
from cockpit.screens.verb_keys import act
from cockpit.views import audit_page as view
from cockpit.views.lazy_table import LazyTable

MOST_ACTIONS: Final = 2_000


class AuditScreen(ReadPlace):
    """Actions of this host in every context; the newest first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("open", "undo", "filter", "sort", "back", "help", "reverse", *EVERYWHERE)
    ]
    place = "audit"
    noun = "actions"
    read_seconds = 5.0
    reading = "reading the audit log ..."
    said_column = "sentence"
    needs_cluster = False

    def __init__(self) -> None:
        super().__init__()
        self._actions: Sequence[AuditAction] = ()
        self._stamp: Stamp | None = None  # of what `_actions` were read from

    async def read(self) -> None:
        audit = self.cockpit.audit()
        stamp = await asyncio.to_thread(audit.stamp)
        if stamp != self._stamp:
            self._actions = await asyncio.to_thread(lambda: actions_of(audit.entries())[-MOST_ACTIONS:])
            self._stamp = stamp

    def read_rows(self) -> LazyTable[AuditAction]:
        return view.table(self._actions, self.state, self.cockpit.clock.now(), self.memory)

    def none_at_all(self) -> str:
        return "Nothing was changed from this host."

    def said(self, key: str) -> str:
        action = self._action(key)
        return "" if action is None else action.sentence or action.shell

    def _action(self, key: str | None) -> AuditAction | None:
        return next((action for action in self._actions if action.audit_id == key), None)

    def open_row(self, key: str) -> None:
        """Enter shows all that the log has of the action."""
        if (action := self._action(key)) is not None:
            self.app.push_screen(ActionScreen(action))

    def action_undo(self) -> None:
        """The plan of what takes it back, in the cluster where it was done."""
        action = self._action(self.table.cursor_key)
        if action is None or not action.undo:
            self.say("no action under the cursor that a command takes back")
        elif action.context != self.cockpit.context:
            self.say(f"it was done in context {action.context}: switch to it with ctrl+x first")
        else:
            self._plan_undo(action.undo)

    def _plan_undo(self, undo: str) -> None:
        words = [word for word in shlex.split(undo) if word != "--write"]
        if "--context" in words:
            at = words.index("--context")
            del words[at : at + 2]
        offer = Change(kind="undo", words=undo, verb=".".join(words[1:3]), command=tuple(words))
        try:
            intent = intended(offer, self.cockpit.planner()())
        except CockpitError as error:
            self.say(error.sentence)
            return
        act(self.app, intent.verb, intent.things, intent.options, say=self.say, then=self.acted)

    def acted(self, outcome: Outcome) -> None:
        super().acted(outcome)
        self.read_now()


class ActionScreen(TextScreen):
    """One action of the audit log, whole."""

    def __init__(self, action: AuditAction) -> None:
        super().__init__()
        self._action = action

    @property
    def heading(self) -> str:
        return f"{self._action.verb} {self._action.target}"

    def on_mount(self) -> None:
        when = datetime.fromtimestamp(self._action.at_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        self.tell(view.action_lines(self._action, when))
