"""`U` on a node: the form of its smoke test, and nothing made before it is confirmed."""

from cockpit.screens.smoke import SmokeScreen
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate


async def test_the_form_of_a_smoke_test_knows_its_node() -> None:
    app = ScriptedApp(Estate(), write=True, place="nodes")
    async with app.run_test(size=(160, 45)) as pilot:
        await settle(pilot)
        await pilot.press("U")
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
