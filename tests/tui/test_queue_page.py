"""The page of one queue: its quota and last day, who holds it, and who waits with what would start it."""

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from cockpit.model.batch import Batch, Phase, StreamStatus
from cockpit.model.record import Kind
from cockpit.screens import queue
from cockpit.screens.job import JobScreen
from cockpit.screens.queue import QueueScreen
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import Estate
from tests.tui.why_app import QueuedApp, WhyApp
from tests.waiting import until


async def opened(app: WhyApp, pilot: Pilot[Any]) -> QueueScreen:
    await settle(pilot)
    await pilot.press("4", "enter")
    await settle(pilot)
    assert isinstance(app.screen, QueueScreen)
    return app.screen


def line_with(app: WhyApp, text: str) -> str:
    return next(line for line in looking.text(app).splitlines() if text in line)


def was_read(app: WhyApp, name: str) -> bool:
    return any(path.endswith(f"/{name}") for path in app.asked)


def under_cursor(page: QueueScreen) -> str:
    job = page.thing("job")
    return "" if job is None else str(job.name)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_who_holds_and_who_waits_are_in_sight_at_every_size(size: tuple[int, int]) -> None:
    app = QueuedApp(Estate())
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        for holder, gpus in (("team-a/llm-7b-sft", "24/24"), ("team-a/llm-70b", "96/96")):
            assert gpus in line_with(app, holder)
        assert "~1" in line_with(app, "team-a/llm-400b") and "~2" in line_with(app, "team-a/ablation-9")
        text = looking.text(app)
        assert "120/128" in text and "━" in line_with(app, "120/128")
        assert "team-b/" not in text, "it holds the quota of another queue"
        words = " ".join(text.replace("│", " ").split())
        assert "median wait 2s" in words or "wait 2s, none preempted" in words


async def test_what_would_start_each_is_looked_for_behind_the_page() -> None:
    app = QueuedApp(Estate())
    async with app.run_test(size=(200, 60)) as pilot:
        page = await opened(app, pilot)
        await until(lambda: len(page._starts) == 2, pilot=pilot)
        await settle(pilot)
        assert "if: raise research's quota of GPUs" in looking.text(app)
        read = [path for path in app.asked if path.endswith(("/llm-400b", "/ablation-9"))]
        assert len(read) == 2, "each object is read once"
        lists = [
            path
            for path in app.asked
            if path.endswith(("/configmaps", "/serviceaccounts", "/resourcequotas"))
        ]
        assert len(lists) == len(set(lists)) == 3, "lists of their namespace are read once for both"


async def test_the_cursor_comes_to_the_first_holder_however_they_were_sorted_meanwhile() -> None:
    app = QueuedApp(Estate())
    async with app.run_test(size=(200, 60)) as pilot:
        page = await opened(app, pilot)
        first = page.holders.source.key(0)
        stick(app, "llm-70b")
        page.show()
        await settle(pilot)
        assert page.holders.source.key(0) != first
        await pilot.press("tab")
        await settle(pilot)
        assert under_cursor(page) == "llm-70b", "the first row now"
        stick(app, "llm-7b-sft")
        page.show()
        await settle(pilot)
        assert under_cursor(page) == "llm-70b", "what a person looks at stays under the cursor"


async def test_a_page_that_stays_open_keeps_no_more_than_a_screen_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "MOST_AHEAD", 1)
    app = QueuedApp(Estate())
    async with app.run_test(size=(200, 60)) as pilot:
        page = await opened(app, pilot)
        for name in ("llm-400b", "ablation-9"):
            await until(partial(was_read, app, name), pilot=pilot)
        await until(lambda: list(page._starts) == ["wl-team-a-ablation-9"], pilot=pilot)
        assert list(page._ahead) == ["wl-team-a-ablation-9"], "the one that was looked at last"


async def test_without_the_objects_nothing_is_claimed() -> None:
    app = WhyApp(Estate())  # it is not known that MPIJobs are served
    async with app.run_test(size=(200, 60)) as pilot:
        page = await opened(app, pilot)
        await until(lambda: len(page._starts) == 2, pilot=pilot)
        await settle(pilot)
        assert set(page._starts.values()) == {""} and "if:" not in looking.text(app)


async def test_keys_act_on_the_holder_under_the_cursor() -> None:
    app = QueuedApp(Estate(), write=True)
    async with app.run_test(size=(120, 40)) as pilot:
        page = await opened(app, pilot)
        assert under_cursor(page) == "llm-400b"
        await pilot.press("tab")
        await settle(pilot)
        assert under_cursor(page) == "llm-7b-sft"
        await pilot.press("space", "down", "space")
        await settle(pilot)
        assert {job.name for job in page.marked_things("job")} == {"llm-7b-sft", "llm-70b"}
        await pilot.press("enter")
        await settle(pilot)
        assert isinstance(app.screen, JobScreen) and "team-a/llm-70b" in looking.text(app)


def stick(app: WhyApp, job: str) -> None:
    """No pod of that job can pull its image any more."""
    pods = [
        pod for pod in app.attachment.store.records(Kind.POD).values() if pod.name.startswith(f"{job}-worker")
    ]
    stuck = tuple(
        replace(
            pod, phase="Pending", is_ready=False, waiting_reason="ImagePullBackOff",
            waiting_message='Back-off pulling image "registry.example/train:1.4"',
        )
        for pod in pods
    )  # fmt: skip
    assert stuck
    app.attachment.store.apply(Batch(kind=Kind.POD, changed=stuck))
    app.attachment.jobs.catch_up()


async def test_a_holder_that_does_not_start_is_first_with_its_reason() -> None:
    app = QueuedApp(Estate())
    stick(app, "llm-70b")
    async with app.run_test(size=(200, 60)) as pilot:
        page = await opened(app, pilot)
        assert page.holders.source.key(0).endswith("llm-70b")
        assert "image" in line_with(app, "team-a/llm-70b")


async def test_a_denied_line_is_no_empty_one() -> None:
    app = QueuedApp(Estate())
    store = app.attachment.store
    gone = tuple(store.records(Kind.WORKLOAD))
    denied = StreamStatus(kind=Kind.WORKLOAD, phase=Phase.DENIED, message="you may not list workloads")
    store.apply(Batch(kind=Kind.WORKLOAD, removed=gone, status=denied))
    app.attachment.jobs.catch_up()
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(app, pilot)
        text = looking.text(app)
        assert text.count("may not list workloads") >= 2, "neither who holds nor who waits is known"
        assert "preempted" not in text and "median" not in text
