"""The form before a cluster that offers: choices, engines, claims out of reach, and what may not be seen."""

import asyncio
import contextlib
from typing import Any

import pytest
from cockpit_widgets.form import Form
from cockpit_widgets.form_fields import ChoiceField
from cockpit_widgets.form_row import FieldRow
from cockpit_widgets.types import FieldSpec
from textual.pilot import Pilot

from cockpit.gangs.form_choice import Auto
from cockpit.screens.submit import SubmitScreen
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.offering import OfferingApp
from tests.waiting import until

SIZE = (200, 60)


async def opened(pilot: Pilot[int], app: OfferingApp) -> Form:
    """The form of a new job, once everything was asked for."""
    await settle(pilot)
    await pilot.press("2", "N")
    await until(lambda: isinstance(app.screen, SubmitScreen), "the form", pilot=pilot)
    form = app.screen.query_one("#fields", Form)
    await until(
        lambda: any("resourceflavors" in one for one in app.asked), "flavors were asked for", pilot=pilot
    )
    await until(lambda: "offer" not in {one.group for one in app.workers}, "offers are shown", pilot=pilot)
    await settle(pilot)
    return form


def row(form: Form, name: str) -> FieldRow:
    return next(one for one in form.query(FieldRow) if one.spec.id == name)


def screen_of(app: OfferingApp) -> SubmitScreen:
    assert isinstance(app.screen, SubmitScreen)
    return app.screen


def plan_of(app: OfferingApp) -> Any:
    plan, problem = screen_of(app)._make()
    assert plan is not None, problem
    return plan


async def fill(pilot: Pilot[int], form: Form, **values: str) -> None:
    for name, text in {"name": "llm", "image": "r.example/t:1", **values}.items():
        form.set_value(name.replace("_", "-"), text)
        await settle(pilot)


async def test_engine_and_queue_are_those_of_the_cluster_and_follow_the_person() -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        assert (form.values["engine"], form.values["queue"]) == ("kueue", "gpu-lq")
        await fill(pilot, form)
        body = plan_of(app).calls[0].body
        assert body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpu-lq"
        # another engine is not left with a queue that nobody chose
        form.set_value("engine", "none")
        await until(lambda: form.values["queue"] == "", "no queue", pilot=pilot)
        assert plan_of(app).shell.endswith("--engine none --context prod-eu --write")
        form.set_value("queue", "gpu-lq")
        await settle(pilot)
        plan, problem = screen_of(app)._make()
        assert plan is None and "engine none, and the manifest names Kueue" in problem
        form.set_value("engine", "native")
        await settle(pilot)
        assert "MPIJob drops the pods' spec.schedulingGroup" in screen_of(app)._make()[1]
        form.set_value("engine", "volcano")
        await settle(pilot)
        plan = plan_of(app)
        assert "--engine volcano:gpu-lq" in plan.shell
        assert "queue-name" not in str(plan.calls[0].body["metadata"]["labels"])
        form.set_value("engine", "coscheduling")
        form.set_value("queue", "")
        await settle(pilot)
        assert "Coscheduling is not installed" in screen_of(app)._make()[1]


async def test_an_engine_that_is_chosen_while_the_cluster_answers_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        screen = screen_of(app)
        screen.offered.auto = Auto()
        screen._values.update(engine="none", queue="")
        form.set_value("queue", "")
        form.set_value("engine", "none")
        screen.offered.auto = Auto()  # as before the namespace's queues were known
        change_field = Form.change_field

        async def type_meanwhile(self: Form, spec: FieldSpec) -> None:
            self.set_value("engine", "coscheduling")
            await change_field(self, spec)

        monkeypatch.setattr(Form, "change_field", type_meanwhile)
        await screen._renew_fields()
        monkeypatch.undo()
        await settle(pilot)
        assert (form.values["engine"], form.values["queue"]) == ("coscheduling", "")


@pytest.mark.parametrize("is_given_up", [False, True])
async def test_a_queue_that_is_named_while_the_cluster_answers_means_kueue(
    monkeypatch: pytest.MonkeyPatch, is_given_up: bool
) -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        screen = screen_of(app)
        form.set_value("queue", "")
        await until(lambda: form.values["engine"] == "none", "no engine", pilot=pilot)
        screen.offered.auto = Auto()  # as before the namespace's queues were known
        change_field = Form.change_field

        async def type_meanwhile(self: Form, spec: FieldSpec) -> None:
            await change_field(self, spec)
            if is_given_up:
                raise asyncio.CancelledError
            self.set_value("queue", "gpu-lq")

        monkeypatch.setattr(Form, "change_field", type_meanwhile)
        with contextlib.suppress(asyncio.CancelledError):
            await screen._renew_fields()
        monkeypatch.undo()
        form.set_value("queue", "gpu-lq")
        await settle(pilot)
        assert (form.values["engine"], form.values["queue"]) == ("kueue", "gpu-lq")


@pytest.mark.parametrize("typed", ["", "llm"])
async def test_another_template_keeps_what_was_typed_and_nothing_else(typed: str) -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        first = screen_of(app)
        assert form.values["command"] and form.values["workers"] == "2"
        await pilot.press(*typed, "f2")
        await until(lambda: "type to search" in looking.text(app), "the templates", pilot=pilot)
        await pilot.press(*"trainjob")
        await settle(pilot)
        await pilot.press("enter")
        await until(lambda: app.screen not in (first, *app.screen_stack[:-1]), "the other form", pilot=pilot)
        await until(lambda: bool(app.screen.query("#fields")), "its fields", pilot=pilot)
        other = app.screen.query_one("#fields", Form)
        template = screen_of(app).template
        await until(
            lambda: "offer" not in {one.group for one in app.workers}, "offers are shown", pilot=pilot
        )
        await settle(pilot)
        own = {one.name: one.default or "" for one in template.parameters}
        follows = {"name": typed, "namespace": form.values["namespace"], "engine": "kueue", "queue": "gpu-lq"}
        assert {name: text for name, text in other.values.items() if text != own.get(name)} == {
            name: text for name, text in follows.items() if text
        }
        assert screen_of(app) is not first


async def test_choices_come_from_the_cluster_and_secrets_are_never_asked_for() -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        await until(lambda: isinstance(row(form, "priority").editor, ChoiceField), "classes", pilot=pilot)
        assert row(form, "priority").spec.choices == ("", "high", "low")
        assert row(form, "pod-priority").spec.choices == ("", "batch")
        assert row(form, "data").spec.help.startswith("bound: corpus, runs; as in corpus:/data; not bound")
        assert row(form, "pull-secret").spec.kind == "text"
        assert not [one for one in app.asked if "secret" in one]


async def test_denied_is_said_and_leaves_a_field_to_type_in() -> None:
    app = OfferingApp(Estate(), write=True, denied=("persistentvolumeclaims", "workloadpriorityclasses"))
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        wanted = "denied: workloadpriorityclasses is forbidden to user ada; type the name"
        await until(lambda: row(form, "priority").spec.help == wanted, "denied", pilot=pilot)
        assert row(form, "priority").spec.kind == "text"
        assert row(form, "data").spec.help.startswith("denied: persistentvolumeclaims is forbidden")
        await fill(pilot, form, priority="high")
        assert plan_of(app).calls[0].body["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "high"
        assert any("cannot check whether high exists" in one for one in plan_of(app).warnings)


async def test_a_claim_in_another_zone_than_the_pinned_node_is_warned_of() -> None:
    app = OfferingApp(Estate(), write=True)
    async with app.run_test(size=SIZE) as pilot:
        form = await opened(pilot, app)
        await fill(pilot, form, data="corpus:/data new:/n", node="gpu-h100-01", queue="")
        wanted = "claim corpus lies in eu-1a, the chosen nodes (gpu-h100-01) lie in eu-1b"
        seen = lambda: any(wanted in line for line in screen_of(app)._fit)  # noqa: E731
        await until(seen, "the conflict", pilot=pilot)
        assert any("the cluster has no new" in one for one in plan_of(app).warnings)


async def test_the_queues_place_tells_which_engines_are_there_and_at_work() -> None:
    app = OfferingApp(Estate())
    async with app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        await pilot.press("4")
        await until(lambda: "not installed" in looking.text(app), "engines", pilot=pilot)
        text = looking.text(app)
        assert "● runs: it wrote the status of" in text
        assert "? is installed; whether its controller runs is unknown" in text
        assert "Coscheduling, native gang, KAI" in text
