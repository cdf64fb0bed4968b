"""Entering a pod: where one may, what is sent, two audit lines, one sentence for every refusal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from cockpit.actions.enter import SHELL, Entrance, containers_of, enter, plan_entrance
from cockpit.actions.execute.execute_plan import READ_ONLY
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, CockpitError, NoConnection, Refused
from cockpit.model.pod import Pod
from tests.unit.actions.builders import Line, Lines, pod


def many(*names: str, **more: Any) -> Pod:
    return msgspec.structs.replace(pod("llm-worker-0"), containers=",".join(names), **more)


class Peer:
    """A command that ends with a code."""

    def __init__(self, code: int) -> None:
        self.exit_code: int | None = code

    async def read(self) -> tuple[str, bytes] | None:
        return None

    async def write(self, data: bytes) -> None: ...
    async def close_input(self) -> None: ...
    async def resize(self, columns: int, rows: int) -> None: ...


class House:
    """Opens entrances, or refuses; `came` is who came in."""

    def __init__(self, code: int = 0, refusal: CockpitError | None = None) -> None:
        self.came: list[Entrance] = []
        self._code = code
        self._refusal = refusal

    @asynccontextmanager
    async def __call__(self, _session: Any, entrance: Entrance) -> AsyncIterator[Peer]:
        if self._refusal is not None:
            raise self._refusal
        self.came.append(entrance)
        yield Peer(self._code)


async def stay(_running: Any) -> None:
    """Whoever is inside leaves at once."""


async def go(house: House, lines: Lines, line: Line | None = None, join: Any = stay, **more: Any) -> int:
    return await enter(
        plan_entrance(many("main"), **more),
        line or Line(),
        lines,
        ManualClock(),
        join,
        opened=house,
        new_id=lambda: "id1",
    )


def test_a_shell_in_the_only_container() -> None:
    wanted = plan_entrance(many("main"))
    assert (wanted.container, wanted.words, wanted.is_tty) == ("main", SHELL, True)
    assert wanted.line("prod").startswith(
        "kubectl --context prod exec -it -n team-a llm-worker-0 -c main -- sh -c 'command -v bash"
    )


def test_a_command_without_a_terminal() -> None:
    wanted = plan_entrance(many("main", "side"), container="side", words=("echo", "a b"), is_tty=False)
    assert wanted.line() == "kubectl exec -i -n team-a llm-worker-0 -c side -- echo 'a b'"


@pytest.mark.parametrize(
    ("who", "container", "part"),
    [
        (many("main", "side"), "", "has several containers: choose one of main, side"),
        (many("main", "side"), "third", "has no container 'third'; it has main, side"),
        (many("main", phase="Succeeded"), "", r"has ended \(Succeeded\)"),
        (many("main", phase="Pending", node=""), "", "is not scheduled yet"),
    ],
)
def test_where_one_cannot_enter(who: Pod, container: str, part: str) -> None:
    with pytest.raises(BadInput, match=f"pod team-a/llm-worker-0 {part}"):
        plan_entrance(who, container=container)


def test_names_of_containers() -> None:
    assert containers_of(many("a", "b")) == ("a", "b")
    assert containers_of(many()) == ()


@pytest.mark.parametrize("code", [0, 3])
async def test_it_stands_between_two_audit_lines(code: int) -> None:
    house, lines = House(code), Lines()
    assert await go(house, lines) == code
    before, after = lines.entries
    assert (before.verb, before.target, before.step, before.uid) == (
        "enter",
        "pod team-a/llm-worker-0",
        "intent",
        "uid-llm-worker-0",
    )
    assert (before.context, before.user) == ("prod", "ann")
    assert before.path == "/api/v1/namespaces/team-a/pods/llm-worker-0/exec"
    assert (after.step, after.state, after.audit_id) == ("outcome", "done", "id1")
    assert after.sentence == f"ended with exit code {code}"
    assert [one.words for one in house.came] == [SHELL]


async def test_read_only_asks_nobody() -> None:
    house, lines = House(), Lines()
    with pytest.raises(Refused, match=READ_ONLY):
        await go(house, lines, Line(read_only=True))
    assert (house.came, lines.entries) == ([], [])


async def test_without_an_audit_line_nobody_enters() -> None:
    house = House()
    with pytest.raises(BadInput, match="audit"):
        await go(house, Lines(full_at=0))
    assert house.came == []


@pytest.mark.parametrize(
    ("error", "state"), [(Refused("no right"), "refused"), (NoConnection("nobody there"), "failed")]
)
async def test_a_refusal_is_audited_and_raised(error: CockpitError, state: str) -> None:
    lines = Lines()
    with pytest.raises(type(error), match=error.sentence):
        await go(House(refusal=error), lines)
    assert (lines.entries[-1].state, lines.entries[-1].sentence) == (state, error.sentence)


async def test_a_line_that_breaks_off_is_audited() -> None:
    async def broken(_running: Any) -> None:
        raise NoConnection("cut")

    lines = Lines()
    with pytest.raises(NoConnection, match="cut"):
        await go(House(), lines, join=broken)
    assert (lines.entries[-1].state, lines.entries[-1].sentence) == ("failed", "cut")
