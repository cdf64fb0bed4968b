"""`N`: a form made from a template's parameters; beside it, while one types, what the server would say."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import ClassVar

import msgspec
from cockpit_widgets import ChoiceDialog, Form, LogView
from cockpit_widgets.form_fields import ChoiceField, SwitchField
from cockpit_widgets.panel import Panel
from cockpit_widgets.types import ChoiceItem, FieldSpec
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.worker import WorkType

from cockpit.actions.submit import plan_submit
from cockpit.errors import BadInput, CockpitError
from cockpit.gangs import registry
from cockpit.gangs.form_choice import engine_word
from cockpit.jobs.parameter_groups import sections, summary
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.render import faults
from cockpit.jobs.template import Library, Template, load_library
from cockpit.mask import FormMask
from cockpit.model.plan import Outcome, Plan
from cockpit.model.record import Kind
from cockpit.screens.form_choices import AFTER, ENGINE, FormChoices, offered_help, offered_values
from cockpit.screens.form_outlook import FormOutlook
from cockpit.screens.keeping_form import KeepingForm
from cockpit.screens.keymap import at_once, bindings
from cockpit.screens.preview import preview_lines
from cockpit.screens.submit_file import SubmitFileScreen
from cockpit.screens.verb_keys import act_on_plan

NARROW_CELLS = 100
QUIET_SECONDS = 0.4
"""The server is asked for its dry run only after the typing paused this long."""
MANY_NODES = 500
"""On more nodes the fit waits for that pause too: it would be felt at every key."""


A_FILE = "a file of manifests ..."


class SubmitScreen(KeepingForm):
    """New job: pick a template, fill the form, submit."""

    DEFAULT_CSS = """
    SubmitScreen #sides { height: 1fr; }
    SubmitScreen #form { width: 1fr; min-width: 40; height: 1fr; }
    SubmitScreen #beside { width: 1fr; height: 1fr; }
    SubmitScreen #preview { padding: 0 1; }
    SubmitScreen.narrow #sides { layers: form preview; }
    SubmitScreen.narrow #form { layer: form; }
    SubmitScreen.narrow #beside { layer: preview; display: none; }
    SubmitScreen.narrow.previewing #beside { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("form.submit"),
        *(replace(binding, description="field") for binding in at_once("search")),
        *at_once("back", "form.preview", "form.template", "form.presets", "form.help"),
        *(replace(binding, show=False) for binding in bindings("filter")),
    ]

    def __init__(
        self, template: str = "mpijob", values: Mapping[str, str] | None = None, *, brings_input: bool = False
    ) -> None:
        """`brings_input` says that a person typed the `values`."""
        super().__init__()
        self._template_name = template
        self._values = dict(values or {})
        self._brought = dict(values or {}) if brings_input else {}
        self.brings_input = brings_input
        self._verdict: Outcome | None = None
        self._plan: Plan | None = None
        self._weighed: Plan | None = None  # with what it does to others, once that is computed
        self._fault = ""
        self._fit: list[str] = []
        self._has_tried = False
        self._asked_for = ""  # the namespace whose choices the form shows
        self._mask = FormMask()

    @cached_property
    def library(self) -> Library:
        """Read once a form: parsing the files takes longer than a key may."""
        return load_library(self.cockpit.template_folders)

    @property
    def template(self) -> Template:
        return self.library.named(self._template_name)

    @property
    def heading(self) -> str:
        return f"new {self._template_name}"

    @property
    def title_of_form(self) -> str:
        """What the form makes, for a person who does not know the template's name."""
        return f"New job: {self.template.title}"

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="sides"):
            fields = Form(self.fields(), summary=self._summary, check=self._faults, id="fields")
            yield Panel(fields, id="form")
            yield Panel(LogView(id="preview", follow=False), id="beside")

    # ---- fields

    def _summary(self, title: str, shown: Mapping[str, str]) -> str:
        return summary(self.template.parameters, title, shown)

    def _faults(self, shown: Mapping[str, str]) -> Mapping[str, str]:
        """What a command would refuse, by field."""
        typed = self._typed(shown)
        known = {name: text for name, text in typed.items() if self.template.parameter(name) is not None}
        return faults(self.template, known)

    @cached_property
    def _sections(self) -> Mapping[str, str]:
        """Title of the section of each parameter."""
        return sections(self.template.parameters)

    @cached_property
    def outlook(self) -> FormOutlook:
        """What becomes of the job."""
        return FormOutlook(self.cockpit)

    @cached_property
    def offered(self) -> FormChoices:
        """What the cluster offers for this form."""
        return FormChoices(self.cockpit, self.template)

    @property
    def has_engine(self) -> bool:
        """True where the form asks for an engine; a clone has that of the job."""
        return self.template.parameter("engine") is None

    def fields(self) -> tuple[FieldSpec, ...]:
        """The template's parameters as form fields, the engine among them, choices as far as known."""
        self.offered.namespace = self._asked_for = self._namespace()
        if self.has_engine:
            self._values.update(self.offered.follow(self._values))
        found = [self._field(parameter) for parameter in self.template.parameters]
        if self.has_engine:
            names = [parameter.name for parameter in self.template.parameters]
            at = next((names.index(name) + 1 for name in AFTER if name in names), len(found))
            found.insert(at, self._engine_field())
        return tuple(found)

    def _engine_field(self) -> FieldSpec:
        spec = self.offered.engine_field(self._values.get(ENGINE, ""))
        return replace(spec, group=self._sections.get("queue", "") or self._sections.get("name", ""))

    def _namespace(self) -> str:
        """Where the object would go, as the form stands."""
        one = self.template.parameter("namespace")
        given = self._values.get("namespace", "").strip()
        if not given and one is not None and one.name not in self._values:
            given = self.cockpit.default_namespace or one.default or ""
        return given or self.cockpit.default_namespace

    def _field(self, one: Parameter) -> FieldSpec:
        value = self._values.get(one.name, one.default or "")
        offer = self.offered.offer(one, self._values.get(ENGINE, ""))
        choices = one.choices or offered_values(one, offer)
        if one.name == "namespace" and one.name not in self._values:
            value = self.cockpit.default_namespace or value
        is_choice = bool(choices) and one.type != "claims"
        kind = {"integer": "integer", "switch": "switch"}.get(one.type, "choice" if is_choice else "text")
        if kind == "choice" and one.type != "choice" and value and value not in choices:
            choices = (value, *choices)
        if kind == "choice" and not one.is_required and "" not in choices:
            choices = ("", *choices)
        return FieldSpec(
            one.name,
            one.title or one.name,
            kind,  # type: ignore[arg-type] # the mapping above yields only FieldSpec kinds
            self._mask.value(one.name, value) if kind == "text" else value,
            offered_help(one, offer),
            one.unit,
            one.minimum_integer,
            one.maximum_integer,
            choices,
            one.is_required,
            self._sections.get(one.name, ""),
        )

    def _typed(self, shown: Mapping[str, str]) -> dict[str, str]:
        """What the fields mean: a mark that is left in one stands for the secret that it hides."""
        return {name: self._mask.restored(text) for name, text in shown.items()}

    async def _learn(self) -> None:
        """Fields for the namespace from the tables at once, then from what the server is asked."""
        await self._renew_fields()
        if await self.offered.ask(self._asked_for):
            await self._renew_fields()

    async def _renew_fields(self) -> None:
        for _ in range(2):  # another engine has other queues to choose from
            if self.is_going:
                return
            await self._renew_choices()
            if not self._follow():
                break
        self._recompute()

    async def _renew_choices(self) -> None:
        form = self.query_one("#fields", Form)
        for parameter in self.template.parameters:
            if parameter.choices_from:
                await form.change_field(self._field(parameter))
        if self.has_engine:
            await form.change_field(self._engine_field())

    def _follow(self) -> bool:
        """Put into engine and queue what follows from the cluster and what was typed; True where it changed.

        Nothing is awaited between looking and writing: what is typed in between, or a look that is given up
        for a newer one, would leave the form with half of it, as if a person had chosen so.
        """
        form = self.query_one("#fields", Form)
        self._values = self._typed(form.values)
        changes = self.offered.follow(self._values) if self.has_engine else {}
        self._values.update(changes)
        for name, text in changes.items():  # each comes back as a change of its own
            form.set_value(name, text)
        return bool(changes)

    def on_mount(self) -> None:
        self._fold()
        self.form.focus_first()
        self._recompute()
        self._ask_cluster()

    def _ask_cluster(self) -> None:
        work: WorkType[None] = self._learn
        self.run_worker(work, name="offers", group="offers", exclusive=True)

    def on_resize(self) -> None:
        self._fold()
        self.call_after_refresh(self._draw)

    def _fold(self) -> None:
        self.set_class(self.is_narrow, "narrow")
        if not self.is_narrow and self.has_class("previewing"):
            self.remove_class("previewing")  # it stands beside the form now
            self._focus_what_is_shown()
        self.refresh_bindings()

    @property
    def is_narrow(self) -> bool:
        """Too narrow for form and preview side by side."""
        return self.size.width < NARROW_CELLS

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The preview is a key only where it does not stand beside the form, `/` where no text is typed."""
        if action == "presets" and not self.keeps_values:
            return False
        if action == "filter":
            return isinstance(self.focused, ChoiceField | SwitchField)
        if action == "preview" and not self.is_narrow:
            return False
        return super().check_action(action, parameters)

    def on_form_changed(self, event: Form.Changed) -> None:
        event.stop()
        self._values = self._typed(event.form.values)  # more may have been typed since the event was sent
        if (where := self._namespace()) != self._asked_for:
            self.offered.namespace = self._asked_for = where
            self._ask_cluster()
        elif self._follow():
            self._ask_cluster()
        self._recompute()

    def _recompute(self) -> None:
        self._plan, self._fault = self._make()
        self._verdict = self._weighed = None
        if len(self.cockpit.cluster.store.records(Kind.NODE)) <= MANY_NODES:
            self._weigh()
        else:
            self._fit = ["checking placement ..."]
        self._draw()
        if self._plan is not None and self.cockpit.cluster.is_connected:
            # the function, not its coroutine: one that is superseded before it began was never made
            work: WorkType[None] = self._ask
            self.run_worker(work, name="dry run", group="dry run", exclusive=True)

    def _make(self) -> tuple[Plan | None, str]:
        cluster = self.cockpit.cluster
        engine, given = self._chosen()
        try:
            return plan_submit(
                self.template,
                given,
                self.cockpit.default_namespace,
                store=cluster.store,
                lookup=self.cockpit.cluster.lookup,
                context=self.cockpit.context,
                engine=engine,
                findings=self.offered.findings(given, engine),
            ), ""
        except BadInput as error:
            return None, "\n".join(error.sentences)

    def _chosen(self) -> tuple[str, dict[str, str]]:
        """The engine as a command names it, and the values of the template's own parameters."""
        given = dict(self._values)
        if not self.has_engine:
            return "", given
        engine = given.pop(ENGINE, "")
        if registry.engine_with_own(self.template.api_version, self.template.kind) is not None:
            return "", given
        return engine_word(engine, given, self.offered.detected())

    async def _ask(self) -> None:
        plan = self._plan
        await asyncio.sleep(QUIET_SECONDS)
        if plan is None or not self.cockpit.cluster.is_connected:
            return
        await self.outlook.ask(plan)
        if self._plan is plan:
            self._weigh()
        await self._look_up_names(plan)
        self._draw()
        outcome = await self.cockpit.api.rehearse(plan)
        if self._plan is plan:
            self._verdict = outcome
            self._draw()
        weighed = await self.outlook.weigh(plan)
        if self._plan is plan:
            self._weighed = weighed
            self._weigh(with_changes=True)
            self._draw()

    async def _look_up_names(self, plan: Plan) -> None:
        """Show an absent queue or priority class at its field."""
        try:
            found = await self.cockpit.api.absent_names(plan, self._namespace())
        except CockpitError:
            return  # the dry run shows it
        if self._plan is plan and not self.is_going:
            self.form.set_errors(found)

    def _weigh(self, *, with_changes: bool = False) -> None:
        """Whether it would start and what holds it, as lines."""
        if self._plan is None:
            self._fit = []
            return
        found = self._fits(self._plan, with_changes=with_changes)
        self._fit = [*found, *(f"! {line}" for line in self._conflicts(self._plan))]

    def _fits(self, plan: Plan, *, with_changes: bool) -> list[str]:
        return self.outlook.lines(plan, with_changes=with_changes)

    def _conflicts(self, plan: Plan) -> tuple[str, ...]:
        around = self.outlook.view().around
        return self.offered.conflicts(plan, around, self.cockpit.default_namespace)

    def _draw(self) -> None:
        """The preview, and at the foot what is missing: where no preview says it, or after a try."""
        if self.is_going:
            return  # the dry run may be answered after the form was left
        preview = self.query_one("#preview", LogView)
        room = preview.line_width or self.size.width - 4
        preview.replace(
            preview_lines(self._weighed or self._plan, self._fault, self._verdict, self._fit, room)
        )
        is_at_field = bool(self.form.errors)
        self.say_problem("" if is_at_field or not (self.is_narrow or self._has_tried) else self._fault)
        left, needed = self.form.required_left
        figure = f"{left} of {needed} required left" if left else ""
        self.query_one("#form", Panel).set_title(self.title_of_form, figure)
        self.query_one("#beside", Panel).set_title("What will happen")

    # ---- keys

    @property
    def is_form_shown(self) -> bool:
        """False while the preview covers the form."""
        return not (self.is_narrow and self.has_class("previewing"))

    def footer_order(self) -> tuple[str, ...]:
        first, *rest = super().footer_order()
        return (first, "pagedown", *rest)

    def action_search(self) -> None:
        """Jump to a field that is found by its name, its label or its help."""
        items = [
            ChoiceItem(spec.id, spec.label, " · ".join(part for part in (spec.group, spec.help) if part))
            for spec in self.form.fields
        ]
        self.app.push_screen(ChoiceDialog("Jump to a field", items), self._jump)

    def action_filter(self) -> None:
        self.action_search()

    def _jump(self, field_id: str | None) -> None:
        if field_id is not None:
            if not self.is_form_shown:
                self.action_preview()
            self.form.focus_field(field_id)

    def action_preview(self) -> None:
        """The preview over the form, or the form again; the focus goes along at once."""
        self.toggle_class("previewing")
        self._focus_what_is_shown()

    def _focus_what_is_shown(self) -> None:
        if not self.is_form_shown:
            self.set_focus(self.query_one("#preview", LogView))
        elif self._last_field is not None:
            self.set_focus(self._last_field)

    def action_template(self) -> None:
        # pushed, not waited for: a key behind this one belongs to the dialog
        known = (*sorted(self.library.templates), A_FILE)
        self.app.push_screen(ChoiceDialog("Template", known), self._picked)

    def _picked(self, chosen: str | None) -> None:
        if chosen == A_FILE:
            self.app.push_screen(SubmitFileScreen())
        elif chosen and chosen != self._template_name:
            # what was filled in by itself follows the new template; what a person chose stays
            brought = self._brought | self.own_values()
            self.app.switch_screen(SubmitScreen(chosen, brought, brings_input=self.has_input))

    def own_values(self) -> dict[str, str]:
        return {name: text for name, text in self._values.items() if text not in self._own(name)}

    def load_values(self, values: Mapping[str, str]) -> None:
        self.brings_input = bool(values)
        for spec in self.form.fields:
            one = self.template.parameter(spec.id)
            if spec.id in values or one is not None:
                default = "" if one is None else (self._own(spec.id)[-1] or one.default or "")
                self.form.set_value(spec.id, values.get(spec.id, default))

    def _own(self, name: str) -> tuple[str, ...]:
        """What stands in a field without a person: the template's own value, what the cluster led to."""
        one, auto = self.template.parameter(name), self.offered.auto
        first = (one.default or "",) if one is not None else ()
        shown = {"engine": auto.engine, "queue": auto.queue, "namespace": self.cockpit.default_namespace}
        return (*first, shown[name]) if name in shown else first

    def on_form_submitted(self, event: Form.Submitted) -> None:
        event.stop()
        self._values = self._typed(event.values)
        self.action_submit()

    def action_submit(self) -> None:
        plan, self._fault = self._make()
        self._has_tried = True
        if plan is None:
            self._draw()
            return
        warnings = tuple(dict.fromkeys((*plan.warnings, *self._conflicts(plan))))
        shown = msgspec.structs.replace(plan, warnings=warnings)
        act_on_plan(self.app, shown, say=self.say_problem, then=self._submitted)

    def _submitted(self, outcome: Outcome) -> None:
        if not outcome.is_done or self._plan is None or self.app.screen is not self:
            return
        if self.keeps_values:
            self.cockpit.kept_forms.keep_last(self.template.name, self.own_values())
        body = self._plan.calls[0].body
        metadata = body["metadata"]
        group = str(body["apiVersion"]).split("/")[0] if "/" in str(body["apiVersion"]) else ""
        kind = str(body["kind"]).lower() + (f".{group}" if group else "")
        self.cockpit.open_job(f"{kind}/{metadata['namespace']}/{metadata['name']}", in_place=True)

    def action_back(self) -> None:
        if self.is_form_shown:
            super().action_back()
        else:
            self.action_preview()
