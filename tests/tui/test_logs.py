"""The logs page on the scripted estate: keys in, lines out."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from cockpit.api_server import ApiServer
from cockpit.clock import ManualClock
from cockpit.errors import Refused
from cockpit.model.log import LogLine
from cockpit.screens.logs import POUR_SECONDS, LogsScreen
from cockpit.store.signal import Signal
from tests.tui import looking, scripted_logs
from tests.tui.deck import ScriptedApp
from tests.tui.estate import Estate
from tests.tui.pseudo_terminal import PseudoTerminal

LONG_SECONDS = 90.0
TO_LOGS = ("2", "down", "down", "down", "down", "down", "l")


async def until(app: ScriptedApp, is_so: Callable[[str], bool]) -> str:
    """The first screen that is so; fails with the screen it saw last."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + LONG_SECONDS
    while not is_so(seen := looking.text(app)):
        assert loop.time() < deadline, seen
        await asyncio.sleep(0.02)
    return seen


def noted(app: ScriptedApp) -> str:
    """What was said in passing."""
    return "\n".join(one.message for one in app._notifications)


async def shown(app: ScriptedApp, pilot: Pilot[Any], *keys: str, has: str, without: str = "\0") -> str:
    await pilot.press(*keys)
    return await until(app, lambda seen: has in seen and without not in seen)


async def test_all_members_by_time_with_their_rank() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        seen = await shown(app, pilot, *TO_LOGS, has="step 1590/5005")
        assert "logs of team-a/llm-7b-sft" in seen
        assert "4 members · following · 50 lines · last 1,000 lines each" in seen
        inside = [one.strip("│ ") for one in seen.splitlines()]
        lines = [one for one in inside if one.startswith(("launcher", "worker"))]
        assert len(lines) == 50
        assert lines[0] == "worker 0  sshd: Server listening on 0.0.0.0 port 2222."
        assert lines[3].startswith("launcher  + mpirun")
        assert lines.index("worker 2  OSError: [Errno 116] Stale file handle: '/data/train/n01440764'") > 20


async def test_expressions_in_and_out_while_one_types() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="step 1590/5005")
        seen = await shown(app, pilot, "slash", *"rank:1-2 !nccl", has="4 of 50", without="epoch")
        assert "enter keep the filter" in seen
        seen = await shown(app, pilot, *" (", has="is not a regular expression")
        assert "4 of 50" in seen and "OSError" in seen, "the last good filter stays"
        await shown(app, pilot, "escape", has="step 1590/5005", without="regular expression")
        await shown(app, pilot, "slash", *"nothing-at-all", "enter", has="No line matches the filter.")
        await shown(app, pilot, "escape", has="step 1590/5005")


async def test_the_run_before_since_and_moments() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="step 1590/5005")
        seen = await shown(app, pilot, "b", has="OutOfMemoryError", without="step")
        assert "the run before the last restart" in seen and "following" not in seen
        await shown(app, pilot, "b", has="step 1590/5005")
        await shown(app, pilot, "t", has="since 10m ago")
        await shown(app, pilot, *"30s", "enter", has="since 30s ago", without="step 1290")
        await shown(app, pilot, "i", has="times in UTC")
        assert "14:13:" in looking.text(app)
        await pilot.press("t", *"soonish", "enter")
        await until(app, lambda _: "'soonish' is not a valid duration" in noted(app))
        await shown(app, pilot, "t", "enter", has="last 1,000 lines each")


async def test_search_goes_to_a_hit_and_f_follows_again() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 20)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="step 1590/5005")
        seen = await shown(app, pilot, "ctrl+f", *"nccl warn", "enter", has="paused, f follows")
        assert "local link error" in seen.splitlines()[3], "the first line below the header"
        await shown(app, pilot, "f", has="following", without="f follows")
        await shown(app, pilot, "ctrl+f", has="following")
        await pilot.press("ctrl+f", *"never said", "enter")
        await until(app, lambda _: "no visible line contains 'never said'" in noted(app))


async def test_saving_makes_a_new_file_and_never_writes_over_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="step 1590/5005")
        await shown(app, pilot, "slash", *"rank:2", "enter", has="5 of 50")
        await pilot.press("v", "enter")
        await until(app, lambda _: "saved 5 lines to team-a-llm-7b-sft-20260921-141320Z.log" in noted(app))
        saved = tmp_path / "team-a-llm-7b-sft-20260921-141320Z.log"
        text = saved.read_text()
        assert text.splitlines()[0] == "worker 2  sshd: Server listening on 0.0.0.0 port 2222."
        assert len(text.splitlines()) == 5 and saved.stat().st_mode & 0o777 == 0o600
        await pilot.press("v", "enter")
        await until(app, lambda _: "already exists and was not overwritten" in noted(app))
        await pilot.press("v", *"/nowhere/x.log", "enter")
        await until(app, lambda _: "cannot be created: No such file" in noted(app))
        assert saved.read_text() == text


async def test_one_pod_from_the_pods_page_and_a_job_without_pods() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        await shown(app, pilot, "7", "slash", *"ranker-worker-2", "enter", has="team-c/ranker-worker-2")
        seen = await shown(app, pilot, "l", has="OSError")
        assert "1 member · following · 5 lines" in seen and "logs of team-c/ranker-worker-2" in seen
        await shown(app, pilot, "escape", "escape", "2", "slash", *"llm-400b", "enter", has="needs 128 GPUs")
        await shown(app, pilot, "l", has="has no pods: there is no log yet")


async def test_members_that_come_later_are_read_too() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="4 members")
        screen = app.screen
        assert isinstance(screen, LogsScreen)
        pods = screen.members()
        late = _renamed(pods[-1], "llm-7b-sft-worker-11", 11)
        screen.members = lambda: (*pods, late)  # type: ignore[method-assign] # as if the store had it
        screen.show()
        await until(app, lambda seen: "5 members" in seen and "worker 11  sshd" in seen)
        assert "worker 2   OSError" in looking.text(app), "labels make room for the longest"


async def test_a_read_that_ends_behind_a_closed_page_is_no_fault() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 60)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="4 members")
        screen = app.screen
        assert isinstance(screen, LogsScreen)
        await screen.log_view.remove()  # as while its page is being closed
        screen._is_read()
        screen._show_waiting()


def _renamed(pod: Any, name: str, rank: int) -> Any:
    import msgspec

    return msgspec.structs.replace(pod, uid=f"pod-{name}", name=name, rank=rank)


async def test_a_flood_of_long_lines_stays_bounded_and_keys_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = 1_789_999_000.0
    flood = [(begun + n / 100, f"{n} " + "x" * 20_000) for n in range(2_000)]
    monkeypatch.setattr(scripted_logs, "lines_of", lambda pod: flood if "launcher" in pod else [])
    app = ScriptedApp(Estate())
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="launcher  ")
        screen = app.screen
        assert isinstance(screen, LogsScreen)
        await until(
            app, lambda seen: ("1999 xxx" not in seen and "older dropped" in seen) or "999 xxx" in seen
        )
        assert screen.book.characters <= 16 << 20
        assert sum(map(len, screen.log_view.text().splitlines())) <= 34 << 20
        await shown(app, pilot, "escape", has="llm-7b-sft")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_in_a_terminal(size: tuple[int, int]) -> None:
    with PseudoTerminal(["-m", "tests.tui.scripted", "--place", "jobs"], size) as terminal:
        terminal.shows("team-a/llm-7b-sft", "l logs")
        terminal.press("down", "down", "down", "down", "down", "l")
        lines = terminal.shows("launcher  epoch 31/90 step 1590/5005", "4 members · following", "v save")
        assert len(lines) == size[1] and "logs of team-a/llm-7b-sft" in lines[0]
        terminal.press("/", "W", "A", "R", "N")
        terminal.until(lambda seen: "1 of 50 lines" in seen and "NCCL WARN" in seen, "the one line")
        terminal.press("enter", "ctrl+c")
        assert terminal.ends() == 0


async def test_only_stderr_where_the_cluster_tells_it_and_a_sentence_where_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=(160, 45)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="last 1,000 lines each")
        await shown(app, pilot, "u", has="the last hour, stderr only")
        await shown(app, pilot, "u", has="last 1,000 lines each")

        async def refuse(_api: ApiServer, _source: object) -> None:
            raise Refused("this cluster serves stdout and stderr only together")

        monkeypatch.setattr(ApiServer, "refuse_unsplit", refuse)
        await pilot.press("u")
        await until(app, lambda _: "only together" in noted(app))
        assert "stderr only" not in looking.text(app)


async def test_a_log_that_pours_is_shown_in_steps_and_its_first_line_at_once() -> None:
    """Each time that lines are shown costs the line to the terminal a frame."""
    app = ScriptedApp(Estate())
    async with app.run_test(size=(140, 20)) as pilot:
        await shown(app, pilot, *TO_LOGS, has="step 1590/5005")
        screen = app.screen
        assert isinstance(screen, LogsScreen)
        clock, booked = ManualClock(), list[Callable[[], None]]()
        screen._pour = Signal(clock, lambda _, fn: booked.append(fn), POUR_SECONDS)
        screen._pour.subscribe(screen._show_waiting)
        source = screen._sources[0]
        before = len(screen.log_view)
        for number in range(5):
            screen._take([LogLine(source, f"poured {number}", 10**18 + number)])
        assert len(screen.log_view) == before + 1 and len(booked) == 1
        booked.pop()()
        assert len(screen.log_view) == before + 5
        screen._take([LogLine(source, "poured 5", 10**18 + 5)])
        await pilot.press("i")
        assert len(screen.log_view) == before + 6, "what waits is not missing from what is written anew"
