"""What became of a plan is told: what it warns of, too, though it is done."""

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.commands.confirm import tell
from cockpit.model.plan import Outcome
from cockpit.screens import verb_keys

DONE = Outcome(state="done", sentence="Submitted job team-a/llm", audit_id="id1", warnings=("no gang",))


async def test_the_screens_tell_what_a_done_plan_warns_of() -> None:
    app = CockpitApp(AppOptions(attach=False))
    async with app.run_test(size=(80, 24)) as pilot:
        heard: list[Outcome] = []
        verb_keys.tell(app, DONE, heard.append)
        await pilot.pause()
        told = [(one.message, one.severity) for one in app._notifications]
        assert told == [("Submitted job team-a/llm", "information"), ("no gang", "warning")]
        assert heard == [DONE]


def test_a_command_tells_it_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell(DONE) == 0
    told = capsys.readouterr()
    assert told.out == "Submitted job team-a/llm (audit id1)\n"
    assert told.err == "cockpit: warning: no gang\n"
