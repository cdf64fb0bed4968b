"""A file of manifests by keys: from the templates of the form to the objects that were shown."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless

pytestmark = pytest.mark.waits

FILE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: batch/v1
kind: Job
metadata: {generateName: fit-}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "registry.test/train:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("embedded"), "two-nodes", 5) as made:
        yield made


async def test_what_a_command_refuses_by_name_is_refused_here(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = FILE.replace("restartPolicy", "priorityClassName: absent\n      restartPolicy")
    (tmp_path / "j").write_text(bad.replace("{name: settings}", "{name: settings, namespace: team-a}"))
    options = AttachOptions(kubeconfig=str(kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path / "state"))
    async with app.run_test(size=(120, 40)) as pilot:
        screen = Headless(app, pilot)
        await screen.until_text("team-a/cifar-1", "live")
        await screen.press("N")
        await screen.until_text("New job")
        await screen.press("f2", *"manifests", "enter")
        await screen.until_text("type the path of a file")
        await screen.press("j")
        shown = await screen.until_text("Submit 2 objects of j", "$ cockpit job submit -f j")
        assert "--namespace" not in shown, "the command would refuse it beside the one in the file"
        await screen.press("ctrl+s")
        await screen.until_text("absent")


@pytest.mark.parametrize("size", [(80, 24), (160, 45)])
async def test_a_file_is_planned_while_its_path_is_typed_and_created_as_shown(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "j.yaml").write_text(FILE.replace("settings", f"settings-{size[0]}"))
    os.mkfifo(tmp_path / "p")
    options = AttachOptions(kubeconfig=str(kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path / "state"))
    async with app.run_test(size=size) as pilot:
        screen = Headless(app, pilot)
        await screen.until_text("team-a/cifar-1", "live")
        await screen.press("N")
        await screen.until_text("New job")
        await screen.press("f2", *"manifests")
        await screen.until_text("a file of manifests")
        await screen.press("enter")
        await screen.until_text("type the path of a file")
        await screen.press("p")  # a pipe that nobody writes to would hold every key
        await screen.until_text("p is no regular file")
        await screen.press("backspace", *"j.yam")
        await screen.until_text("No such file or directory")
        await screen.press("l")
        shown = await screen.until_text("Submit 2 objects of j.yaml", "create configmap", "1 GPU in total")
        name = next(word for word in shown.split() if "/fit-" in word)
        await screen.press("ctrl+s")
        await screen.until_text("y or enter submit", name)
        await screen.press("y")
        await screen.until_text("New job")
        await screen.press("escape")
        await screen.until_text(name)
