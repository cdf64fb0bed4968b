"""Every screen at three sizes: nothing clipped, nothing misaligned, no key hidden that matters."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from cockpit_widgets import KeyFooter, ResourceTable
from cockpit_widgets.glyphs import BARRED_GLYPH
from cockpit_widgets.panel import Panel
from cockpit_widgets.tab_line import CURRENT_GLYPH
from cockpit_widgets.types import Cell
from textual.pilot import Pilot

from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.screens.place import Place
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate

SIZES = ((80, 24), (120, 40), (200, 60))


@dataclass(frozen=True)
class Stop:
    """One screen on the way through the cockpit: the keys that lead to it from anywhere, and five keys that
    its footer must show at 80x24, read-only and with writes unlocked."""

    name: str
    keys: str
    useful: str = ""
    useful_write: str = ""


LOOK = "enter open|/ filter|s sort|? help|q quit"
ROWS = "enter open|/ filter|y yaml|s sort|? help"
PAGE = "enter open|w why|N new job|K kill|esc back"
STOPS = (
    Stop("now", "1", "enter open|w why|l logs|m metric|? help", "enter open|w why|N new job|K kill|? help"),
    Stop(
        "jobs", "2", "enter open|w why|l logs|/ filter|? help", "enter open|w why|N new job|K kill|/ filter"
    ),
    Stop(
        "job",
        "2 down down down down down enter",
        "enter open|w why|l logs|esc back|? help",
        "enter open|w why|l logs|K kill|esc back",
    ),
    Stop("nodes", "3", ROWS, ROWS),
    Stop(
        "node",
        "3 enter",
        "enter open|y yaml|/ filter|esc back|? help",
        "enter open|X cordon|D drain|esc back|? help",
    ),
    Stop("queues", "4", LOOK, LOOK),
    Stop("queue", "4 enter", "enter open|w why|/ filter|esc back|? help", PAGE),
    Stop("pools", "5", LOOK, "enter open|S scale|/ filter|s sort|? help"),
    Stop(
        "pool",
        "5 down enter",
        "enter open|/ filter|y yaml|esc back|? help",
        "enter open|S scale|D drain|esc back|? help",
    ),
    Stop("events", "6", LOOK, LOOK),
    Stop("pods", "7", ROWS, ROWS),
    Stop("fleet", "8", *["enter open|w why|l logs|y yaml|? help"] * 2),
    Stop("why", "2 down w", *["esc back|y yaml|? help|q quit|: palette"] * 2),
    Stop("filter", "2 slash t e", *["enter keep the filter|esc drop it"] * 2),
)
FORMS = (
    Stop("submit", "2 N", useful_write="^s submit|f3 preview|f2 template|f4 presets|esc back"),
    Stop("scale", "5 S", useful_write="^s submit|esc back"),
)
DIALOGS = (Stop("help", "2 question_mark"), Stop("palette", "2 colon"), Stop("confirm", "2 down K"))


@asynccontextmanager
async def cockpit(size: tuple[int, int], *, write: bool) -> AsyncIterator[tuple[ScriptedApp, Pilot[Any]]]:
    """The scripted estate on a screen of that size."""
    app = ScriptedApp(Estate(), write=write)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot


async def go(app: ScriptedApp, pilot: Pilot[Any], stop: Stop) -> None:
    """From wherever it is to that stop, with the cursor on the first row."""
    while len(app.screen_stack) > 2 or getattr(app.screen, "can_go_back", True):
        await pilot.press("escape")
    first, *rest = stop.keys.split()
    await pilot.press(first, "home", *rest)
    await settle(pilot)


def check_place(app: ScriptedApp, name: str) -> None:
    """The faults that any place could have."""
    drawn = looking.text(app)
    assert looking.size_fault(app) == "", name
    for table in looking.shown_tables(app):
        assert looking.columns_fault(app, table) == "", f"{name} {table.id}\n{drawn}"
    assert drawn.count("prod-eu ·") == 1, f"{name}: another header\n{drawn}"
    assert drawn.startswith(" prod-eu · "), name
    footer = app.screen.query_one("#footer", KeyFooter)
    known = {
        f"{hint.display or hint.key}{BARRED_GLYPH if hint.barred else ' '}{hint.label}"
        for hint in footer.hints
    }
    assert footer.region.bottom == app.size.height, name
    assert set(looking.footer(app)) <= known, f"{name}: an entry of the footer is cut\n{drawn}"


def check_header(app: ScriptedApp, name: str) -> None:
    """Every piece of the status line stands whole, and the ones that matter stand at every width."""
    pieces = looking.header_pieces(app)
    whole = {
        "prod-eu", "38 nodes", "200/276 GPUs busy", "4 low duty", "62 free", "10 lost", "4 joining",
        "duty 84%", "api 12 ms", "live", "ro", "rw",
    }  # fmt: skip
    heading = app.screen.heading if isinstance(app.screen, Place) else ""
    assert set(pieces) <= whole | ({heading} if heading else set()), f"{name}: {pieces}"
    assert {"prod-eu", "200/276 GPUs busy", "10 lost"} <= set(pieces), f"{name}: {pieces}"
    if app.size.width >= 120:
        assert (not heading or heading in pieces) and "62 free" in pieces, f"{name}: {pieces}"


def check_tabs(app: ScriptedApp, name: str, key: str) -> None:
    """The places stand on the second line with their counts, the one that this screen belongs to marked."""
    events = "Ev" if app.size.width < 100 else "Events"
    wanted = [
        "1 Now 4",
        "2 Jobs 1◔",
        "3 Nodes 2▲",
        "4 Queues",
        "5 Pools +2",
        f"6 {events}",
        "7 Pods",
        "8 Fleet",
    ]
    drawn = looking.lines(app)[1]
    assert re.split(r"\s{2,}", drawn.replace(CURRENT_GLYPH, "  ").strip()) == wanted, f"{name}: {drawn}"
    assert drawn.count(CURRENT_GLYPH) == 1 and f"{CURRENT_GLYPH}{key} " in drawn, f"{name}: {drawn}"


@pytest.mark.parametrize(
    ("size", "write"), [(SIZES[0], False), (SIZES[0], True), (SIZES[1], True), (SIZES[2], False)], ids=str
)
async def test_every_place_fits(size: tuple[int, int], write: bool) -> None:
    async with cockpit(size, write=write) as (app, pilot):
        for stop in STOPS:
            await go(app, pilot, stop)
            check_place(app, stop.name)
            check_header(app, stop.name)
            check_tabs(app, stop.name, stop.keys[0])
            wanted = (stop.useful_write if write else stop.useful).split("|")
            shown = looking.footer(app)
            assert set(wanted) <= set(shown), f"{stop.name}: {shown}"
            if write:
                continue
            assert not [entry for entry in shown if entry[:2].strip().isupper()], f"{stop.name}: {shown}"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_form_and_dialog_fits(size: tuple[int, int]) -> None:
    async with cockpit(size, write=True) as (app, pilot):
        for stop in FORMS:
            await go(app, pilot, stop)
            check_place(app, stop.name)
            check_header(app, stop.name)
            wanted = set(stop.useful_write.split("|")) - ({"f3 preview"} if size[0] >= 100 else set())
            assert wanted <= set(looking.footer(app)), f"{stop.name}: {looking.footer(app)}"
        for stop in DIALOGS:
            await go(app, pilot, stop)
            assert looking.size_fault(app) == "", stop.name
            box = app.screen.query_one(".dialog--box")
            inside = app.screen.region
            assert inside.contains_region(box.region), f"{stop.name} leaves the screen"
            drawn = looking.lines(app)
            frame = drawn[box.region.y][box.region.x : box.region.right]
            assert frame.startswith("╭") and frame.endswith("╮"), f"{stop.name}: {frame}"
            bottom = drawn[box.region.bottom - 1][box.region.x : box.region.right]
            assert bottom.startswith("╰") and bottom.endswith("╯"), f"{stop.name}: {bottom}"


def test_the_check_of_columns_can_fail() -> None:
    header = "  Job          GPUs  Why   "
    heads = looking.titles(header, ["Job", "GPUs", "Why"])
    job, gpus, why = heads

    def fault(line: str, head: looking.Title, text: str, align: str) -> str:
        return looking.cell_fault(looking.cells(line), head, Cell(text), align)

    good = "  llm-7b        8/8  need…  "
    assert not fault(good, job, "llm-7b", "left")
    assert not fault(good, gpus, "8/8", "right")
    assert not fault(good, why, "needs 8 GPUs", "left")
    assert fault("   llm-7b       8/8  needs", job, "llm-7b", "left")
    assert fault("  llm-7b       8/8   needs", gpus, "8/8", "right")
    assert fault("  llm-7b        8/8 needs ", why, "needs", "left")
    assert fault(good, why, "", "left") and fault(good, gpus, "", "right")
    assert fault(good, why, "waits for a node", "left")
    with pytest.raises(AssertionError, match="Why"):
        looking.titles("  Job          GPUs  Wh", ["Job", "GPUs", "Why"])


@pytest.mark.parametrize("width", [100, 120, 160, 200])
async def test_a_pending_job_says_why_with_most_of_the_room(width: int) -> None:
    async with cockpit((width, 30), write=False) as (app, pilot):
        await go(app, pilot, STOPS[1])
        (table,) = looking.shown_tables(app)
        header = looking.table_lines(app, table)[0]
        (why,) = looking.titles(header, ["Why"])
        room = width - why.start
        assert room >= (width // 3 if width < 160 else 80), header
        whole = "no node has label nvidia.com/gpu.family=blackwell"
        # whole in its cell, folded below it, or whole at the foot
        column = " ".join(line[why.start :].strip(" │") for line in looking.table_lines(app, table))
        assert whole in looking.flat(app) or whole in " ".join(column.split()), looking.text(app)


async def test_folding_back_and_forth_leaves_nothing_behind() -> None:
    async with cockpit((80, 24), write=False) as (app, pilot):
        before: dict[str, list[str]] = {}
        for stop in STOPS[:4]:
            await go(app, pilot, stop)
            before[stop.name] = looking.lines(app)
            await pilot.resize_terminal(200, 60)
            await settle(pilot)
            check_place(app, stop.name)
            await pilot.resize_terminal(80, 24)
            await settle(pilot)
            assert looking.lines(app) == before[stop.name], stop.name


async def test_the_fleet_takes_the_lines_it_needs() -> None:
    async with cockpit((120, 40), write=False) as (app, _):
        drawn = looking.lines(app)
        caption = next(at for at, line in enumerate(drawn) if "one cell per GPU" in line)
        panel = next(at for at, line in enumerate(drawn) if "─ Pools ─" in line)
        assert panel == caption + 2, "\n".join(drawn)
        last_pool = next(at for at, line in enumerate(drawn) if " l40s" in line and at < caption)
        assert caption == last_pool + 1


async def test_wide_characters_keep_the_columns() -> None:
    async with cockpit((120, 40), write=False) as (app, pilot):
        pods = list(app.attachment.store.records(Kind.POD).values())
        odd = [
            msgspec.structs.replace(pods[0], node="节点-七", owner_name="学習ジョブ", owner_kind=""),
            msgspec.structs.replace(pods[1], node="e\u0301\u0301\u0301-nœud", owner_name="👩\u200d🔬"),
        ]
        app.attachment.sink(Batch(kind=Kind.POD, changed=tuple(odd)))
        await go(app, pilot, Stop("pods", "7"))
        check_place(app, "pods")
        assert "节点-七" in looking.text(app)


class ManyPools(Estate):
    """Sixty pools of one node more than an estate has."""

    def __init__(self) -> None:
        super().__init__()
        for number in range(60):
            self._pool(f"extra-{number:02d}", 1, 8, "NVIDIA-L40S", 48, "l40s.large")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 45), (200, 60)])
@pytest.mark.parametrize("is_folded", [False, True])
async def test_what_needs_a_human_has_its_lines_beside_sixty_pools(
    size: tuple[int, int], is_folded: bool
) -> None:
    app = ScriptedApp(ManyPools())
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        if is_folded:
            await pilot.press("backslash")
            await settle(pilot)
        table = app.screen.query_one("#attention", ResourceTable)
        wanted = min(len(table.source), int(size[1] * (0.35 if is_folded else 0.15)))
        assert len(looking.table_lines(app, table)) >= wanted
        for panel in app.screen.query(Panel):
            assert panel.region.bottom < size[1], f"{panel.id} lies below the screen"
        if size[1] >= 40:
            assert re.search(r" \d+ of 63 ", "\n".join(looking.lines(app))), "what is not shown is counted"
