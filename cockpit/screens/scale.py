"""`S`: how many machines the pool shall have, with what that means, before it is asked for."""

from collections.abc import Iterable
from typing import ClassVar

from cockpit_widgets import Form, LogView
from cockpit_widgets.types import FieldSpec
from textual.binding import BindingType
from textual.widget import Widget

from cockpit.errors import BadInput
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.keymap import bindings
from cockpit.screens.place import Place


class ScaleScreen(Place):
    """A form of one number and its live preview."""

    DEFAULT_CSS = """
    ScaleScreen #fields { height: 4; padding: 1 1 0 1; }
    ScaleScreen #preview { height: 1fr; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("form.submit", "back", "help")]

    def __init__(self, pool: str) -> None:
        super().__init__()
        self._pool_name = pool
        self._text = ""
        self._drawn: list[str] = []

    @property
    def heading(self) -> str:
        return f"scale pool {self._pool_name}"

    def body(self) -> Iterable[Widget]:
        from cockpit.pools.index import pool_named

        pool = pool_named(self.deck.attachment.store, self._pool_name)
        self._text = str(pool.target if pool.target is not None else pool.nodes_now)
        yield Form(
            (
                FieldSpec(
                    "to",
                    f"Machines of {pool.name}",
                    "integer",
                    self._text,
                    f"now {pool.nodes_now}, asked for {self._text}",
                    "nodes",
                    0,
                    pool.maximum,
                ),
            ),
            id="fields",
        )
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

    def _make(self) -> tuple[Plan | None, str]:
        from cockpit.actions.scale import plan_pool_scale, read_replicas
        from cockpit.pools.index import pool_named

        store = self.deck.attachment.store
        try:
            pool = pool_named(store, self._pool_name)
            return plan_pool_scale(
                pool, read_replicas(self._text, pool), store, context=self.deck.context
            ), ""
        except BadInput as error:
            return None, error.sentence

    def action_submit(self) -> None:
        plan, problem = self._make()
        if plan is None:
            self.say_problem(problem)
            return
        self.deck.confirm_and_carry(plan, then=self._scaled)

    def _scaled(self, outcome: Outcome) -> None:
        if outcome.is_done:
            self.dismiss(None)

    def action_back(self) -> None:
        self.dismiss(None)
