"""`U` on a node: the form of its smoke test, and nothing made before it is confirmed."""

import pytest

from cockpit.model.record import Kind
from cockpit.screens.smoke import SmokeScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.why_app import WhyEstate


async def test_the_form_of_a_smoke_test_knows_its_node() -> None:
    app = ScriptedApp(Estate(), write=True, place="nodes")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        app.screen.set_sort("name", descending=False)  # type: ignore[attr-defined]
        await pilot.press("home", "U")
        for _ in range(60):
            await settle(pilot)
            if isinstance(app.screen, SmokeScreen):
                break
        await settle(pilot)
        seen = looking.text(app)
        assert "smoke test of gpu-a100-00" in seen and "smoke-gpu-a100-00" in seen
        await pilot.press("escape")
        await settle(pilot)
        assert not isinstance(app.screen, SmokeScreen)


@pytest.mark.parametrize("share", [0, 3])
async def test_a_node_without_room_is_told_as_it_is_and_no_other_node_is_offered(share: int) -> None:
    app = ScriptedApp(WhyEstate(), write=True, place="nodes")
    async with app.run_test(size=(200, 45)) as pilot:
        await settle(pilot)
        store = app.attachment.store
        free = {
            one.name: one.gpu_allocatable - sum(pod.gpus_allocated for pod in store.pods_on(one.name))
            for one in store.records(Kind.NODE).values()
            if one.gpu_allocatable
        }
        node = next(name for name in sorted(free) if free[name] == share)
        app.push_screen(SmokeScreen(node, "default"))
        await settle(pilot)
        assert isinstance(app.screen, SmokeScreen)
        app.screen.form.set_value("gpus", "8")
        for _ in range(20):
            await settle(pilot)
        seen = looking.flat(app)
        advice = f"ask for at most {share}, or wait" if share else "wait until some are"
        assert f"node {node} has {share} of 8 GPUs free: {advice}" in seen, looking.text(app)
        assert "node selector" not in seen
