"""`cockpit job wait`: when it ends, with which code, and what it says meanwhile."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cockpit.clock import ManualClock
from cockpit.commands import job_wait
from cockpit.errors import NoConnection, Refused


class Jobs:
    """A job that goes through these states, one a look; None: it is not there."""

    def __init__(self, clock: ManualClock, states: list[str | None]) -> None:
        self._clock, self._states, self.jobs = clock, states, dict[str, Any]()

    def catch_up(self) -> None:
        state = self._states.pop(0) if len(self._states) > 1 else self._states[0]
        self._clock.advance(1.0)
        other = SimpleNamespace(kind="MPIJob", namespace="a", name="fit", state="failed")
        self.jobs = (
            {"o": other}
            if state is None
            else {"o": other, "k": SimpleNamespace(kind="Job", namespace="a", name="fit", state=state)}
        )


def live(states: list[str | None], *, session: object = object()) -> Any:
    clock = ManualClock()
    verdicts = SimpleNamespace(of=lambda job, _now: SimpleNamespace(sentence=f"it is {job.state}"))
    return SimpleNamespace(
        attachment=SimpleNamespace(
            clock=clock, jobs=Jobs(clock, states), verdicts=verdicts, session=session, sentence=""
        )
    )


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_wait, "LOOK_SECONDS", 0.0)


@pytest.mark.parametrize(
    ("states", "wanted"),
    [
        (["queued", "pending", "running"], "running"),
        ([None, "starting", "running"], "running"),
        (["starting", "succeeded"], "running"),
        (["running", "degraded", "running", "succeeded"], "done"),
    ],
)
async def test_it_ends_well_once_the_state_is_reached(states: list[str | None], wanted: str) -> None:
    assert await job_wait.until(cast(Any, live(states)), "Job", "a/fit", wanted, None) == 0


@pytest.mark.parametrize(
    ("states", "wanted", "longest", "said"),
    [
        (["running", "failed"], "done", None, "job a/fit failed: it is failed"),
        (["pending", "failed"], "running", None, "job a/fit failed: it is failed"),
        (["running", None], "done", None, "job a/fit is gone"),
        ([None], "running", None, "job a/fit did not appear"),
        (["pending"], "running", 4.0, "job a/fit is not running after 4 s: pending, it is pending"),
    ],
)
async def test_it_ends_with_why_where_it_never_will_be(
    states: list[str | None], wanted: str, longest: float | None, said: str
) -> None:
    with pytest.raises(Refused) as caught:
        await job_wait.until(cast(Any, live(states)), "Job", "a/fit", wanted, longest)
    assert caught.value.sentence == said


async def test_a_lost_connection_is_told() -> None:
    with pytest.raises(NoConnection):
        await job_wait.until(cast(Any, live(["pending"], session=None)), "Job", "a/fit", "done", None)


async def test_each_change_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    states: list[str | None] = ["queued", "queued", "pending", "pending", "running"]
    await job_wait.until(cast(Any, live(states)), "Job", "a/fit", "running", None)
    said = ["a/fit: queued, it is queued", "a/fit: pending, it is pending", "a/fit: running"]
    assert capsys.readouterr().out.splitlines() == said
