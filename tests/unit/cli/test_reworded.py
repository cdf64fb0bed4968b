"""Sentences are for people alone: with every refusal put in other words the cockpit does the same."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.actions import refusals
from cockpit.actions.execute.bulk_plan import carry_all, make_bulk_plan, summary, try_all
from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.execute.replan import carry_replanned
from cockpit.actions.kill import plan_kill
from cockpit.actions.verbs.job import KILL
from cockpit.clock import ManualClock
from cockpit.errors import Answered, CockpitError, Refused
from cockpit.local_state.audit import Audit
from cockpit.model.plan import Plan
from cockpit.model.refusal import Refusal
from tests.unit.actions.builders import Line, Lines, Server, job, missing, newer, pod, store_of
from tests.unit.actions.busy import VERBS, begun
from tests.unit.actions.test_refusals import CASES
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.test_made_anew import PATH, gang, tree

OTHER_WORDS = 'Nix da? - denied: × "namespaces" not found ... changed, already exists'
Did = list[Any]


@pytest.fixture
def reword(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Puts every sentence of a refusal, and of every failure, into other words."""

    def now() -> None:
        before = CockpitError.__init__

        def told(self: CockpitError, _sentence: str) -> None:
            before(self, OTHER_WORDS)

        def sentence_of(_target: str, _said: Refusal) -> str:
            return OTHER_WORDS

        monkeypatch.setattr(CockpitError, "__init__", told)
        monkeypatch.setattr(refusals, "sentence_of", sentence_of)

    return now


def again(error: Answered) -> Answered:
    """The same refusal, raised anew, in the words that hold by now."""
    return type(error)(error.sentence, error.said)


def done_by(lines: Lines) -> Did:
    return [(one.step, one.state, one.status, one.reason, one.resource_version) for one in lines.entries]


async def one_call(error: Answered) -> Did:
    """What a kill does that the server answers so, dry and wet."""
    plan, lines = plan_kill(job(), store_of()), Lines()
    verdict = await rehearse(plan, Line(), perform=Server(again(error)))
    server = Server(Refused(error.sentence, error.said))
    outcome = await carry_out(plan, Line(), lines, ManualClock(), perform=server, new_id=lambda: "1")
    states = [verdict.state, verdict.is_moved, outcome.state, outcome.is_moved]
    return [*states, len(server.calls), done_by(lines)]


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
async def test_what_is_done_about_a_refusal(case: Any, reword: Callable[[], None]) -> None:
    plain = await one_call(case.error)
    reword()
    assert again(case.error).sentence != case.error.sentence
    assert await one_call(case.error) == plain


async def busy(name: str) -> Did:
    """A verb whose object is written twice between the read and the write."""
    cluster, make = begun(name, writes=2)
    lines = Lines()
    outcome = await carry_replanned(await make(), make, cluster, lines, ManualClock(), perform=cluster)
    return [outcome.state, len(cluster.sent), len(cluster.done), done_by(lines)]


@pytest.mark.parametrize("name", VERBS)
async def test_a_write_is_repeated_after_a_409(name: str, reword: Callable[[], None]) -> None:
    plain = await busy(name)
    reword()
    assert await busy(name) == plain
    assert plain[0] == "done" and plain[1] > plain[2]


async def swept() -> Did:
    """Four jobs: one is newer, one gone, one forbidden, one done."""
    jobs = [job(f"j{number}") for number in range(4)]
    store = store_of(*(pod(f"p{number}") for number in range(4)))

    def making(one: Any) -> Any:
        async def make(*, reads: bool = False) -> Plan:
            return plan_kill(one, store)

        return make

    found = await make_bulk_plan(KILL, jobs, making, store)
    answers = (newer(), missing("mpijobs", "j1"), CASES[0].error, None)
    left, verdict = await try_all(found, Line(), perform=Server(*map(_again, answers)))
    lines = Lines()
    results = await carry_all(found, Line(), lines, ManualClock(), perform=Server(*map(_again, answers)))
    told = summary(KILL, results, len(left.left_out))
    return [
        [one.name for one in left.items],
        len(left.left_out),
        verdict.state,
        [one.outcome.state for one in results],
        told.state,
        done_by(lines),
    ]


def _again(error: Answered | None) -> Answered | None:
    return None if error is None else again(error)


async def test_who_is_left_out_of_a_sweep(reword: Callable[[], None]) -> None:
    plain = await swept()
    reword()
    assert await swept() == plain
    assert plain[1] > 0 and "unchanged" in plain[3]


@pytest.mark.parametrize("case", CASES, ids=[one.name for one in CASES])
@pytest.mark.parametrize("dry", [True, False])
def test_how_a_command_ends(
    case: Any, cluster: Cluster, capsys: pytest.CaptureFixture[str], reword: Callable[[], None], *, dry: bool
) -> None:
    gang(cluster)

    def ended() -> Did:
        cluster.sent.clear()
        cluster.reads[PATH] = [tree(42)]
        error = again(case.error) if dry else Refused(case.error.sentence, case.error.said)
        cluster.answers[dry] = [error]
        code, _out, err = run(capsys, "job", "kill", "llm", "--write", "--yes")
        told = [(one.state, one.status, one.reason) for one in Audit().entries()]
        return [code, bool(err), len(cluster.sent), told[seen:]]

    seen = 0
    plain = ended()
    seen = len(list(Audit().entries()))
    reword()
    assert ended() == plain
