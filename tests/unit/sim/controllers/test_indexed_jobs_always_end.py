"""Whatever becomes of its pods, an Indexed Job ends: with exactly its completions, or Failed."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.resource import JOBS
from cockpit.sim.actors.controllers.job.indexes import format_indexes, parse_indexes
from cockpit.sim.actors.controllers.job.jobs import Jobs
from cockpit.sim.port import Tree
from tests.unit.sim.controllers.stage import Fate, Stage, conditions, job

fates = st.lists(
    st.tuples(st.sampled_from(["Succeeded", "exit 1", "exit 3"]), st.integers(0, 40)), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(
    fates=fates,
    completions=st.integers(1, 6),
    parallelism=st.integers(1, 6),
    limit=st.integers(0, 3),
    per_index=st.none() | st.integers(0, 2),
)
async def test_it_ends(
    fates: list[tuple[str, int]], completions: int, parallelism: int, limit: int, per_index: int | None
) -> None:
    drawn: dict[str, Fate] = {}

    def fate(pod: Tree) -> Fate:
        how, seconds = fates[len(drawn) % len(fates)]
        return drawn.setdefault(pod["metadata"]["uid"], (how, float(seconds)))

    spec: dict[str, Any] = {
        "completions": completions,
        "parallelism": parallelism,
        "completionMode": "Indexed",
    }
    spec |= {"backoffLimit": limit} if per_index is None else {"backoffLimitPerIndex": per_index}
    stage = await Stage([Jobs()], fate).start()
    await stage.create(JOBS, job(**spec))
    await stage.engine.advance(3_000)
    done = await stage.get(JOBS, "train")
    status = done["status"]
    last = conditions(done)[-1]
    assert last.startswith(("Complete True", "Failed True"))
    succeeded = parse_indexes(status.get("completedIndexes", ""), completions)
    assert status.get("succeeded", 0) == len(succeeded)
    if last.startswith("Complete"):
        assert succeeded == set(range(completions))
        assert status["completionTime"]
    elif per_index is not None:
        failed = parse_indexes(status["failedIndexes"], completions)
        assert failed and not failed & succeeded
        assert failed | succeeded == set(range(completions))
    else:
        assert status["failed"] > limit
    assert "active" not in status and status["ready"] == status["terminating"] == 0
    assert status["uncountedTerminatedPods"] == {}
    assert all("finalizers" not in pod["metadata"] for pod in await stage.pods())


@given(st.sets(st.integers(0, 300)))
def test_indexes_are_read_as_they_are_written(indexes: set[int]) -> None:
    assert parse_indexes(format_indexes(indexes), 301) == indexes


def test_indexes_in_words() -> None:
    assert format_indexes([0, 1, 2, 4, 6, 7]) == "0-2,4,6,7"
    assert parse_indexes("0-9,x,12", 5) == {0, 1, 2, 3, 4}
