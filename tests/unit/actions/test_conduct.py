"""The one way of keys and commands: dry run, question, carrying out."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest

from cockpit.actions.execute.replan import Differs
from cockpit.actions.execute.run_verb import Done, Tried, What, conduct
from cockpit.actions.kill import plan_kill
from cockpit.clock import ManualClock
from cockpit.errors import BadInput, NotTried
from cockpit.model.plan import Outcome, Plan
from cockpit.model.remembered import Reclaim
from tests.unit.actions.builders import Line, Lines, Server, forbidden, job, missing, newer, store_of

KILL = plan_kill(job(), store_of())
NEWER = plan_kill(job(resource_version="42"), store_of())
ENDED = msgspec.structs.replace(NEWER, lines=("delete mpijob team-a/llm (succeeded)",))
MOVED = newer()


class Person:
    """Reads what is shown and says the next of its answers."""

    def __init__(self, *answers: bool, asks_again: bool = True) -> None:
        self.asks_again = asks_again
        self.read: list[tuple[Plan, tuple[str, ...]]] = []
        self.tried: list[Tried[Any]] = []
        self._answers = list(answers)

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        self.read.append((face, changes))
        tried = await trial
        self.tried.append(tried)
        return tried if tried.may_go_on and self._answers.pop(0) else None


def making(*plans: Plan) -> Any:
    """How the plan is made by then; the last stays."""
    left = list(plans)

    async def make(*, reads: bool = False) -> Plan:
        return left.pop(0) if len(left) > 1 else left[0]

    return make


async def go(person: Person, server: Server, make: Any = None, lines: Lines | None = None) -> Outcome | None:
    kept = lines or Lines()
    return await conduct(KILL, make, Line(), lambda: kept, ManualClock(), asker=person, perform=server)


async def test_yes_is_sent_once_after_the_dry_run() -> None:
    server = Server()
    outcome = await go(Person(True), server)
    assert outcome is not None and outcome.is_done
    assert [dry for _call, dry in server.calls] == [True, False]


async def test_no_sends_and_writes_nothing() -> None:
    server, lines = Server(), Lines()
    assert await go(Person(False), server, lines=lines) is None
    assert [dry for _call, dry in server.calls] == [True] and lines.entries == []


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (forbidden(), "refused"),
        (missing("mpijobs", "llm"), "unchanged"),
    ],
)
async def test_what_a_yes_could_not_do_is_no_question(answer: Exception, state: str) -> None:
    server, person = Server(answer), Person(True)
    assert await go(person, server) is None
    assert person.tried[0].verdict.state == state and not person.tried[0].may_go_on
    assert len(server.calls) == 1


async def test_what_the_server_cannot_try_may_be_said_yes_to() -> None:
    person = Person(True)
    outcome = await go(person, Server(NotTried("does not support dry run")))
    assert person.tried[0].verdict.state == "untried"
    assert outcome is not None and outcome.is_done


async def test_a_newer_version_of_the_same_is_tried_anew_and_is_no_news() -> None:
    server, person = Server(MOVED), Person(True)
    outcome = await go(person, server, making(NEWER))
    assert outcome is not None and outcome.is_done
    assert person.tried[0].news == () and person.tried[0].what is NEWER
    sent = [call.body["preconditions"]["resourceVersion"] for call, _dry in server.calls]
    assert sent == ["41", "42", "42"]


async def test_another_effect_found_by_the_dry_run_is_news() -> None:
    person = Person(False)
    assert await go(person, Server(MOVED), making(ENDED)) is None
    assert person.tried[0].face is ENDED
    assert person.tried[0].news[0].endswith("now: delete mpijob team-a/llm (succeeded)")


async def test_another_effect_after_yes_is_asked_for_again_and_tried_again() -> None:
    server, person = Server(), Person(True, True)
    outcome = await go(person, server, making(ENDED))
    assert outcome is not None and outcome.is_done
    assert [face for face, _changes in person.read] == [KILL, ENDED]
    assert person.read[1][1] and [dry for _call, dry in server.calls] == [True, True, False]
    with pytest.raises(Differs):
        await go(Person(True, asks_again=False), Server(), making(ENDED))


async def test_a_job_that_is_gone_by_the_dry_run_is_a_refusal_in_its_words() -> None:
    async def gone(*, reads: bool = False) -> Plan:
        raise BadInput("mpijob team-a/llm is gone")

    person = Person(True)
    assert await go(person, Server(MOVED), gone) is None
    assert person.tried[0].verdict == Outcome(state="refused", sentence="mpijob team-a/llm is gone")


async def test_the_dry_run_ends_with_the_question() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def never(_session: Any, _call: Any, *, dry_run: bool = False) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    class Leaving(Person):
        async def ask(
            self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
        ) -> Tried[What] | None:
            await began.wait()
            return None

    assert await go(Leaving(), never) is None  # type: ignore[arg-type]
    await asyncio.wait_for(ended.wait(), 10)


async def test_what_was_given_back_is_what_was_carried_out_not_what_was_shown_first() -> None:
    back = (Reclaim("pool/h100", "mpijob team-a/llm", 1.0),)
    first, anew = (msgspec.structs.replace(one, gives_back=back) for one in (KILL, NEWER))

    async def carried(*makes: Plan) -> Outcome:
        outcome = await conduct(
            first, making(*makes), Line(), Lines, ManualClock(), asker=Person(True, True), perform=Server()
        )
        assert outcome is not None and outcome.is_done
        return outcome

    assert Done(await carried(anew)).gives_back == back
    assert Done(await carried(ENDED)).gives_back == (), "by then it was another plan, and it was said yes to"
