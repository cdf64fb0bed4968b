"""Every verb that ends something: its question says where and what, and no single key of habit answers it."""

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from cockpit_widgets import ConfirmDialog

from cockpit.actions.execute.run_verb import Tried, named
from cockpit.actions.job_size import WorkersOptions
from cockpit.actions.planner import NoOptions
from cockpit.actions.queue import StopOptions
from cockpit.actions.verbs.registry import VERBS, verb_of
from cockpit.errors import CockpitError
from cockpit.model.job import Job
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.plan_dialog import PlanDialog
from tests.contract.test_keys_and_rights import (  # noqa: F401
    ELSEWHERE,
    OPTIONS,
    STREAMS,
    There,
    kinds,
    made,
    plan_for,
    there,
)
from tests.reliability.figures import Tell
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

NEVER_DESTRUCTIVE = {"node.smoke-test", "job.submit", "job.record"}
"""What they do is to create: ELSEWHERE has no others."""
CLUSTER = "prod-eu"


HARMFUL: dict[str, Any] = {
    "queue.stop": StopOptions(drain=True),
    "pool.scale": verb_of("pool.scale").planner.options("0"),
    "job.scale": WorkersOptions(to=1),
}
"""Options by which a verb ends something that it could do without."""


def at_work(thing: Any) -> Any:
    """The same, and a job holds GPUs."""
    return msgspec.structs.replace(thing, gpus_allocated=8) if isinstance(thing, Job) else thing


async def answered(plan: Plan, *keys: str) -> tuple[str, bool]:
    """What the dialog of the plan shows, and whether these keys say yes."""
    app = ScriptedApp(Estate(), write=True)

    async def trial() -> Tried[Plan]:
        return Tried(plan, plan, Outcome(state="done", sentence="the cluster would accept it"))

    async with app.run_test(size=(120, 60)) as pilot:
        asked: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def ask() -> None:
            asked.set_result(await PlanDialog(app).ask(plan, (), trial()))

        app.run_worker(ask())
        while not isinstance(app.screen, ConfirmDialog):
            await pilot.pause()
        await settle(pilot)
        text = looking.text(app)
        await pilot.press(*keys)
        await settle(pilot)
        is_yes = asked.done() and asked.result() is not None
        return text, is_yes


async def plans_of_everything(there: There) -> dict[str, Plan]:  # noqa: F811
    """Of each verb the first plan that ends something."""
    found: dict[str, Plan] = {}
    for verb in VERBS:
        if verb.id in ELSEWHERE or verb.id in STREAMS:
            continue
        for thing in map(at_work, there.things[verb.kind]):
            try:
                known = await plan_for(verb, there.planning, thing)
                plan = named(known, replace(verb, flags=()), thing, NoOptions(), there.planning.context)
            except CockpitError:
                continue
            if plan.is_destructive:
                found.setdefault(verb.id, plan)
    return found


@pytest.mark.row(56, "verbs that end something", least=8)
@pytest.mark.row(56, "of them where enter says no", least=1)
@pytest.mark.row(56, "of them that show cluster, namespace and object", least=1)
@pytest.mark.row(56, "verbs called destructive without such a question", most=0)
@pytest.mark.row(56, "drains that one key begins", most=0)
async def test_what_ends_something_is_asked_with_no_as_default(
    there: There,  # noqa: F811
    figure: Tell,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set(ELSEWHERE) == NEVER_DESTRUCTIVE
    for verb, options in HARMFUL.items():
        monkeypatch.setitem(OPTIONS, verb, options)
    plans = await plans_of_everything(there)
    safe, telling, drains = [], [], 0
    for verb, plan in plans.items():
        text, is_yes = await answered(plan, "enter")
        safe += [] if is_yes else [verb]
        call = plan.deeds[0]
        words = call.path.split("/")
        named = [CLUSTER, words[-2] if words[-1] in ("scale", "eviction") else words[-1]]
        named += [words[words.index("namespaces") + 1]] if "namespaces" in words else []
        flat = "".join(text.split())
        telling += [verb] if all(name in flat for name in named) else []
        if verb == "node.drain":
            drains += (await answered(plan, "y"))[1]
            assert not drains and (await answered(plan, *plan.typed, "enter"))[1]
    called = {verb.id for verb in VERBS if verb.is_destructive} - NEVER_DESTRUCTIVE - set(STREAMS)
    figure("verbs that end something", len(plans))
    figure("of them where enter says no", len(safe) / len(plans))
    assert telling == [*plans]
    figure("of them that show cluster, namespace and object", len(telling) / len(plans))
    figure("verbs called destructive without such a question", len(called - set(plans)))
    figure("drains that one key begins", drains)
