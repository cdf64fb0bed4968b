"""`--timeout` is the whole time that a command waits for the cluster."""

import asyncio
import re
from pathlib import Path

import pytest

import cockpit.commands
from cockpit.commands import patience
from cockpit.commands.patience import paused, wait_on, within
from cockpit.errors import NoConnection


async def test_what_waits_longer_is_ended_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_MARGIN_SECONDS", 0.0)
    with pytest.raises(NoConnection) as raised:
        await within(0.01, asyncio.Event().wait())
    assert raised.value.sentence == "no answer from the cluster within 0.01 s; give a longer --timeout"


async def test_a_person_a_job_and_a_change_that_was_sent_have_no_limit() -> None:
    async def work() -> float | None:
        limit = patience._limit.get()
        assert limit is not None and limit.when() is not None
        wait_on()
        return limit.when()

    assert await within(5.0, work()) is None
    wait_on()  # outside of any command it does nothing


async def test_what_a_person_answers_takes_nothing_of_the_time() -> None:
    async def work() -> tuple[float, float]:
        limit = patience._limit.get()
        assert limit is not None
        before = limit.when()
        with paused():
            assert limit.when() is None
        after = limit.when()
        assert before is not None and after is not None
        return before, after

    before, after = await within(5.0, work())
    assert after >= before
    with paused():  # outside of any command it does nothing
        pass


async def test_a_timeout_of_the_work_itself_passes_through() -> None:
    async def work() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await within(5.0, work())


def test_every_command_that_asks_a_cluster_is_within_its_timeout() -> None:
    folder = Path(cockpit.commands.__path__[0])
    found = {
        path.name: run
        for path in folder.glob("*.py")
        for run in re.findall(r"asyncio\.run\((\w+)", path.read_text(encoding="utf-8"))
    }
    assert found.pop("demo.py") == "show"  # its own cluster, which has START_SECONDS
    assert found.pop("why.py") == "_run"  # bounded by `limited` itself: a hop less on its way
    assert "async with limited(options.timeout)" in (folder / "why.py").read_text(encoding="utf-8")
    assert found.pop("screens.py") == "ask_first"  # a person logs in before the screens open
    assert len(found) > 12 and set(found.values()) == {"within", "ask_each"}
    each = (folder / "each_cluster.py").read_text(encoding="utf-8")
    assert "async with limited(timeout_seconds)" in each  # of `ask_each`: each cluster has the time
