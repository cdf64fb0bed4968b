"""GPU numbers from the exporters to the eye: exposition, Prometheus, the API server's proxy, cockpit."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGSTOP
from typing import Any

import pytest

from tests.bed.bed import Bed
from tests.bed.estate import Estate, mpi_job
from tests.bed.exposition import MEMORY_MIB
from tests.bed.fixtures import bed_full
from tests.tui.on_the_bed import (
    GPUS_EACH,
    NODES,
    AheadClock,
    Exposition,
    Headless,
    Shell,
    Truth,
    estate,
    headless_app,
    readings,
    size,
    until,
)
from tests.tui.terminal import Terminal, line_with

__all__ = ["bed_full"]
pytestmark = pytest.mark.real

JOBS = "/apis/kubeflow.org/v2beta1/namespaces/team-b/mpijobs"
WIDE, NARROW = "wide", "narrow"
SIZE = (200, 60)
_DRAWN = frozenset("▁▂▃▄▅▆▇█_·")


# ---- what a GPU must read, worked out from what its exporter said


def devices(lines: list[str]) -> dict[int, tuple[str, ...]]:
    """Index -> words of the rows of a node page: model, duty, memory, temperature, power, clock, ..."""
    found = {}
    for line in lines:
        words = line.lstrip(" ▌│").split()
        if len(words) > 6 and words[0].isdecimal() and words[1].startswith("H100"):
            # The line of the last minutes is drawn, not written.
            found[int(words[0])] = tuple(word for word in words[1:] if not set(word) <= _DRAWN)
    return found


def numbers(lines: list[str]) -> dict[int, tuple[str, ...]]:
    """Index -> duty, memory, temperature and power on a node page."""
    return {index: words[1:5] for index, words in devices(lines).items()}


def like(wanted: Mapping[int, tuple[str, ...]]) -> Callable[[list[str]], bool | None]:
    """True for a node page that shows exactly these."""
    return lambda lines: True if numbers(lines) == wanted else None


# ---- the estate: 40 nodes, a gang on whole nodes and one on parts of them


@pytest.fixture(scope="module")
def fleet(bed_full: Bed) -> Iterator[Bed]:
    api, truth = bed_full.api(), Exposition(bed_full)
    estate(bed_full)
    api.create(JOBS, mpi_job(WIDE, workers=9, gpus_each=8, namespace="team-b", queue=""))
    api.create(JOBS, mpi_job(NARROW, workers=4, gpus_each=2, namespace="team-b", queue=""))

    def held() -> bool | None:
        said = truth.expected().values()
        ours = [one for one in said if (one["holder"] or {}).get("namespace") == "team-b"]
        return True if len(ours) == 9 * 8 + 4 * 2 and len(said) >= NODES * GPUS_EACH else None

    until("the exporters speak of every GPU and of both gangs", held)
    yield bed_full
    for name in (WIDE, NARROW):
        api.delete(f"{JOBS}/{name}")


@pytest.fixture
def truth(fleet: Bed) -> Iterator[Exposition]:
    """The exposition; whatever a test asked of it is undone."""
    found = Exposition(fleet)
    yield found
    every = found.expected().values()
    found.tell(
        tick=0, speak=[[one["node"], one["gpu"]] for one in every], start=[one["node"] for one in every]
    )


@pytest.fixture
def shell(fleet: Bed, tmp_path: Path) -> Shell:
    return Shell(fleet.kubeconfig, tmp_path)


@asynccontextmanager
async def opened(bed: Bed, clock: AheadClock | None = None, **more: str) -> AsyncIterator[Headless]:
    """The app attached to the bed, with readings."""
    app = headless_app(bed.kubeconfig, clock, **more)
    async with app.run_test(size=SIZE) as pilot:
        headless = Headless(app, pilot)
        await headless.until_text("GPUs busy", "live · ro", without=("duty n/c",))
        yield headless


async def open_node(app: Headless, name: str) -> None:
    """Its page, by place, filter and enter."""
    await app.press("3", "slash", *name, "enter")
    await app.until(f"one row: {name}", lambda lines: True if rows_of_nodes(lines) == [name] else None)
    await app.press("enter")
    await app.until_text("Pods on this node", name)


async def leave_node(app: Headless) -> None:
    await app.press("escape")
    await app.until_text("GPU model", without=("Pods on this node",))


def rows_of_nodes(lines: list[str]) -> list[str]:
    words = [line.lstrip(" ▌│").split() for line in lines]
    return [one[0] for one in words if one and one[0].startswith(("gpu-", "mute-"))]


# ---- every number


async def test_every_gpu_on_the_node_pages_reads_what_its_exporter_said(
    fleet: Bed, truth: Exposition
) -> None:
    truth.tell(tick=1)
    every = truth.expected()
    seen = 0
    async with opened(fleet) as app:
        await app.press("3", "slash", *"gpu-", "enter")
        await app.until_text("gpu-000", "gpu-039")
        for number in range(NODES):
            name = f"gpu-{number:03d}"
            await app.press("enter")
            wanted = {one["gpu"]: readings(one) for one in every.values() if one["node"] == name}
            await app.until_text(f"{name}", "Pods on this node")
            await app.until(f"the readings of {name}: {wanted}", like(wanted))
            seen += len(wanted)
            await app.press("escape")
            await app.until_text("GPU model", without=("Pods on this node",))
            await app.press("down")
    assert seen == NODES * GPUS_EACH


def test_every_gpu_on_the_command_line_reads_what_its_exporter_said(
    fleet: Bed, truth: Exposition, shell: Shell
) -> None:
    truth.tell(tick=2)
    every = truth.expected()

    def exact() -> list[dict[str, Any]] | None:
        found = shell.items("gpus")
        shown = {one["uuid"]: one for one in found}
        return found if {uuid: numbers_of(one) for uuid, one in shown.items()} == wanted else None

    wanted = {uuid: said_by(one) for uuid, one in every.items()}
    assert len(until("the JSON rows are what was said", exact)) == len(every) >= NODES * GPUS_EACH

    done = shell.run("get", "gpus")
    assert done.returncode == 0
    assert done.stderr == ""
    rows = {line.split()[-1]: line.split() for line in done.stdout.splitlines()[1:]}
    assert set(rows) == set(every)
    for uuid, one in every.items():
        words = rows[uuid]
        assert (words[0], words[1], tuple(words[3:7])) == (one["node"], str(one["gpu"]), readings(one)), words


def numbers_of(item: Truth) -> tuple[object, ...]:
    return (
        item["node"],
        item["index"],
        item["duty_ratio"],
        item["memory_used_bytes"],
        item["memory_total_bytes"],
        item["temperature_celsius"],
        item["power_watts"],
        item["pod_name"],
        item["mark"],
    )


def said_by(truth: Truth) -> tuple[object, ...]:
    holder = truth["holder"] or {}
    return (
        truth["node"],
        truth["gpu"],
        truth["duty_percent"] / 100,
        truth["used_mib"] * 2**20,
        MEMORY_MIB * 2**20,
        truth["temperature_celsius"],
        truth["power_watts"],
        holder.get("pod", ""),
        "sure" if holder else "free",
    )


def test_a_gang_shows_devices_and_numbers_of_each_member(
    fleet: Bed, truth: Exposition, tmp_path: Path
) -> None:
    with Terminal(tmp_path, [], {"KUBECONFIG": str(fleet.kubeconfig)}, size=SIZE) as terminal:
        terminal.until("live · ro", "GPUs busy")
        terminal.keys("2")
        terminal.until("Why", "State")
        terminal.find(NARROW)
        terminal.until(f"team-b/{NARROW}", without=(f"team-b/{WIDE}",))
        terminal.keys("Enter")
        terminal.until("Members by rank", "● running", "8/8 allocated")
        for tick in (3, 4):
            truth.tell(tick=tick)
            for rank in range(4):
                cards = cards_of(truth, f"{NARROW}-worker-{rank}")
                assert len(cards) == 2
                line = terminal.until_line(member_words(cards), f"worker {rank}", f"{NARROW}-worker-{rank}")
                duty = sum(one["duty_percent"] for one in cards) / len(cards)
                assert abs(int(line.partition("%")[0].split()[-1]) - duty) <= 0.5, line


def cards_of(truth: Exposition, pod: str) -> list[Truth]:
    found = [one for one in truth.expected().values() if (one["holder"] or {}).get("pod") == pod]
    return sorted(found, key=lambda one: int(one["gpu"]))


def member_words(cards: list[Truth]) -> tuple[str, ...]:
    """Node, devices, memory, hottest and power of a member; both devices stand side by side."""
    first, last = (int(cards[at]["gpu"]) for at in (0, -1))
    assert last - first == len(cards) - 1
    used, count = sum(one["used_mib"] for one in cards), len(cards)
    return (
        cards[0]["node"],
        f" {first}-{last} ",
        f" {size(used)}/{size(count * MEMORY_MIB)} ",
        f" {max(one['temperature_celsius'] for one in cards)}°C ",
        f" {sum(one['power_watts'] for one in cards):.0f}W ",
    )


# ---- silence is a word, never a zero


async def test_a_gpu_that_stops_reporting_reads_stale_and_comes_back(fleet: Bed, truth: Exposition) -> None:
    held = cards_of(truth, f"{WIDE}-worker-0")[3]
    free = next(one for one in truth.expected().values() if one["holder"] is None)
    async with opened(fleet) as app:
        busy = header_number(app.lines()[0], "GPUs busy")
        for one in (held, free):
            await open_node(app, one["node"])
            wanted = {index: readings(card) for index, card in truth.of(one["node"]).items()}
            await app.until(f"{one['node']} reads {wanted}", like(wanted))
            truth.tell(silence=[[one["node"], one["gpu"]]])
            silent = {**wanted, one["gpu"]: ("stale",) * 4}
            await app.until(f"{one['node']} reads {silent}", like(silent))
            row = devices(app.lines())[one["gpu"]]
            assert not any(word.startswith("0") for word in row[:6]), row
            await leave_node(app)
        await app.press("slash", "escape", "1")
        seen = await app.until_text(f"node {held['node']}", f"node {free['node']}")
        for one in (held, free):
            assert line_with(seen, f"node {one['node']}", "1 GPU stopped reporting"), seen
        # the held one is neither busy nor idle, and its owner is still known
        assert header_number(app.lines()[0], "GPUs busy") == busy - 1
        assert "1 allocated, duty n/c" in app.lines()[0]
        assert map_cells(app.lines()).count("~") == 2

        truth.tell(speak=[[one["node"], one["gpu"]] for one in (held, free)])
        await app.until("no cell is stale", lambda lines: None if "~" in map_cells(lines) else True)
        await app.until_text("GPUs busy", without=("duty n/c",))
        rows = [f"node {one['node']}" for one in (held, free)]

        def resolved(lines: list[str]) -> bool | None:
            return all(line_with("\n".join(lines), row, "✓") for row in rows) or None

        # a silent card is called resolved once it has spoken for a minute
        await app.until("both are resolved", resolved, seconds=180.0)
        assert header_number(app.lines()[0], "GPUs busy") == busy


def header_number(line: str, words: str) -> int:
    """The number in front of the words, `72/320 GPUs busy` is 72."""
    before = line.partition(words)[0].split()[-1]
    return int(before.partition("/")[0].replace(",", ""))


def map_cells(lines: list[str]) -> str:
    """The glyphs of the fleet, without its caption."""
    start = next(at for at, line in enumerate(lines) if "Fleet by" in line)
    end = next(at for at, line in enumerate(lines) if "one cell per GPU" in line)
    return "".join(lines[start + 1 : end])


async def test_an_exporter_that_never_spoke_is_not_collected(fleet: Bed, truth: Exposition) -> None:
    truth.tell(stop=["mute-000"])
    Estate(fleet.api()).nodes(1, prefix="mute", pool="mute")
    try:
        async with opened(fleet) as app:
            await open_node(app, "mute-000")
            mute = dict.fromkeys(range(GPUS_EACH), ("n/c",) * 4)
            await app.until("nothing is collected of mute-000", like(mute))
            seen = await app.until_text("duty n/c", "hottest n/c", "power n/c")
            assert "0%" not in seen
            truth.tell(start=["mute-000"])
            wanted = {index: readings(card) for index, card in truth.of("mute-000").items()}
            await app.until(f"mute-000 reads {wanted}", like(wanted))
            truth.tell(stop=["mute-000"])
            stale = dict.fromkeys(range(GPUS_EACH), ("stale",) * 4)
            await app.until("the whole node is stale", like(stale))
            await app.until_text("duty stale", "hottest stale", "power stale")

            # a node that leaves takes its cards with it
            fleet.api().delete("/api/v1/nodes/mute-000")
            await app.until_text("not in the cluster")
            await app.until("its cards are gone", lambda _: None if known_cards(app, "mute-000") else True)
    finally:
        fleet.api().delete("/api/v1/nodes/mute-000")
        truth.tell(start=["mute-000"])


def known_cards(app: Headless, node: str) -> int:
    return len(app.app.attachment.store.gpus_on(node))


# ---- Prometheus itself


async def test_without_prometheus_numbers_grow_old_and_come_back(fleet: Bed, truth: Exposition) -> None:
    clock = AheadClock()
    name = cards_of(truth, f"{WIDE}-worker-0")[0]["node"]
    wanted = {index: readings(card) for index, card in truth.of(name).items()}
    async with opened(fleet, clock) as app:
        await open_node(app, name)
        await app.until(f"{name} reads {wanted}", like(wanted))
        fleet.signal("prometheus", SIGKILL)
        try:
            seen = await app.until_text(
                "gpus backing off, last update", "Prometheus at monitoring/prometheus"
            )
            assert numbers(seen.splitlines()) == wanted, "a missing answer makes no number old at once"
            clock.advance(100.0)
            stale = dict.fromkeys(range(GPUS_EACH), ("stale",) * 4)
            await app.until("old numbers are stale", like(stale))
            await app.press("1")
            seen = await app.until_text(
                "GPUs allocated", "duty stale", "Fleet by duty", "Prometheus at monitoring"
            )
            assert "GPUs busy" not in seen
            assert " 0 low duty " not in seen
        finally:
            fleet.restart("prometheus")
        await app.until_text("GPUs busy", without=("backing off", "duty stale"), seconds=90.0)
        await open_node(app, name)
        await app.until(f"{name} reads {wanted} again", like(wanted))


def test_a_prometheus_that_hangs_is_told_on_the_screen(fleet: Bed, truth: Exposition, tmp_path: Path) -> None:
    with Terminal(tmp_path, [], {"KUBECONFIG": str(fleet.kubeconfig)}, size=SIZE) as terminal:
        terminal.until("live · ro", "GPUs busy")
        fleet.signal("prometheus", SIGSTOP)
        try:
            # asked every 30 s, given up after 20
            wanted = ("gpus backing off, last update", "Prometheus at monitoring/prometheus")
            terminal.until(*wanted, seconds=120.0)
        finally:
            fleet.signal("prometheus", SIGCONT)
        terminal.until("live · ro", "GPUs busy", without=("backing off", "Prometheus at "))
        # and the numbers behind it are those of now
        truth.tell(tick=5)
        name = cards_of(truth, f"{NARROW}-worker-0")[0]["node"]
        terminal.keys("3")
        terminal.until("GPU model")
        terminal.find(name)
        terminal.until(name, without=("gpu-000" if name != "gpu-000" else "gpu-001",))
        terminal.keys("Enter")
        said = {index: readings(card) for index, card in truth.of(name).items()}
        until(
            f"{name} reads {said}",
            lambda: True if numbers(terminal.screen().splitlines()) == said else None,
        )


@pytest.mark.parametrize("way", ["url", "service"])
def test_a_prometheus_that_is_named(fleet: Bed, truth: Exposition, shell: Shell, way: str) -> None:
    name = fleet.prometheus_url if way == "url" else "monitoring/prometheus:9090"
    wanted = {uuid: said_by(one) for uuid, one in truth.expected().items()}

    def exact() -> bool | None:
        found = {one["uuid"]: numbers_of(one) for one in shell.items("gpus", "--prometheus-url", name)}
        return True if found == wanted else None

    until(f"the rows by way of {name} are what was said", exact)


def test_a_viewer_reads_them_through_the_proxy_too(fleet: Bed, truth: Exposition, shell: Shell) -> None:
    wanted = {uuid: said_by(one) for uuid, one in truth.expected().items()}
    found = {one["uuid"]: numbers_of(one) for one in shell.items("gpus", "--context", "viewer")}
    assert found == wanted
