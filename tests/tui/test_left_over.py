"""A write that an earlier session broke off stands on *Now* until `a` says that it is known."""

from pathlib import Path
from typing import Any

from cockpit_widgets import ResourceTable

from cockpit.local_state.audit import Audit
from cockpit.model.broken_write import BrokenWrite
from tests.tui import looking
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import NOW, Estate

WRITE = BrokenWrite(
    audit_id="id1",
    verb="cordon",
    target="node gpu-9",
    at_seconds=NOW - 3_600,
    method="PATCH",
    path="/api/v1/nodes/gpu-9",
    effect="cannot be told",
    why="it is gone by now",
)


def rows(app: ScriptedApp) -> list[str]:
    table = app.screen.query_one("#attention", ResourceTable)
    return [line for line in looking.table_lines(app, table) if "cordon node gpu-9" in line]


async def test_it_is_told_until_a_person_knows_of_it(tmp_path: Path) -> None:
    app = ScriptedApp(Estate(), state_folder=tmp_path)
    async with app.run_test(size=(160, 45)) as pilot:
        await pilot.press("backslash")  # the row has the whole width
        await settle(pilot)
        known = app.cluster.verdicts.on_demand
        known.take_left_over((WRITE,), ())
        app.looked_up()
        await settle(pilot)
        (row,) = rows(app)
        assert "broken off: cannot be told: it is gone by now" in row and "a acknowledge" in row
        table: Any = app.screen.query_one("#attention", ResourceTable)
        table.move_to(f"write-broken-off:id1/PATCH{WRITE.path}")
        await pilot.press("a")
        await settle(pilot)
        assert rows(app) == []
    (line,) = Audit(tmp_path / "audit.jsonl").entries()
    assert (line.step, line.audit_id, line.state) == ("acknowledged", "id1", "cannot-be-told")
