"""The place of the audit: what was done, and taking it back, by keys and as the command says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless

pytestmark = pytest.mark.waits


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("embedded"), "two-nodes", 5) as made:
        yield made


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_cordon_is_taken_back_from_the_audit(
    kubeconfig: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    options = AttachOptions(kubeconfig=str(kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="nodes", state_folder=tmp_path))
    async with app.run_test(size=size) as pilot:
        screen = Headless(app, pilot)

        async def see(on: str, *wanted: str, keys: tuple[str, ...]) -> str:
            await screen.press(*keys)
            await screen.until(on, lambda _lines: type(app.screen).__name__ == on or None)
            return await screen.until_text(*wanted)

        await see("NodesScreen", "nc6-0", "live", keys=())
        await see("AuditScreen", "Nothing was changed from this host.", keys=("9",))
        await see("NodesScreen", "nc6-0", keys=("3", "slash", *"nc6-0", "enter"))
        await see("ConfirmDialog", "Cordon node nc6-0", keys=("X",))
        await see("NodesScreen", "cordoned", keys=("y",))
        await see("AuditScreen", "✓ done", "node nc6-0", "V undo", keys=("9",))
        await see("ActionScreen", "undo      cockpit node uncordon nc6-0", keys=("enter",))
        await see("AuditScreen", "V undo", keys=("escape",))
        await see("ConfirmDialog", "Uncordon node nc6-0", keys=("V",))
        await see("AuditScreen", "uncordon", keys=("y",))
        nodes = app.attachment.store.records("nodes").values()
        await screen.until("open", lambda _lines: not any(node.unschedulable for node in nodes) or None)


async def test_what_was_done_elsewhere_is_not_undone_here(kubeconfig: Path, tmp_path: Path) -> None:
    line = (
        b'{"audit_id":"a","step":"outcome","at_seconds":1.0,"verb":"cordon","target":"node x",'
        b'"context":"far","state":"done","undo":"cockpit node uncordon x --context far --write"}\n'
    )
    (tmp_path / "audit.jsonl").write_bytes(line)
    options = AttachOptions(kubeconfig=str(kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="nodes", state_folder=tmp_path))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = Headless(app, pilot)
        await screen.until_text("nc6-0", "live")
        await screen.press("9")
        await screen.until_text("node x", "V undo")
        await screen.press("V")
        told = "it was done in context far: switch to it with ctrl+x first"
        await screen.until("told", lambda _lines: told in [one.message for one in app._notifications] or None)
