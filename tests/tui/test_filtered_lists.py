"""What a list says where it shows nothing: a filter that hides its rows is told as such, not as no rows. And
how often what is read for a list is read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.attach import Link
from cockpit.errors import BadInput
from cockpit.local_state.audit import Audit, DamagedLine, Entry
from cockpit.local_state.line_file import Stamp
from cockpit.screens.alike import AlikeScreen
from cockpit.screens.audit import AuditScreen
from cockpit.screens.read_place import pause_seconds
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle, until
from tests.tui.estate import Estate
from tests.tui.test_alike_rows import break_nodes

LINE = (
    b'{"audit_id":"%d","step":"outcome","at_seconds":1.0,"verb":"cordon","target":"node x%d",'
    b'"context":"far","state":"done","undo":"cockpit node uncordon x --context far --write"}\n'
)
SIZE = (80, 24)


async def test_a_filter_that_hides_all_does_not_say_that_nothing_was_done(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_bytes(LINE % (1, 1) + LINE % (2, 2))
    app = ScriptedApp(Estate(), place="audit", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(app, pilot, lambda: "node x1" in looking.text(app))
        await pilot.press("slash", *"absent", "enter")
        await settle(pilot)
        assert "Nothing was changed" not in looking.text(app)
        assert "None of 2 actions matches 'absent'" in looking.text(app)


async def test_the_log_of_this_host_is_listed_without_a_cluster(tmp_path: Path) -> None:
    app = ScriptedApp(None, place="audit", state_folder=tmp_path)
    app.attachment.link, app.attachment.sentence = Link.WAITING, "The API server does not answer."
    async with app.run_test(size=SIZE) as pilot:
        await until(app, pilot, lambda: "Nothing was changed" in looking.flat(app))
        assert "does not answer. Retrying" not in looking.flat(app)


async def test_a_filter_that_hides_alike_rows_does_not_say_that_few_are_left() -> None:
    app = ScriptedApp(Estate())
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        break_nodes(app, 14)
        app._signal.at_once()
        await settle(pilot)
        whole = next(row for row in app.now_watch.look() if row.found.alike)
        await app.push_screen(AlikeScreen(whole.key, "nodes"))
        await settle(pilot)
        await pilot.press("slash", *"absent", "enter")
        await settle(pilot)
        assert "they are on Now" not in looking.text(app)
        assert " objects matches 'absent'" in looking.text(app)


async def test_the_audit_log_is_read_again_only_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    lines = Audit.lines

    def counted(self: Audit) -> Iterator[Entry | DamagedLine]:
        reads.append(1)
        return lines(self)

    monkeypatch.setattr(Audit, "lines", counted)
    stamps: list[int] = []
    stamp = Audit.stamp

    def stamped(self: Audit) -> Stamp:
        stamps.append(1)
        return stamp(self)

    monkeypatch.setattr(Audit, "stamp", stamped)
    log = tmp_path / "audit.jsonl"
    log.write_bytes(LINE % (1, 1))
    app = ScriptedApp(Estate(), place="audit", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(app, pilot, lambda: "node x1" in looking.text(app))
        screen = app.screen
        assert isinstance(screen, AuditScreen)
        for _ in range(3):
            looked = len(stamps)
            screen.read_now()
            await until(app, pilot, lambda: len(stamps) > looked)  # noqa: B023
        assert len(reads) == 1
        with log.open("ab") as file:
            file.write(LINE % (2, 2))
        screen.read_now()
        await until(app, pilot, lambda: "node x2" in looking.text(app))
        assert len(reads) == 2


async def test_rows_that_cannot_be_read_again_stay_and_why_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "audit.jsonl").write_bytes(LINE % (1, 1))
    app = ScriptedApp(Estate(), place="audit", state_folder=tmp_path)
    async with app.run_test(size=SIZE) as pilot:
        await until(app, pilot, lambda: "node x1" in looking.text(app))

        def refuse(self: Audit) -> None:
            raise BadInput("the audit file cannot be read: Permission denied")

        monkeypatch.setattr(Audit, "stamp", refuse)
        screen = app.screen
        assert isinstance(screen, AuditScreen)
        screen.read_now()
        await until(app, pilot, lambda: "cannot be read: Permission denied" in looking.text(app))
        assert "node x1" in looking.text(app)


def test_what_takes_long_to_read_is_read_less_often() -> None:
    assert pause_seconds(10.0, 0.1) == 10.0
    assert pause_seconds(10.0, 2.0) == 40.0
