"""`cockpit triage --watch` sends what changes, over restarts, and shows it as metrics."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cockpit.attach import AttachOptions
from cockpit.cli import build_parser
from cockpit.clock import ManualClock
from cockpit.commands import triage
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.test_commands import Capture
from tests.unit.notify.webhook import Server


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


class EnoughSeen(Exception):
    """Ends the watching."""


async def watched(words: list[str], until: Callable[[], bool], now_seconds: float) -> None:
    options = build_parser().parse_args(["triage", "--watch", "-o", "json", *words])

    async def sleep(_seconds: float) -> None:
        for _turn in range(5_000):
            if until():
                raise EnoughSeen
            await asyncio.sleep(0.001)
        raise AssertionError("it never came to be")

    with pytest.raises(EnoughSeen):
        await triage.watch(options, AttachOptions(), ManualClock(now_seconds), sleep)


async def test_a_finding_is_sent_when_it_comes_and_when_it_is_gone_after_a_restart(
    waiting: Cluster, server: Server, home: Path, capsys: Capture
) -> None:
    (home / "url").write_text(f"{server.url}/s3cret\n")
    words = ["--to-slack", f"@{home / 'url'}", "--metrics-file", str(home / "out.prom")]
    for _restart in range(2):
        await watched(words, lambda: len(server.got) >= 1, 1_790_000_100.0)
    texts = [body["text"] for _, _, body, _ in server.got]
    assert len(texts) == 1 and "new in prod" in texts[0] and "big" in texts[0]
    assert "gpu_cockpit_findings{" in (home / "out.prom").read_text()
    waiting.records[Kind.POD].clear()
    await watched(words, lambda: len(server.got) >= 2, 1_790_000_200.0)
    assert "resolved in prod" in server.got[1][2]["text"]
    (kept,) = (home / "state" / "gpu-cockpit" / "findings").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    out, err = capsys.readouterr()
    assert "s3cret" not in out + err + kept.read_text()


async def test_without_a_receiver_nothing_is_kept(waiting: Cluster, home: Path) -> None:
    await watched([], lambda: True, 1_790_000_100.0)
    assert not (home / "state" / "gpu-cockpit" / "findings").exists()


def test_the_configuration_names_receivers_too(waiting: Cluster, home: Path, capsys: Capture) -> None:
    config = home / "config" / "gpu-cockpit" / "config.toml"
    config.write_text('[findings]\nmetrics-listen = "http"\n')
    code, _out, err = run(capsys, "triage", "--watch")
    assert code == 2 and "metrics-listen: 'http' is no PORT and no HOST:PORT" in err
