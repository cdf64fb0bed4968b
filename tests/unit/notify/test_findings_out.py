"""Changes of findings reach their receivers once each: over failing, slow and dying servers, and kill -9."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from cockpit.cli import build_parser
from cockpit.commands.findings_out import FindingsOut, address, receivers_of, targets
from cockpit.errors import BadInput
from cockpit.local_state.config import FindingTargets, Settings, read_settings
from cockpit.notify.open_metrics import metrics_text, serve_metrics, write_metrics
from cockpit.notify.outbox import Outbox
from cockpit.notify.receivers import CommandReceiver, HttpReceiver, NotDelivered
from tests.unit.notify.webhook import Server
from tests.waiting import until

ITEM: dict[str, Any] = {
    "finding": "job-waits", "subject_key": "u1", "is_bad": False, "subject": 'team-a/"llm"',
    "sentence": "needs 8 <GPUs> & waits\\", "remedies": [{"words": "why"}], "since_seconds": 5.0, "gpus": 8,
    "cause": "quota-full", "root": None, "jobs": 0, "rows": [],
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def outbox(folder: Path, *receivers: str) -> Outbox:
    return Outbox(folder / "out.json", "prod", receivers or ("slack",))


def look(box: Outbox, items: dict[str, bool], now: float, *, has_all: bool = True) -> None:
    box.look({key: (ITEM, known) for key, known in items.items()}, now, is_gone=lambda _item: has_all)


def waiting(box: Outbox, receiver: str = "slack") -> list[tuple[str, str]]:
    """What the receiver gets, each taken as delivered."""
    found: list[tuple[str, str]] = []
    while (change := box.next_for(receiver)) is not None:
        found.append((change.finding_key, change.event))
        box.sent(receiver, change.key)
    return found


# ---- what is to be sent


def test_new_acknowledged_and_resolved_once_each_over_restarts(tmp_path: Path) -> None:
    told = []
    steps: list[dict[str, bool]] = [
        {"a": False},
        {"a": False, "b": True},
        {"a": True, "b": True},
        {"b": True},
        {},
    ]
    for now, items in enumerate(steps):
        for _again in range(2):
            look(outbox(tmp_path), items, float(now))
        told += waiting(outbox(tmp_path))
    assert told == [
        ("a", "new"), ("b", "new"), ("b", "acknowledged"), ("a", "acknowledged"),
        ("a", "resolved"), ("b", "resolved"),
    ]  # fmt: skip


def test_the_state_is_private_and_written_before_anything_is_sent(tmp_path: Path) -> None:
    look(outbox(tmp_path), {"a": False}, 1.0)
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o600
    first = outbox(tmp_path).next_for("slack")
    again = outbox(tmp_path).next_for("slack")  # the process was killed before it was noted
    assert first is not None and first == again


def test_what_could_not_be_seen_is_not_resolved(tmp_path: Path) -> None:
    box = outbox(tmp_path)
    look(box, {"a": False}, 1.0)
    look(box, {}, 2.0, has_all=False)
    assert waiting(box) == [("a", "new")]


def test_what_comes_again_is_new_under_another_key(tmp_path: Path) -> None:
    box = outbox(tmp_path)
    keys = []
    for now, items in enumerate(({"a": False}, {}, {"a": False})):
        look(box, items, float(now))
        while (change := box.next_for("slack")) is not None:
            keys.append(change.key)
            box.sent("slack", change.key)
    assert len(set(keys)) == 3


def test_each_receiver_has_its_own_line(tmp_path: Path) -> None:
    box = outbox(tmp_path, "slack", "command")
    look(box, {"a": False}, 1.0)
    assert waiting(box) == [("a", "new")]
    assert waiting(box) == [] and waiting(box, "command") == [("a", "new")]


def test_a_receiver_that_is_no_longer_configured_holds_nothing(tmp_path: Path) -> None:
    look(outbox(tmp_path, "slack", "command"), {"a": False}, 1.0)
    assert waiting(outbox(tmp_path, "command")) == []
    assert waiting(outbox(tmp_path, "command"), "command") == [("a", "new")]


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "out.json").write_text("{")
    with pytest.raises(BadInput, match="move it away to begin again"):
        outbox(tmp_path)


# ---- receivers


def change(tmp_path: Path, event: str = "new") -> Any:
    box = outbox(tmp_path)
    look(box, {"a": False}, 100.0)
    if event == "resolved":
        waiting(box)
        look(box, {}, 200.0)
    return box.next_for("slack")


def test_alertmanager_gets_the_same_labels_until_it_is_resolved(server: Server, tmp_path: Path) -> None:
    receiver = HttpReceiver("alertmanager", f"{server.url}/prefix/", {"X-Team": "a"})
    for event in ("new", "resolved"):
        receiver.send(change(tmp_path, event))
    (key, path, [first], headers), (other, _, [last], _) = server.got
    assert path == "/prefix/api/v2/alerts" and headers["X-Team"] == "a" and key != other
    assert first["labels"] == last["labels"] and first["labels"]["severity"] == "warning"
    assert first["startsAt"] == last["startsAt"] == "1970-01-01T00:01:40.000Z"
    assert last["endsAt"] == "1970-01-01T00:03:20.000Z" < first["endsAt"]


def test_slack_gets_a_line_without_markup(server: Server, tmp_path: Path) -> None:
    HttpReceiver("slack", f"{server.url}/services/T/B/x", {}).send(change(tmp_path))
    assert server.got[0][1] == "/services/T/B/x"
    assert server.got[0][2] == {"text": '▲ new in prod: team-a/"llm": needs 8 &lt;GPUs&gt; &amp; waits\\'}


def test_a_command_gets_the_change_on_its_standard_input(tmp_path: Path) -> None:
    program = f"import sys; open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())"
    CommandReceiver([sys.executable, "-c", program]).send(change(tmp_path))
    tree = json.loads((tmp_path / "got").read_text())
    assert (tree["schema"], tree["kind"], tree["event"]) == ("gpu-cockpit/v1", "finding-change", "new")
    assert tree["item"] == ITEM
    for argv, words in ((["false"], "ended with 1"), (["/no/such"], "cannot be run")):
        with pytest.raises(NotDelivered, match=words):
            CommandReceiver(argv).send(change(tmp_path))


@pytest.mark.parametrize("answer", [500, 503, 429, 302, "drop"])
def test_a_failure_names_no_address(answer: Any, server: Server, tmp_path: Path) -> None:
    server.answers = [answer]
    with pytest.raises(NotDelivered) as failure:
        HttpReceiver("slack", f"{server.url}/secret-path", {"Authorization": "Bearer s3cret"}).send(
            change(tmp_path)
        )
    assert "127.0.0.1" not in str(failure.value) and "secret" not in str(failure.value)
    with pytest.raises(NotDelivered, match="cannot be reached"):
        HttpReceiver("slack", "http://127.0.0.1:1/secret", {}).send(change(tmp_path))


# ---- delivery


async def test_a_failing_server_gets_each_change_once_and_the_watch_goes_on(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answers = [500, 503, 200, 429, "drop", 200]
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    out = FindingsOut(FindingTargets(slack=f"{server.url}/s3cret"), sleep)
    box = out._outbox = outbox(tmp_path)
    look(box, {"a": False, "b": False}, 1.0)
    task = asyncio.create_task(out._deliver(out._receivers[0]))
    await until(lambda: box.next_for("slack") is None)
    task.cancel()
    counts = Counter(key for key, *_ in server.got)
    assert len(counts) == 2 and sorted(counts.values()) == [1, 2]  # one was dropped after it came
    assert pauses == [1.0, 2.0, 1.0, 2.0]
    err = capsys.readouterr().err
    assert "answered 500; tried again" in err and "delivered again" in err
    assert "s3cret" not in err and "127.0.0.1" not in err


async def test_a_slow_server_blocks_no_look(server: Server, tmp_path: Path) -> None:
    server.answers = ["late"]
    out = FindingsOut(FindingTargets(slack=server.url))
    box = out._outbox = outbox(tmp_path)
    look(box, {"a": False}, 1.0)
    task = asyncio.create_task(out._deliver(out._receivers[0]))
    await until(lambda: bool(server.got))
    look(box, {"a": False, "b": False}, 2.0)  # while the first is under way
    server.gate.set()
    await until(lambda: box.next_for("slack") is None)
    task.cancel()
    assert len({key for key, *_ in server.got}) == len(server.got) == 2


PROGRAM = """
import asyncio, sys
from pathlib import Path
from cockpit.commands.findings_out import FindingsOut
from cockpit.local_state.config import FindingTargets
from cockpit.notify.outbox import Outbox
from tests.unit.notify.test_findings_out import ITEM
async def main():
    out = FindingsOut(FindingTargets(slack=sys.argv[2]))
    box = out._outbox = Outbox(Path(sys.argv[1]), "prod", ("slack",))
    box.look({f"f{at}": (ITEM, False) for at in range(5)}, 1.0, is_gone=lambda item: True)
    print("noted", flush=True)
    task = asyncio.create_task(out._deliver(out._receivers[0]))
    while box.next_for("slack") is not None:
        await asyncio.sleep(0.001)
asyncio.run(main())
"""


def test_a_kill_loses_no_change_and_repeats_at_most_one(server: Server, tmp_path: Path) -> None:
    """Killed while the server has a request that it has not answered, once for each change."""
    words = [sys.executable, "-c", PROGRAM, str(tmp_path / "out.json"), server.url]
    root = Path(__file__).resolve().parents[3]
    for kills in range(3):
        server.answers, server.gate = [200] * bool(kills) + ["late"], threading.Event()
        awaited = len(server.got) + len(server.answers)
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=root)
        assert child.stdout is not None and child.stdout.readline() == "noted\n"
        while len(server.got) < awaited:
            assert child.poll() is None
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        server.gate.set()
    server.answers = []
    assert subprocess.run(words, cwd=root, timeout=60, check=False, stdout=subprocess.DEVNULL).returncode == 0
    assert sorted(Counter(key for key, *_ in server.got).values()) == [1, 1, 2, 2, 2]


# ---- metrics


def test_metrics_are_open_metrics(tmp_path: Path) -> None:
    text = metrics_text({"a": (ITEM, False), "b": (ITEM, True)}, "prod", 12.5)
    families = {family.name: family for family in text_string_to_metric_families(text)}  # type: ignore[no-untyped-call]
    counted = {sample.labels["state"]: sample.value for sample in families["gpu_cockpit_findings"].samples}
    assert counted == {"open": 1, "acknowledged": 1}
    assert families["gpu_cockpit_findings_looked_seconds"].samples[0].value == 12.5
    write_metrics(tmp_path / "out.prom", text)
    assert (tmp_path / "out.prom").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["out.prom"]


async def test_the_port_answers_metrics_alone() -> None:
    made = await serve_metrics("127.0.0.1", 0, lambda: "# EOF\n")
    port = made.sockets[0].getsockname()[1]
    for request, status in ((b"GET /metrics HTTP/1.1\r\n\r\n", b"200"), (b"GET / HTTP/1.1\r\n\r\n", b"404")):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        answer = await reader.read()
        assert answer.split(b" ")[1] == status
        writer.close()
    made.close()


# ---- options and configuration


def test_options_override_the_configuration_and_files_hold_secrets(tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("http://hook:1/s3cret\n")
    text = f'[findings]\nslack = "@{secret}"\nmetrics-listen = "9411"\nheaders = {{A = "b"}}\n'
    settings = read_settings(text, "c.toml", tmp_path)
    assert "s3cret" not in repr(settings)
    options = build_parser().parse_args(
        ["triage", "--watch", "--metrics-listen", "0.0.0.0:1", "--header", "C: d"]
    )
    found = targets(options, settings)
    assert (found.metrics_listen, found.headers) == ("0.0.0.0:1", (("A", "b"), ("C", "d")))
    [receiver] = receivers_of(found)
    assert receiver.name == "slack"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--to-slack", "http://x"], "with --watch; add it"),
        (["--watch", "--header", "nope"], "--header: write 'NAME: VALUE'"),
        (["--watch", "--header", "@/no/such"], "--header: /no/such cannot be read"),
    ],
)
def test_wrong_options_are_one_sentence(words: list[str], part: str) -> None:
    with pytest.raises(BadInput) as failure:
        targets(build_parser().parse_args(["triage", *words]), Settings())
    assert part in failure.value.sentence


@pytest.mark.parametrize("url", ["ftp://user:s3cret@x", "s3cret", "http:///s3cret"])
def test_a_wrong_url_is_not_quoted(url: str) -> None:
    with pytest.raises(BadInput) as failure:
        receivers_of(FindingTargets(slack=url))
    assert "s3cret" not in failure.value.sentence and "slack" in failure.value.sentence
    with pytest.raises(BadInput) as failure:
        read_settings(f'[findings]\nslack = "{url}x"'.replace("http:", "htp:"), "c.toml", Path("/"))
    assert "s3cret" not in failure.value.sentence


@pytest.mark.parametrize(("text", "found"), [("9411", ("127.0.0.1", 9411)), ("0.0.0.0:80", ("0.0.0.0", 80))])
def test_a_port_is_of_loopback_unless_a_host_is_named(text: str, found: tuple[str, int]) -> None:
    assert address(text) == found
    with pytest.raises(BadInput, match="is no PORT"):
        address(f"{text}x")
