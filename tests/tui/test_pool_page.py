"""The page of a pool on a screen: its ladder, who waits, and the key of a log that is not there."""

import asyncio
import getpass
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from cockpit.actions.pool_lease import micro_time
from cockpit.clock import ManualClock
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.screens.detail_side import REST_SECONDS
from cockpit.screens.pool import PoolScreen
from tests.tui import looking
from tests.tui.deck import settle
from tests.tui.estate import NOW
from tests.tui.pools_estate import ASKED, FailingEstate, PoolsApp, PoolsEstate
from tests.unit.actions.builders import Lines

PATIENCE_SECONDS = 60.0


async def open_page(pilot: Any, app: PoolsApp) -> str:
    for key in ("5", "slash", *"b200", "enter", "enter"):
        await pilot.press(key)
        await settle(pilot)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while "HPA" not in looking.text(app):
            await pilot.pause(0.05)
    return looking.text(app)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=str)
async def test_a_growth_half_way_is_told_with_what_is_usual(size: tuple[int, int]) -> None:
    app = PoolsApp(PoolsEstate())
    async with app.run_test(size=size) as pilot:
        drawn = await open_page(pilot, app)
        for said in (
            "accepted 14:05:41",
            "joined 1/2",
            "usually",
            "GPU driver is being installed",
            "gpu-b200-02",
        ):
            assert said in drawn, f"{said}\n{drawn}"
        assert looking.size_fault(app) == ""


async def test_the_detail_of_a_pool_is_the_top_of_its_page() -> None:
    app = PoolsApp(PoolsEstate())
    async with app.run_test(size=(200, 60)) as pilot:
        assert isinstance(app.clock, ManualClock)
        await pilot.press("5", "slash", *"a100", "enter")
        app.clock.advance(REST_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "─ pool a100 ─" not in looking.text(app):
                await pilot.pause(0.05)
        drawn = looking.text(app)
        assert "owner Cluster API MachineDeployment fleet/a100" in drawn
        await pilot.press("slash", *(["backspace"] * 4), *"b200", "enter")
        app.clock.advance(REST_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "demand 35 " not in looking.text(app):
                await pilot.pause(0.05)
        drawn = looking.text(app)
        assert "─ pool b200 ─" in drawn and "─ pool a100 ─" not in drawn
        for said in ("accepted 14:05:41", "GPU driver is being installed", "size 16 ", "breaks team-d"):
            assert said in drawn, f"{said}\n{drawn}"
        assert looking.size_fault(app) == ""
        await pilot.press("slash", *"-nothing-like-it")
        await settle(pilot)
        assert "owner Karpenter" not in looking.text(app), "of no row nothing is told"


async def test_a_low_screen_keeps_its_lines_for_the_pools() -> None:
    app = PoolsApp(PoolsEstate())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        await settle(pilot)
        assert "b200" in looking.text(app) and "pool a100" not in looking.text(app)


async def test_a_failed_machine_and_a_log_that_is_nowhere_say_so() -> None:
    app = PoolsApp(FailingEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        drawn = await open_page(pilot, app)
        assert "✗" in drawn and "no pod of Karpenter runs in this cluster" in drawn
        before = len(app.screen_stack)
        await pilot.press("l")
        await settle(pilot)
        assert len(app.screen_stack) == before, "a barred key opens nothing"
        assert "no pod of Karpenter" in " ".join(one.message for one in app._notifications)


def lease_of(holder: str, to: int, taken: float = ASKED) -> dict[str, Any]:
    """The Lease of a growth from 2 nodes, in force."""
    notes = {"gpu-cockpit/from-nodes": "2", "gpu-cockpit/to-nodes": str(to)}
    spec = {
        "holderIdentity": holder,
        "leaseDurationSeconds": 600,
        "acquireTime": micro_time(taken),
        "renewTime": micro_time(NOW - 60),
    }
    return {"metadata": {"uid": "u", "annotations": notes}, "spec": spec}


class HeldApp(PoolsApp):
    """The pool is held for its growth from 2 to 4, by whom `holder` says; what is sent is kept."""

    def __init__(self, holder: str, *, to: int = 4, write: bool = False, taken: float = ASKED) -> None:
        super().__init__(PoolsEstate(), write=write)
        self.sent: list[Any] = []
        lease = lease_of(holder, to, taken)
        session: Any = self.attachment.session
        before = session.request

        async def answer(method: str = "", path: str = "", *more: Any, **named: Any) -> SimpleNamespace:
            if "/leases/gpu-cockpit-b200-" in path and method == "GET":
                return SimpleNamespace(status=200, json=lambda: lease)
            found: SimpleNamespace = await before(method, path, *more, **named)
            return found

        session.request = answer

    def told(self) -> str:
        return " ".join(one.message for one in self._notifications)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=str)
async def test_whoever_changes_the_pool_is_named_and_dates_the_growth(size: tuple[int, int]) -> None:
    app = HeldApp("alice@bastion")
    async with app.run_test(size=size) as pilot:
        drawn = await open_page(pilot, app)
        assert "alice@bastion is growing it from 2 to 4 nodes since 14:05:40" in " ".join(drawn.split()), (
            drawn
        )
        assert "asked 14:05:40" in drawn


async def test_a_page_looks_at_its_age_and_reads_once_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    set_up: list[str] = []
    before = PoolScreen.set_interval

    def counted(self: Any, seconds: float, callback: Any, **more: Any) -> Any:
        set_up.append(callback.__name__)
        return before(self, seconds, callback, **more)

    monkeypatch.setattr(PoolScreen, "set_interval", counted)
    app = PoolsApp(PoolsEstate())
    async with app.run_test(size=(120, 40)) as pilot:
        await open_page(pilot, app)
    assert [set_up.count(one) for one in ("_read", "_tick")] == [1, 1]


def resize(app: PoolsApp, replicas: int) -> None:
    store: Any = app.attachment.store
    (pool,) = (one for one in store.records(Kind.POOL).values() if one.name == "b200")
    store.apply(Batch(kind=Kind.POOL, changed=(replace(pool, replicas=replicas),)))
    app.redraw()


class SlowLeaseApp(PoolsApp):
    """Each reading of the pool's Lease waits until the test answers it: with a Lease, or with none."""

    def __init__(self) -> None:
        super().__init__(PoolsEstate())
        self.readings: list[asyncio.Future[dict[str, Any] | None]] = []
        session: Any = self.attachment.session
        before = session.request

        async def answer(method: str = "", path: str = "", *more: Any, **named: Any) -> SimpleNamespace:
            if "/leases/gpu-cockpit-b200-" in path and method == "GET":
                self.readings.append(asyncio.get_running_loop().create_future())
                tree = await self.readings[-1]
                return SimpleNamespace(status=404 if tree is None else 200, json=lambda: tree)
            found: SimpleNamespace = await before(method, path, *more, **named)
            return found

        session.request = answer

    async def until_read(self, pilot: Any, times: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.readings) < times:
                await pilot.pause(0.05)
        await settle(pilot)

    def says_that_it_reads(self) -> bool:
        drawn = looking.text(self)
        return (
            "asked … ──" in drawn and "who asked for it is being read" in drawn and "no cockpit" not in drawn
        )


async def test_who_asked_is_said_only_by_a_lease_that_was_read_since() -> None:
    app = SlowLeaseApp()
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("5", "slash", *"b200", "enter", "enter"):
            await pilot.press(key)
            await settle(pilot)
        await app.until_read(pilot, 1)
        assert app.says_that_it_reads(), looking.text(app)
        app.readings[0].set_result(None)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "asked for by no cockpit" not in looking.text(app):
                await pilot.pause(0.05)
        assert "asked ? ──" in looking.text(app)

        resize(app, 5)
        await app.until_read(pilot, 2)
        assert app.says_that_it_reads(), looking.text(app)
        resize(app, 6)
        await app.until_read(pilot, 3)
        app.readings[1].set_result(None)
        await settle(pilot)
        assert app.says_that_it_reads(), "that reading began before the size was seen to change"
        app.readings[2].set_result(lease_of("alice@bastion", 6))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "asked 14:05:40" not in looking.text(app):
                await pilot.pause(0.05)
        drawn = looking.flat(app)
        assert "alice@bastion is growing it from 2 to 6 nodes since 14:05:40" in drawn

        for one in app.readings[3:]:
            one.set_result(None)


async def test_a_reading_that_is_overtaken_is_not_told() -> None:
    app = SlowLeaseApp()
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("5", "slash", *"b200", "enter", "enter"):
            await pilot.press(key)
            await settle(pilot)
        await app.until_read(pilot, 1)
        resize(app, 5)
        await app.until_read(pilot, 2)
        app.readings[1].set_result(lease_of("alice@bastion", 5))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "asked 14:05:40" not in looking.text(app):
                await pilot.pause(0.05)
        app.readings[0].set_result(None)
        await settle(pilot)
        assert "asked 14:05:40" in looking.text(app), looking.text(app)


async def test_beneath_the_pools_nothing_is_said_of_who_asked() -> None:
    app = HeldApp("alice@bastion")
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("5", "slash", *"b200", "enter")
        assert isinstance(app.clock, ManualClock)
        app.clock.advance(REST_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "─ pool b200 ─" not in looking.text(app):
                await pilot.pause(0.05)
        drawn = looking.text(app)
        assert "by whom is not known: that is read on the page of the pool" in drawn, drawn
        assert "asked ? ──" in drawn and "no cockpit" not in drawn


async def test_a_change_by_command_is_dated_at_once_while_the_page_is_open() -> None:
    app = HeldApp("alice@bastion", to=5)
    async with app.run_test(size=(120, 40)) as pilot:
        drawn = await open_page(pilot, app)
        assert "asked ?" in drawn, "the size that it has is not theirs"
        resize(app, 5)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "asked 14:05:40" not in looking.text(app):
                await pilot.pause(0.05)
        assert "alice@bastion is growing it from 2 to 5 nodes since 14:05:40" in " ".join(
            looking.text(app).split()
        )


async def taken_up(app: HeldApp, monkeypatch: pytest.MonkeyPatch, writes: int = 0) -> list[str]:
    """Look twice for changes of before; the operations that were sent for their holds, so many at least."""
    sent: list[str] = []

    async def perform(_session: Any, call: Any, *, dry_run: bool = False) -> None:
        assert not dry_run
        sent.append(call.body[-1]["path"])

    monkeypatch.setattr("cockpit.kube.calls.perform", perform)
    monkeypatch.setattr(app, "audit", Lines)
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(2):
            app.pool_changes.look()
            for one in [one for one in app.workers if one.name == "changes"]:
                await one.wait()
            await settle(pilot)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(sent) < writes:
                await pilot.pause(0.05)
    return sent


ME = f"{getpass.getuser()}@{socket.gethostname()}"


async def test_a_change_of_before_is_followed_again_renewed_and_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = HeldApp(ME, write=True)
    assert await taken_up(app, monkeypatch, 1) == ["/spec/renewTime"]
    assert app.told().count("from 2 to 4 nodes goes on: it is followed again") == 1


async def test_one_that_is_not_in_force_any_more_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    app = HeldApp(ME, to=6, write=True)
    assert await taken_up(app, monkeypatch, 1) == ["/spec/leaseDurationSeconds"]
    assert "from 2 to 6 nodes is not in force, it is set to 4" in app.told()


async def test_one_that_another_terminal_is_about_to_write_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A shrink takes the Lease, cordons, and waits before it writes the size."""
    app = HeldApp(ME, to=3, write=True, taken=NOW - 20)
    assert await taken_up(app, monkeypatch) == []
    assert "from 2 to 3" not in app.told()


@pytest.mark.parametrize(("holder", "write"), [(ME, False), ("alice@bastion", True)])
async def test_read_only_and_for_the_change_of_another_nothing_is_written(
    holder: str, write: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = HeldApp(holder, write=write)
    assert await taken_up(app, monkeypatch) == []
    assert "followed" not in app.told()
