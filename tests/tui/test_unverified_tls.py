"""A server whose certificate nobody checks: marked in the header of every screen, noted by every command."""

from typing import Any

import pytest
from cockpit_widgets import StatusLine

from cockpit.model.trust import Trust
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

SIZES = ((80, 24), (200, 60))
WAYS = ("1", "2", "3", "4", "5", "6", "7", "2 enter", "3 enter", "4 enter", "2 w", "2 N")
LONG = "arn:aws:eks:eu-central-1:123456789012:cluster/a-name-that-fills-the-line-of-a-small-terminal"


def unchecked(trust: Trust, context: str = "prod-eu") -> ScriptedApp:
    app = ScriptedApp(Estate(), write=True)
    session: Any = app.attachment.session
    session.trust, session.context = trust, context
    return app


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(
    ("trust", "mark"), [(Trust.UNVERIFIED, "▲ TLS unverified"), (Trust.PLAIN, "▲ no TLS")]
)
async def test_the_header_of_every_screen_says_that_nobody_checks(
    size: tuple[int, int], trust: Trust, mark: str
) -> None:
    app = unchecked(trust)
    async with app.run_test(size=size) as pilot:
        for keys in WAYS:
            await pilot.press(*keys.split())
            await settle(pilot)
            assert looking.header_pieces(app)[:2] == [mark, "prod-eu"], keys
            line = app.screen.query_one("#header", StatusLine)
            red = line.palette.tone("bad")
            drawn = line.segments(line.size.width)
            assert drawn[0].text == mark and drawn[0].style == red, keys


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_a_long_context_leaves_room_for_the_mark(size: tuple[int, int]) -> None:
    app = unchecked(Trust.UNVERIFIED, LONG)
    async with app.run_test(size=size) as pilot:
        for keys in ("1", "2", "2 enter"):
            await pilot.press(*keys.split())
            await settle(pilot)
            mark, context = looking.header_pieces(app)[:2]
            assert mark == "▲ TLS unverified" and context.startswith("arn:aws:eks"), keys
            assert LONG.endswith(context[-7:]), "names of clouds differ at their end"


async def test_it_goes_with_the_session_that_it_was_said_of() -> None:
    app = unchecked(Trust.UNVERIFIED)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        session: Any = app.attachment.session
        session.trust = Trust.VERIFIED
        app.redraw()
        await pilot.press("2")
        await settle(pilot)
        assert "TLS" not in looking.lines(app)[0]
