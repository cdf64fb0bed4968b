"""Objects of any kind by name in the palette, described, with their owners, and copied."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.screens import copying
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless

pytestmark = pytest.mark.waits


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("embedded"), "two-nodes", 5) as made:
        yield made


class Seat:
    """A read-only cockpit on the jobs, with a clipboard that remembers."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        options = AttachOptions(kubeconfig=str(kubeconfig))
        self.app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=folder))
        self.copied: list[str] = []
        self.app.copy_to_clipboard = self.copied.append  # type: ignore[method-assign, assignment]

    @property
    def told(self) -> list[str]:
        return [item.message for item in self.app._notifications]

    async def see(self, screen: Headless, on: str, *wanted: str, keys: tuple[str, ...]) -> str:
        await screen.press(*keys)
        await screen.until(on, lambda _lines: type(self.app.screen).__name__ == on or None)
        return await screen.until_text(*wanted)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_a_kind_is_opened_by_its_name_and_an_object_of_it_described(
    kubeconfig: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    seat = Seat(kubeconfig, tmp_path)
    async with seat.app.run_test(size=size) as pilot:
        screen = Headless(seat.app, pilot)
        await seat.see(screen, "JobsScreen", "team-a/cifar-1", "live", keys=())
        await seat.see(screen, "ChoiceDialog", "DaemonSet of apps/v1", keys=("colon", *"daemons"))
        await seat.see(screen, "KindScreen", "nvidia-dcgm", keys=("enter",))
        described = await seat.see(screen, "DescribeScreen", "gpu-operator/nvidia-dcgm", keys=("enter",))
        assert "app=nvidia-dcgm-exporter" in described
        await seat.see(screen, "KindScreen", "nvidia-dcgm", keys=("escape",))
        await seat.see(screen, "OwnersScreen", "◂", keys=("o",))
        await seat.see(screen, "KindScreen", "None of", keys=("escape", "slash", *"absent", "enter"))


async def test_secrets_are_no_kind_of_the_palette(kubeconfig: Path, tmp_path: Path) -> None:
    seat = Seat(kubeconfig, tmp_path)
    async with seat.app.run_test(size=(100, 30)) as pilot:
        screen = Headless(seat.app, pilot)
        await seat.see(screen, "JobsScreen", "team-a/cifar-1", "live", keys=())
        await screen.until("kinds", lambda _lines: seat.app.api.kinds() or None)
        assert "secrets" not in {kind.plural for kind in seat.app.api.kinds()}


async def test_the_owners_of_a_pod_are_a_tree_from_the_top(kubeconfig: Path, tmp_path: Path) -> None:
    seat = Seat(kubeconfig, tmp_path)
    async with seat.app.run_test(size=(120, 40)) as pilot:
        screen = Headless(seat.app, pilot)
        await seat.see(screen, "PodsScreen", "cifar-1-0", keys=("7",))
        await screen.press("slash", *"cifar-1-0", "enter")
        tree = await seat.see(screen, "OwnersScreen", "◂", keys=("o",))
        job, pod = (line for line in tree.splitlines() if "cifar-1" in line and "live" not in line)
        assert job.strip() == "Job team-a/cifar-1"
        assert pod.strip().startswith("└ Pod team-a/cifar-1-0") and pod.strip().endswith("◂")


async def test_name_command_yaml_and_cells_are_copied(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = Seat(kubeconfig, tmp_path)
    async with seat.app.run_test(size=(120, 40)) as pilot:
        screen = Headless(seat.app, pilot)
        await seat.see(screen, "JobsScreen", "team-a/cifar-1", "live", keys=())
        await screen.press("slash", *"cifar-1", "enter")
        copied: list[str] = []
        for words, has in (("name", "cifar-1"), ("kubectl", "kubectl get job cifar-1 -n team-a -o yaml")):
            await seat.see(screen, "ChoiceDialog", "show all", keys=("c",))
            await screen.press(*words, "enter")
            await screen.until(words, lambda _lines: len(seat.copied) > len(copied) or None)
            copied.append(has)
            assert seat.copied == copied and seat.told[-1] == f"copied: {has}"
        await seat.see(screen, "ChoiceDialog", "show all", keys=("c",))
        await seat.see(screen, "JobsScreen", keys=(*"YAML", "enter"))
        await screen.until("YAML", lambda _lines: len(seat.copied) == 3 or None)
        assert yaml.safe_load(seat.copied[-1])["metadata"]["name"] == "cifar-1"
        await seat.see(screen, "ChoiceDialog", "show all", keys=("c",))
        await seat.see(screen, "CopyScreen", "namespace/name: team-a/cifar-1", keys=(*"show", "enter"))
        await seat.see(screen, "JobsScreen", "cifar-1", keys=("escape",))
        monkeypatch.setattr(copying, "MOST_BYTES", 100)
        await seat.see(screen, "ChoiceDialog", "show all", keys=("c",))
        await screen.press(*"YAML", "enter")
        await screen.until("refused", lambda _lines: "more than terminals take" in seat.told[-1] or None)
        assert len(seat.copied) == 3
