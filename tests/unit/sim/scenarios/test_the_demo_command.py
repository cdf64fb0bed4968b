"""`cockpit demo` without a terminal, its bad input, what it serves; and the clock that it runs by."""

import asyncio
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import msgspec
import pytest
import yaml

from cockpit import cli
from cockpit.clock import ManualClock
from cockpit.errors import BadInput
from cockpit.kube.resource import PODS
from cockpit.sim.clock import DemoClock
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.serve import Options, running, serve


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture(autouse=True)
def _at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "TMPDIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    # There is no terminal in a test, however it is run.
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def demo(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of one call."""
    code = cli.main(["demo", *arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


def told(error: str) -> str:
    """The one sentence on standard error."""
    (line,) = error.splitlines()
    assert line.startswith("cockpit: ")
    return line.removeprefix("cockpit: ")


def test_without_a_terminal_the_overview_is_printed_once(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, error = demo(capfd, "--scenario", "two-nodes", "--warm", "100")
    assert (code, error) == (0, "")
    assert "3 nodes, 3 with GPUs" in out
    assert "jobs: 3 running" in out
    assert not list((tmp_path / "TMPDIR").iterdir()), "nothing is left but the log"
    assert (tmp_path / "XDG_STATE_HOME" / "gpu-cockpit" / "demo.log").read_text() == ""


def test_the_list_names_every_scenario(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = demo(capfd, "--list")
    assert code == 0
    assert "pool-wave" in out and "A GPU pool of 1 grows to 2" in out


@pytest.mark.parametrize("how", [(), ("--serve",)])
def test_a_scenario_that_is_none(capfd: pytest.CaptureFixture[str], how: tuple[str, ...]) -> None:
    code, out, error = demo(capfd, "--scenario", "nonesuch", *how)
    assert (code, out) == (2, "")
    assert told(error).startswith("scenario 'nonesuch' is neither a file nor one of bad-day, ")


def test_a_scenario_with_an_error(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\ntitle: Mine\npools:\n  - name: a\n    gpu: 8\n")
    folder = tmp_path / "kept"
    code, out, error = demo(capfd, "--scenario", str(path), "--folder", str(folder))
    assert (code, out) == (2, "")
    assert told(error) == f"{path}, line 5, pools[0].gpu: no such field."
    assert not folder.exists(), "nothing was started"


@pytest.mark.parametrize("how", [(), ("--serve",)])
def test_a_port_in_use(capfd: pytest.CaptureFixture[str], taken: int, how: tuple[str, ...]) -> None:
    code, out, error = demo(capfd, "--port", str(taken), *how)
    assert (code, out) == (2, "")
    assert told(error).startswith(f"Port {taken} on 127.0.0.1 cannot be used: Address already in use")


def test_a_folder_that_cannot_be_written(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "below"
    code, out, error = demo(capfd, "--folder", str(folder))
    assert (code, out) == (2, "")
    assert told(error) == f"The folder {folder} cannot be written: Not a directory; give one that can."


@pytest.mark.parametrize(
    "arguments", [("--speed", "0"), ("--speed", "fast"), ("--warm", "-1"), ("--seed", "x"), ("--port", "no")]
)
def test_a_number_that_is_none(capfd: pytest.CaptureFixture[str], arguments: tuple[str, str]) -> None:
    try:
        code, out, error = demo(capfd, *arguments)
    except SystemExit as ended:  # as argparse ends
        said = capfd.readouterr()
        code, out, error = int(str(ended.code)), said.out, said.err
    assert (code, out) == (2, "")
    assert arguments[0] in told(error) and repr(arguments[1]) in error


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_served_cluster_says_where_it_is_and_ends_with_a_signal(tmp_path: Path, number: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "cockpit", "demo", "--serve", "--scenario", "two-nodes"],
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    try:
        assert child.stdout is not None
        line = child.stdout.readline().decode()
        assert line.startswith("KUBECONFIG=")
        kubeconfig = Path(line.removeprefix("KUBECONFIG=").strip())
        assert kubeconfig.is_file() and kubeconfig.stat().st_mode & 0o077 == 0
        child.send_signal(number)
        assert child.wait(10) in (0, 128 + number)
        assert not kubeconfig.parent.exists()
    finally:
        child.kill()
        child.wait()


# ---- the cluster in one process


async def test_running_steps_the_warm_up_first_and_lives_on(tmp_path: Path) -> None:
    options = Options(scenario="two-nodes", warm_seconds=100, speed=300)
    async with running(load(find("two-nodes")), tmp_path, options) as (embedded, cluster):
        at_first = await embedded.port().list(PODS, "team-a")
        assert [pod["status"]["phase"] for pod in at_first] == ["Running"] * 3, "the story was told by then"
        began = cluster.clock.now()
        lines = [msgspec.json.decode(line) for line in (tmp_path / "truth.jsonl").read_bytes().splitlines()]
        assert [line["at_seconds"] for line in lines] == [0, 6, 60, 90]
        told = asyncio.Event()
        cluster.operations.storage.listen(PODS, lambda _: told.set())
        await asyncio.wait_for(told.wait(), 60)  # the jobs end after twenty minutes, 4 s of the wall
        assert cluster.clock.now() > began + 60
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", int(embedded.url.rpartition(":")[2]))


async def test_the_exporters_are_targets_for_a_prometheus(tmp_path: Path) -> None:
    options = Options(scenario="shared-and-mig", warm_seconds=30)
    async with running(load(find("shared-and-mig")), tmp_path, options), aiohttp.ClientSession() as http:
        config = yaml.safe_load((tmp_path / "prometheus.yaml").read_text())
        ((discovery,),) = [one["http_sd_configs"] for one in config["scrape_configs"]]
        async with http.get(discovery["url"]) as answer:
            targets = await answer.json()
        assert [one["labels"]["instance"] for one in targets] == [
            "mig-0:9400", "mig-1:9400", "shared-0:9400", "whole-0:9400",
        ]  # fmt: skip
        for one in targets:
            async with http.get(f"http://{one['targets'][0]}{one['labels']['__metrics_path__']}") as answer:
                assert "DCGM_FI_" in await answer.text()


async def test_what_the_server_refuses_at_the_start_is_told(tmp_path: Path) -> None:
    scenario = load(find("two-nodes"))
    (pool,) = scenario.pools
    # A name that only the server's own rules refuse.
    broken = msgspec.structs.replace(scenario, pools=(msgspec.structs.replace(pool, name="a..b"),))
    with pytest.raises(BadInput, match=r"scenario two-nodes: Node 'a\.\.b-0' is refused: .* is invalid"):
        async with running(broken, tmp_path, Options()):
            raise AssertionError("it must not start")


async def test_serve_leaves_a_folder_that_was_given(tmp_path: Path) -> None:
    out = io.StringIO()
    folder = tmp_path / "kept"
    task = asyncio.create_task(serve(Options(scenario="two-nodes", folder=folder), out))
    while "KUBECONFIG=" not in out.getvalue():
        await asyncio.wait({task}, timeout=0.05)
        assert not task.done()
    os.kill(os.getpid(), signal.SIGTERM)
    await task
    assert (folder / "kubeconfig").is_file() and (folder / "truth.jsonl").is_file()


# ---- the clock


def test_the_demo_clock_stands_until_it_is_released_and_then_runs_as_fast_as_asked() -> None:
    wall = ManualClock()
    clock = DemoClock(warm_seconds=60, wall=wall)
    assert clock.now() == wall.now() - 60
    wall.advance(5)
    assert clock.now() == wall.now() - 65, "it is stepped, whatever the wall does"
    before = clock.monotonic()
    clock.advance(60)
    assert clock.monotonic() == before + 60
    clock.release(10)
    at = clock.now()
    wall.advance(3)
    assert clock.now() == at + 30 and clock.speed == 10
    assert clock.monotonic() == before + 90


@pytest.mark.parametrize("speed", [0, -1])
def test_a_speed_that_is_none(speed: float) -> None:
    with pytest.raises(ValueError, match="not above 0"):
        DemoClock().release(speed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_that_hits_a_class_being_made_is_that_end(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python before 3.12 makes a RuntimeError of what `__set_name__` raises."""

    class Within:
        def __set_name__(self, owner: type, name: str) -> None:
            signal.raise_signal(number)

    monkeypatch.setattr("cockpit.sim.serve.remove_leftovers", lambda: type("Made", (), {"one": Within()}))
    with pytest.raises(SystemExit) as ended:
        asyncio.run(serve(Options("two-nodes"), io.StringIO()))
    assert ended.value.code == 128 + number
