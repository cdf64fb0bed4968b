"""`Z`: how many workers an elastic job shall have, with what that means, before it is asked for."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from cockpit_widgets import Form, LogView
from cockpit_widgets.types import FieldSpec
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.errors import BadInput
from cockpit.model.job import Job
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.acting import act
from cockpit.screens.keymap import bindings
from cockpit.screens.place import Place

LARGEST = 4096


class ResizeScreen(Place):
    """A form of one number and its live preview; `tree` is the job's object as it was read."""

    DEFAULT_CSS = """
    ResizeScreen #fields { height: 4; padding: 1 1 0 1; }
    ResizeScreen #preview { height: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("form.submit", "back", "help")]

    def __init__(self, job: Job, tree: Mapping[str, Any], now: int) -> None:
        super().__init__()
        self._job = job
        self._tree = tree
        self._now = now
        self._text = str(now)
        self._drawn: list[str] = []

    @property
    def heading(self) -> str:
        return f"resize {self._job.namespace}/{self._job.name}"

    def body(self) -> Iterable[Widget]:
        name = f"Workers of {self._job.name}"
        help_ = f"asked for now: {self._now}"
        yield Form((FieldSpec("to", name, "integer", self._text, help_, "pods", 1, LARGEST),), id="fields")
        yield LogView(id="preview", follow=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#fields", Form).focus_first()

    def project(self) -> None:
        plan, problem = self._make()
        lines = [problem] if plan is None else [plan.title, "", *(f"  {one}" for one in plan.lines)]
        if plan is not None:
            lines += [f"! {one}" for one in plan.warnings] + ["", "$ " + plan.shell]
        if lines != self._drawn:
            self._drawn = lines
            self.query_one("#preview", LogView).replace(lines)

    def on_form_changed(self, event: Form.Changed) -> None:
        event.stop()
        self._text = event.values.get("to", "")
        self.project()

    def on_form_submitted(self, event: Form.Submitted) -> None:
        event.stop()
        self._text = event.values.get("to", "")
        self.action_submit()

    def _workers(self) -> int:
        text = self._text.strip()
        if not text.isascii() or not text.isdigit() or len(text) > 6:
            raise BadInput(f"{text!r} is not a whole number of workers")
        return int(text)

    def _make(self) -> tuple[Plan | None, str]:
        from cockpit.actions.job_size import plan_resize

        try:
            plan = plan_resize(
                self._job, self._tree, self._workers(), lookup=self.deck.lookup, context=self.deck.context
            )
        except BadInput as error:
            return None, error.sentence
        return plan, ""

    def action_submit(self) -> None:
        from cockpit.actions import ground

        plan, problem = self._make()
        if plan is None:
            self.say_problem(problem)
            return
        # Made anew from the object as it is then: the one that was read for the preview grows old.
        make = partial(ground.scale, workers=self._workers())
        work = act(self.deck, "scale", (self._job,), make, say=self.say_problem, then=self._resized)
        self.deck.run_soon(work, "resize")

    def _resized(self, outcome: Outcome) -> None:
        if outcome.is_done:
            self.dismiss(None)

    def action_back(self) -> None:
        self.dismiss(None)
