"""Another context or namespace: whose settings are in force afterwards. Nothing is connected to."""

import gc
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cockpit import gc_tuning
from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions, Link
from cockpit.clock import ManualClock
from cockpit.local_state.config import ContextSettings, Settings
from cockpit.model.metrics_server import MetricsServer
from cockpit.model.namespaces import Namespaces

SETTINGS = Settings(
    namespaces=Namespaces(("team-z",)),
    contexts=(
        (
            "open",
            ContextSettings(
                write=True,
                namespaces=Namespaces(("team-b",)),
                prometheus=MetricsServer("http://prom.open:9090"),
            ),
        ),
    ),
)
STARTED = AttachOptions(
    kubeconfig="/nonexistent/config",
    context="here",
    write=True,
    prometheus=MetricsServer("http://prom.here:9090"),
)


def app() -> CockpitApp:
    return CockpitApp(AppOptions(STARTED, attach=False, settings=SETTINGS), clock=ManualClock())


async def test_another_context_brings_its_own_settings() -> None:
    made = app()
    async with made.run_test() as pilot:
        made.reattach(context="open")
        assert made.attachment.options == AttachOptions(
            kubeconfig="/nonexistent/config",
            context="open",
            namespaces=Namespaces(("team-b",)),
            write=True,
            prometheus=MetricsServer("http://prom.open:9090"),
        )
        await pilot.pause()
        made.reattach(context="plain")
        assert made.attachment.options == AttachOptions(
            kubeconfig="/nonexistent/config", context="plain", namespaces=Namespaces(("team-z",))
        )
        await pilot.pause()


async def test_another_namespace_changes_nothing_else() -> None:
    made = app()
    async with made.run_test() as pilot:
        before = made.attachment
        made.reattach(namespaces=Namespaces(("team-a",)))
        options = made.attachment.options
        assert (options.context, options.namespaces, options.write) == ("here", Namespaces(("team-a",)), True)
        assert options.prometheus.url == "http://prom.here:9090"
        assert made.attachment is not before
        assert made.attachment.store is not before.store
        await pilot.pause()


async def test_a_failure_stands_where_the_rows_would_stand() -> None:
    made = app()
    async with made.run_test(size=(120, 30)) as pilot:
        made.reattach(context="gone")
        await made.workers.wait_for_complete()
        assert made.attachment.link is Link.FAILED
        await pilot.press("2")
        await pilot.pause()
        lines = ["".join(one.text for one in strip) for strip in made.screen._compositor.render_strips()]
        assert any("There is no kubeconfig at /nonexistent/config" in line for line in lines)
        assert not any("are not listed yet" in line for line in lines)


@pytest.fixture
def _collector() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("_collector")
async def test_the_cluster_that_was_left_is_freed() -> None:
    """Although the collector had put all of it aside."""
    made = app()
    async with made.run_test() as pilot:
        gc_tuning.settle()
        left = weakref.ref(made.attachment.store)
        for context in ("plain", "open"):
            made.reattach(context=context)
            await made.workers.wait_for_complete()
            await pilot.pause()
            gc_tuning.settle()
        assert left() is None


async def test_ctrl_l_asks_again_for_what_was_refused() -> None:
    made = app()
    async with made.run_test() as pilot:
        await pilot.press("ctrl+l")  # without a session nothing is asked
        asked: list[str] = []
        session: Any = SimpleNamespace(pulse=SimpleNamespace(ask_again=lambda: asked.append("now")))
        made.attachment.session = session
        await pilot.press("ctrl+l")
        assert asked == ["now"]
