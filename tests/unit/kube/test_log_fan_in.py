"""Many logs read together: by time at first, then as they come; breaks, restarts, members that come late."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cockpit.errors import NoConnection
from cockpit.kube.answer import ApiAnswer
from cockpit.kube.log_fan_in import GAP, NEXT_RUN, LogFanIn, query_of
from cockpit.kube.log_lines import LogPiece, Resume
from cockpit.kube.session import ApiSession
from cockpit.model.log import Life, LogLine, LogSource, LogWish
from tests.reliability.figures import Tell

NANO = 1_000_000_000
BEGUN = 1_790_000_000
LONG_SECONDS = 60.0


def line(second: float, text: str) -> bytes:
    moment = datetime.fromtimestamp(BEGUN + second, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}000Z {text}\n".encode()


def source(name: str, *, rank: int | None = None) -> LogSource:
    return LogSource(f"uid-{name}", "ns", name, name, rank=rank)


class Logs:
    """Stands for a session: each request for a pod's log takes the next of its answers.

    An answer is bytes (then the log ends), a refusal in words, or a list whose last entry says how it goes
    on: "cut" breaks the connection, "stay" leaves it open.
    """

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.naps: list[float] = []
        self.lives: dict[str, Life] = {}
        self.told: list[LogLine] = []
        self.moved = asyncio.Event()

    @asynccontextmanager
    async def stream(self, path: str, *, query: Sequence[tuple[str, str]], accept: str) -> AsyncIterator[Any]:
        pod = path.split("/")[-2]
        self.asked.append((pod, dict(query)))
        self.moved.set()
        waiting = self.answers[pod]
        answer = waiting.pop(0) if waiting else "stay"
        if isinstance(answer, str) and answer not in ("stay", "cut"):

            async def said() -> Any:
                body = json.dumps({"kind": "Status", "code": 400, "message": answer}).encode()
                return ApiAnswer(400, "application/json", body)

            yield SimpleNamespace(status=400, answer=said)
            return
        yield SimpleNamespace(status=200, chunks=self._chunks(answer))

    async def _chunks(self, answer: Any) -> AsyncIterator[bytes]:
        for part in answer if isinstance(answer, list) else [answer]:
            if part == "cut":
                raise NoConnection("the connection broke")
            if part == "stay":
                await asyncio.Event().wait()
            yield part

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)

    def take(self, lines: list[LogLine]) -> None:
        self.told += lines
        self.moved.set()

    def fan_in(self, wish: LogWish, **more: Any) -> LogFanIn:
        def life(uid: str) -> Life:
            return self.lives.get(uid, Life())

        return LogFanIn(lambda: cast(ApiSession, self), wish, self.take, life, nap=self.nap, **more)

    @property
    def texts(self) -> list[str]:
        return [f"{one.source.label}: {one.text}" for one in self.told]


def doubles(logs: Logs) -> int:
    """Lines that were told more than once; the texts of these tests are all different."""
    return len(logs.texts) - len(set(logs.texts))


async def until(logs: Logs, is_so: Callable[[], bool], fan_in: LogFanIn) -> None:
    """Run the fan_in until it is so."""
    running = asyncio.create_task(fan_in.run())
    try:
        async with asyncio.timeout(LONG_SECONDS):
            while not is_so():
                if running.done():
                    running.result()
                    assert is_so(), "it ended before"
                    return
                logs.moved.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(logs.moved.wait(), 0.05)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


ONCE = LogWish(tail_lines=None, is_following=False)


async def test_what_is_there_comes_by_time_whoever_answers_first() -> None:
    logs = Logs(
        launcher=[line(1, "begins") + line(5, "step 1")], w0=[line(1, "sshd") + line(3, "nccl")], w1=[b""]
    )
    fan_in = logs.fan_in(ONCE)
    fan_in.want([source("launcher"), source("w0"), source("w1")])
    async with asyncio.timeout(LONG_SECONDS):
        await fan_in.run()
    assert logs.texts == ["launcher: begins", "w0: sshd", "w0: nccl", "launcher: step 1"]
    assert fan_in.troubles == {}
    assert all(query == {"timestamps": "true", "limitBytes": str((32 << 20) // 3)} for _, query in logs.asked)


@pytest.mark.row(46, "logs not started that are not told", most=0)
async def test_a_log_that_cannot_be_read_is_told_and_the_others_stay(figure: Tell) -> None:
    logs = Logs(
        w0=[line(1, "here")], w1=['container "main" in pod "w1" is waiting to start: PodInitializing']
    )
    fan_in = logs.fan_in(ONCE)
    fan_in.want([source("w0"), source("w1")])
    async with asyncio.timeout(LONG_SECONDS):
        await fan_in.run()
    assert logs.texts == ["w0: here"]
    assert fan_in.troubles == {
        "w1": 'No log of ns/w1: container "main" in pod "w1" is waiting to start: PodInitializing'
    }
    figure("logs not started that are not told", 1 - len(fan_in.troubles))


@pytest.mark.row(46, "double lines", most=0)
async def test_a_break_repeats_and_loses_nothing(figure: Tell) -> None:
    logs = Logs(
        w0=[
            line(1, "one") + line(1.5, "two"),
            [line(1, "one") + line(1.5, "two") + line(2, "three"), b"2026-09-21T14:13:2", "cut"],
            [line(2, "three") + line(2, "three again") + line(4, "four"), "stay"],
        ]
    )
    fan_in = logs.fan_in(LogWish(tail_lines=100))
    fan_in.want([source("w0")])
    await until(logs, lambda: len(logs.told) >= 5, fan_in)
    assert logs.texts == ["w0: one", "w0: two", "w0: three", "w0: three again", "w0: four"]
    assert [query.get("sinceTime") for _, query in logs.asked] == [
        None,
        "2026-09-21T14:13:21Z",
        "2026-09-21T14:13:22Z",
    ]
    assert [query.get("follow") for _, query in logs.asked] == [None, "true", "true"]
    assert logs.asked[0][1]["tailLines"] == "100" and "tailLines" not in logs.asked[1][1]
    assert fan_in.troubles == {}
    figure("double lines", doubles(logs))


@pytest.mark.row(46, "double lines", most=0)
@pytest.mark.row(46, "gaps that are not shown", most=0)
async def test_lines_that_the_node_threw_away_leave_a_note(figure: Tell) -> None:
    logs = Logs(w0=[line(1, "one"), [line(1, "one"), "cut"], [line(9, "much later"), "stay"]])
    fan_in = logs.fan_in(LogWish())
    fan_in.want([source("w0")])
    await until(logs, lambda: len(logs.told) >= 3, fan_in)
    assert logs.texts == ["w0: one", f"w0: {GAP}", "w0: much later"]
    assert [one.is_note for one in logs.told] == [False, True, False]
    figure("double lines", doubles(logs))
    figure("gaps that are not shown", 1 - [one.text for one in logs.told if one.is_note].count(GAP))


@pytest.mark.row(46, "double lines", most=0)
@pytest.mark.row(46, "gaps that are not shown", most=0)
async def test_a_container_that_starts_anew_while_it_is_followed_loses_nothing(figure: Tell) -> None:
    logs = Logs(
        w0=[
            line(1, "first run"),
            [line(1, "first run") + line(2, "dies")],
            line(2, "dies") + line(2.5, "last words"),
            [line(5, "second run"), "stay"],
        ]
    )

    async def nap(seconds: float) -> None:
        logs.lives["uid-w0"] = Life(restarts=1)
        await asyncio.sleep(0)

    logs.nap = nap  # type: ignore[method-assign] # the restart happens while nothing is read
    fan_in = logs.fan_in(LogWish())
    fan_in.want([source("w0")])
    await until(logs, lambda: len(logs.told) >= 5, fan_in)
    assert logs.texts == ["w0: first run", "w0: dies", "w0: last words", f"w0: {NEXT_RUN}", "w0: second run"]
    assert [query.get("previous") for _, query in logs.asked] == [None, None, "true", None]
    figure("double lines", doubles(logs))
    figure("gaps that are not shown", 1 - [one.text for one in logs.told if one.is_note].count(NEXT_RUN))


@pytest.mark.row(46, "double lines", most=0)
@pytest.mark.row(46, "gaps that are not shown", most=0)
async def test_what_the_former_run_said_while_the_stream_was_cut_is_read_from_it(figure: Tell) -> None:
    logs = Logs(
        w0=[
            line(1, "one"),
            [line(1, "one"), "cut"],
            line(1, "one") + line(2, "last words"),
            [line(5, "second run"), "stay"],
        ]
    )

    async def nap(seconds: float) -> None:
        logs.lives["uid-w0"] = Life(restarts=1)
        await asyncio.sleep(0)

    logs.nap = nap  # type: ignore[method-assign] # the restart happens while nothing is read
    fan_in = logs.fan_in(LogWish())
    fan_in.want([source("w0")])
    await until(logs, lambda: len(logs.told) >= 4, fan_in)
    assert logs.texts == ["w0: one", "w0: last words", f"w0: {NEXT_RUN}", "w0: second run"]
    assert [query.get("previous") for _, query in logs.asked] == [None, None, "true", None]
    figure("double lines", doubles(logs))
    figure("gaps that are not shown", 1 - [one.text for one in logs.told if one.is_note].count(NEXT_RUN))


async def test_members_beyond_the_streams_are_read_again_and_again() -> None:
    logs = Logs(
        w0=[line(1, "a"), [line(1, "a"), "stay"]],
        w1=[line(1, "b"), line(1, "b") + line(3, "more"), line(3, "more") + line(7, "yet more")],
    )
    fan_in = logs.fan_in(LogWish(), most_streams=1)
    fan_in.want([source("w0"), source("w1")])
    await until(logs, lambda: len(logs.told) >= 4, fan_in)
    assert logs.texts == ["w0: a", "w1: b", "w1: more", "w1: yet more"]
    assert [query.get("follow") for pod, query in logs.asked if pod == "w1"][:3] == [None] * 3
    assert set(logs.naps) == {10.0}


async def test_a_member_that_comes_late_is_followed_and_an_ended_one_is_read_to_its_end() -> None:
    logs = Logs(w0=[line(1, "a"), line(1, "a") + line(2, "done")], late=[[line(3, "hello"), "stay"]])
    logs.lives["uid-w0"] = Life(is_over=True)
    fan_in = logs.fan_in(LogWish())
    fan_in.want([source("w0")])
    fan_in.when_read = lambda: fan_in.want([source("w0"), source("late")])
    await until(logs, lambda: len(logs.told) >= 3, fan_in)
    assert logs.texts == ["w0: a", "w0: done", "late: hello"]
    assert len([pod for pod, _ in logs.asked if pod == "w0"]) == 2


async def test_an_unfinished_line_is_told_once_it_has_its_end() -> None:
    half, whole = line(2, "half")[:-1], line(2, "half and half")
    logs = Logs(w0=[line(1, "a") + half, [line(1, "a") + whole, "stay"]])
    fan_in = logs.fan_in(LogWish())
    fan_in.want([source("w0")])
    await until(logs, lambda: len(logs.told) >= 2, fan_in)
    assert logs.texts == ["w0: a", "w0: half and half"]


async def test_more_than_the_bound_comes_after_all_when_nothing_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cockpit.kube.log_fan_in.LEAST_BYTES", 64)
    monkeypatch.setattr("cockpit.kube.log_fan_in.HISTORY_BYTES", 64)
    whole = b"".join(line(n, f"line {n}") for n in range(6))
    logs = Logs(w0=[whole[:64], line(0, "line 0") + whole[len(line(0, "line 0")) :]])
    fan_in = logs.fan_in(ONCE)
    fan_in.want([source("w0")])
    async with asyncio.timeout(LONG_SECONDS):
        await fan_in.run()
    assert logs.texts == [f"w0: line {n}" for n in range(6)]


def test_the_query_asks_for_the_wish_first_and_then_goes_on() -> None:
    wish = LogWish(tail_lines=20, since_seconds=0, is_previous=True)
    one = LogSource("u", "ns", "p", "p", container="main")
    resume = Resume()
    assert dict(query_of(one, wish, resume, is_streaming=True)) == {
        "timestamps": "true",
        "container": "main",
        "previous": "true",
        "sinceSeconds": "1",
        "tailLines": "20",
    }
    resume.begin()
    resume.take(LogPiece(BEGUN * NANO + 5, "x"))
    assert dict(query_of(one, LogWish(), resume, is_streaming=True)) == {
        "timestamps": "true",
        "container": "main",
        "follow": "true",
        "sinceTime": "2026-09-21T14:13:20Z",
    }
