"""What a closed page drew goes with it, and no timer is lost or freezes the app."""

import gc
import time
import weakref

import pytest
from cockpit_widgets.frugal_app import FrugalApp, backgrounds
from textual import _time
from textual._styles_cache import StylesCache
from textual.app import ComposeResult
from textual.color import Color
from textual.screen import Screen
from textual.widgets import Static


class Page(Screen[None]):
    def compose(self) -> ComposeResult:
        for number in range(20):
            yield Static(f"line {number}")


async def test_no_widget_of_a_closed_page_keeps_its_lines() -> None:
    drawn = weakref.WeakSet[StylesCache]()
    app = FrugalApp[None]()
    async with app.run_test() as pilot:
        for _ in range(5):
            await app.push_screen(Page())
            await pilot.pause()
            caches = [widget._styles_cache for widget in app.screen.query(Static)]
            assert all(cache._cache for cache in caches), "nothing was drawn"
            drawn.update(caches)
            del caches
            await app.pop_screen()
        await pilot.pause()
        gc.collect()
        assert not drawn


def test_the_backgrounds_are_those_that_textual_makes() -> None:
    base, half = Color(10, 20, 30), Color(200, 100, 0, 0.5)
    inner, outer = backgrounds(base, half)
    assert (inner.background, outer.background) == (base + half, base)


@pytest.mark.parametrize("seconds", [-3_600.0, -0.001, 0.0, 1e-9])
async def test_a_timer_whose_time_is_over_before_it_begins_fires_once(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired: list[float] = []
    looks = iter(range(1_000))

    def clock() -> float:
        assert next(looks, None) is not None, "it turns in circles"
        return time.monotonic()

    app = FrugalApp[None]()
    async with app.run_test():
        monkeypatch.setattr(_time, "get_time", clock)
        timer = app.set_timer(seconds, lambda: fired.append(seconds))
        assert timer._task is not None
        await timer._task
    assert fired == [seconds]
