"""A form of one number with its live preview: what it would mean stands there before it is asked for."""

from abc import abstractmethod
from collections.abc import Iterable

from cockpit_widgets import Form, LogView
from cockpit_widgets.log_view import broken_lines
from cockpit_widgets.types import FieldSpec
from textual.widget import Widget

from cockpit.errors import BadInput, Unchanged
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.form_page import FormPage

MARGIN_CELLS = 4


class OneNumberScreen(FormPage):
    """What the form of a job's workers and that of a pool's machines share; leaves once it is done."""

    DEFAULT_CSS = """
    OneNumberScreen #fields { height: 4; padding: 1 1 0 1; }
    OneNumberScreen #preview { height: 1fr; padding: 0 1; }
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text
        self._drawn: tuple[str, ...] = ()

    @abstractmethod
    def field(self) -> FieldSpec:
        """The one field; its id is `to`."""

    @abstractmethod
    def plan(self) -> Plan:
        """The plan for `_text`. Raises BadInput with what is wrong with it."""

    @abstractmethod
    def carry(self) -> None:
        """Plan it from what is there by now, and show that for "yes"; `_done` hears what became of it."""

    def body(self) -> Iterable[Widget]:
        yield Form((self.field(),), id="fields")
        yield LogView(id="preview", follow=False)

    def on_mount(self) -> None:
        self.form.focus_first()

    def project(self) -> None:
        plan, problem = self._make()
        lines = [problem] if plan is None else [plan.title, "", *(f"  {item}" for item in plan.told)]
        if plan is not None:
            lines += [f"! {item}" for item in plan.warnings] + ["", "$ " + plan.shell]
        broken = broken_lines(lines, max(20, self.size.width - MARGIN_CELLS))
        if broken != self._drawn:
            self._drawn = broken
            self.query_one("#preview", LogView).replace(broken)

    def on_form_changed(self, event: Form.Changed) -> None:
        event.stop()
        self._text = event.values.get("to", "")
        self.project()

    def on_form_submitted(self, event: Form.Submitted) -> None:
        event.stop()
        self._text = event.values.get("to", "")
        self.action_submit()

    def _make(self) -> tuple[Plan | None, str]:
        try:
            return self.plan(), ""
        except Unchanged as error:
            return None, f"{error.sentence}: type another number"
        except BadInput as error:
            return None, error.sentence

    def action_submit(self) -> None:
        plan, problem = self._make()
        if plan is None:
            self.say_problem(problem)
            return
        self.carry()

    def _done(self, outcome: Outcome) -> None:
        if outcome.is_done:
            self._leave_form()

    def _leave_form(self) -> None:
        """Once, also where the person has left it meanwhile."""
        if self.app.screen is self:
            self.dismiss(None)
