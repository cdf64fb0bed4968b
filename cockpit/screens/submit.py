"""`N`: a form made from a template's parameters; beside it, while one types, what the server would say."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from cockpit_widgets import ChoiceDialog, Form, LogView
from cockpit_widgets.types import FieldSpec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.worker import WorkType

from cockpit.errors import BadInput, NoConnection
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.template import Library, Template, load_library
from cockpit.model.plan import Outcome, Plan
from cockpit.model.record import Kind
from cockpit.screens.keymap import bindings
from cockpit.screens.place import Place
from cockpit.screens.preview import preview_lines, preview_tone

if TYPE_CHECKING:
    from cockpit.actions.surroundings import Needs

NARROW_CELLS = 100
QUIET_SECONDS = 0.4
"""The server is asked for its dry run only after the typing paused this long."""
MANY_NODES = 500
"""On more nodes the fit waits for that pause too: it would be felt at every key."""


class SubmitScreen(Place):
    """New job: pick a template, fill the form, submit."""

    DEFAULT_CSS = """
    SubmitScreen #sides { height: 1fr; }
    SubmitScreen #form { width: 1fr; min-width: 40; }
    SubmitScreen #preview { width: 1fr; border-left: solid $surface-lighten-2; padding-left: 1; }
    SubmitScreen.narrow #preview { display: none; }
    SubmitScreen.narrow.previewing #preview { display: block; border-left: none; }
    SubmitScreen.narrow.previewing #form { display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("form.submit", "form.preview", "form.template", "back", "help"),
    ]

    def __init__(self, template: str = "mpijob", values: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._template_name = template
        self._values = dict(values or {})
        self._verdict = ""
        self._plan: Plan | None = None
        self._fault = ""
        self._fit: list[str] = []
        self._around: tuple[Needs | None, Surroundings] = (None, UNKNOWN)
        self._has_tried = False

    @cached_property
    def library(self) -> Library:
        """Read once a form: parsing the files takes longer than a key may."""
        return load_library(self.deck.template_folders)

    @property
    def template(self) -> Template:
        return self.library.named(self._template_name)

    @property
    def heading(self) -> str:
        return f"new {self._template_name}"

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="sides"):
            with Vertical(id="form"):
                yield Form(self.fields(), id="fields")
            yield LogView(id="preview", follow=False, tone_of=preview_tone)

    def compose(self) -> ComposeResult:
        yield from super().compose()

    def fields(self) -> tuple[FieldSpec, ...]:
        """The template's parameters as form fields, choices filled from what the store knows."""
        return tuple(self._field(one) for one in self.template.parameters)

    def _field(self, one: Parameter) -> FieldSpec:
        value = self._values.get(one.name, one.default or "")
        choices = one.choices or self.deck.choices(one.choices_from)
        if one.name == "namespace" and one.name not in self._values:
            value = self.deck.attachment.options.namespace or self.deck.default_namespace or value
        kind = {"integer": "integer", "switch": "switch"}.get(one.type, "choice" if choices else "text")
        if kind == "choice" and one.type != "choice" and value and value not in choices:
            choices = (value, *choices)
        if kind == "choice" and not one.is_required and "" not in choices:
            choices = ("", *choices)
        return FieldSpec(
            one.name,
            one.title or one.name,
            kind,  # type: ignore[arg-type] # the mapping above yields only FieldSpec kinds
            value,
            one.help,
            one.unit,
            one.minimum_integer,
            one.maximum_integer,
            choices,
            one.is_required,
        )

    # ---- live preview

    def on_mount(self) -> None:
        super().on_mount()
        self._fold()
        self.query_one("#fields", Form).focus_first()
        self._recompute()

    def on_resize(self) -> None:
        self._fold()
        self.call_after_refresh(self._draw)

    def _fold(self) -> None:
        self.set_class(self.is_narrow, "narrow")
        self.refresh_bindings()

    @property
    def is_narrow(self) -> bool:
        """Too narrow for form and preview side by side."""
        return self.size.width < NARROW_CELLS

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The preview is a key only where it does not stand beside the form."""
        if action == "preview" and not self.is_narrow:
            return False
        return super().check_action(action, parameters)

    def on_form_changed(self, event: Form.Changed) -> None:
        event.stop()
        self._values = dict(event.values)
        self._recompute()

    def _recompute(self) -> None:
        self._plan, self._fault = self._make()
        self._verdict = ""
        if len(self.deck.attachment.store.records(Kind.NODE)) <= MANY_NODES:
            self._weigh()
        else:
            self._fit = ["looking where it fits ..."]
        self._draw()
        if self._plan is not None and self.deck.attachment.session is not None:
            # the function, not its coroutine: one that is superseded before it began was never made
            work: WorkType[None] = self._ask
            self.run_worker(work, name="dry run", group="dry run", exclusive=True)

    def _make(self) -> tuple[Plan | None, str]:
        from cockpit.actions.submit import plan_submit

        attachment = self.deck.attachment
        try:
            return plan_submit(
                self.template,
                self._values,
                self.deck.default_namespace,
                store=attachment.store,
                lookup=self.deck.lookup,
                context=self.deck.context,
            ), ""
        except BadInput as error:
            return None, error.sentence

    async def _ask(self) -> None:
        from cockpit.actions.perform import rehearse

        plan = self._plan
        await asyncio.sleep(QUIET_SECONDS)
        session = self.deck.attachment.session
        if session is None or plan is None:
            return
        await self._look_around(plan)
        self._draw()
        outcome = await rehearse(plan, session)
        if self._plan is plan:
            self._verdict = outcome.sentence if outcome.is_done else f"refused: {outcome.sentence}"
            self._draw()

    async def _look_around(self, plan: Plan) -> None:
        """Claims, budgets and the like are asked for once for what the gang needs; then the fit is told."""
        from cockpit.actions.surroundings import Needs, ask_surroundings, needs_of
        from cockpit.jobs.planned import planned_gang

        needs = needs_of(planned_gang(plan.calls[0].body, self.deck.default_namespace))
        if needs not in (self._around[0], Needs()):
            try:
                self._around = (needs, await ask_surroundings(self.deck.attachment.session, needs))
            except NoConnection:
                self._around = (None, UNKNOWN)
        if self._plan is plan:
            self._weigh()

    def _weigh(self) -> None:
        """Where the gang would go now, as lines."""
        from cockpit.views.fit import fit_report

        store, namespace = self.deck.attachment.store, self.deck.default_namespace
        self._fit = (
            fit_report(self._plan.calls[0].body, store, self._around[1], namespace) if self._plan else []
        )

    def _draw(self) -> None:
        """The preview, and at the foot what is missing: where no preview says it, or after a try."""
        if self.is_going:  # the dry run may be answered after the form was left
            return
        preview = self.query_one("#preview", LogView)
        room = preview.line_width or self.size.width - 4
        preview.replace(preview_lines(self._plan, self._fault, self._verdict, self._fit, room))
        self.say_problem(self._fault if self.is_narrow or self._has_tried else "")

    # ---- keys

    def action_preview(self) -> None:
        self.toggle_class("previewing")

    def action_template(self) -> None:
        self.run_worker(self._pick_template(), name="template", group="dialogs")

    async def _pick_template(self) -> None:
        chosen = await self.app.push_screen_wait(
            ChoiceDialog("Template", tuple(sorted(self.library.templates)))
        )
        if chosen and chosen != self._template_name:
            self.app.switch_screen(SubmitScreen(chosen, self._values))

    def on_form_submitted(self, event: Form.Submitted) -> None:
        event.stop()
        self._values = dict(event.values)
        self.action_submit()

    def action_submit(self) -> None:
        plan, problem = self._make()
        self._has_tried = True
        if plan is None:
            self.say_problem(problem)
            return
        self.deck.confirm_and_carry(plan, then=self._submitted)

    def _submitted(self, outcome: Outcome) -> None:
        if not outcome.is_done or self._plan is None or self.app.screen is not self:
            return
        body = self._plan.calls[0].body
        metadata = body["metadata"]
        group = str(body["apiVersion"]).split("/")[0] if "/" in str(body["apiVersion"]) else ""
        kind = str(body["kind"]).lower() + (f".{group}" if group else "")
        from cockpit.screens.job import JobScreen

        self.app.switch_screen(JobScreen(f"{kind}/{metadata['namespace']}/{metadata['name']}"))

    def action_back(self) -> None:
        if self.has_class("previewing"):
            self.remove_class("previewing")
        else:
            self.dismiss(None)
