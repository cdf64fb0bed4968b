"""Canaries in a job, its events and the kubeconfig: no screen, no printed line and no file of ours shows one,
and what a clone sends is the job as it is."""

import asyncio
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.kube.resource import EVENTS, JOBS
from cockpit.mask import HIDDEN
from tests.reliability.figures import Tell
from tests.tui.embedded import embedded
from tests.tui.folded import fold_details
from tests.tui.on_the_bed import Headless, Shell, until
from tests.tui.test_life_on_the_embedded_cluster import Cluster
from tests.unit.kube.test_mask import CANARY, canary_manifest

pytestmark = pytest.mark.waits

SIZE = (180, 120)
ACCEPTED = "server: the cluster would accept it"
MESSAGE = f"Error: HF_TOKEN={CANARY} was refused by https://u:{CANARY}@hub.example"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With the job of canaries, an event that quotes one, and a context whose user holds one."""
    with embedded(tmp_path_factory.mktemp("embedded"), "two-nodes", 5) as kubeconfig:
        tree = yaml.safe_load(kubeconfig.read_text())
        first = tree["contexts"][0]["context"]
        tree["users"].append({"name": "spare", "user": {"token": CANARY}})
        tree["contexts"].append({"name": "spare", "context": {**first, "user": "spare"}})
        own = kubeconfig.with_name("with-canaries")
        own.write_text(yaml.safe_dump(tree))
        own.chmod(0o600)
        made = Cluster(own)
        manifest = canary_manifest()
        main = manifest["spec"]["template"]["spec"]["containers"][0]
        main.pop("livenessProbe")
        main["resources"] = {"limits": {"nvidia.com/gpu": 1}}
        job = made.ask("POST", JOBS.path("team-a"), manifest)
        involved = {"apiVersion": "batch/v1", "kind": "Job", "namespace": "team-a", "name": "canary"}
        event = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "canary.1", "namespace": "team-a"},
            "involvedObject": {**involved, "uid": job["metadata"]["uid"]}, "type": "Warning",
            "reason": "Failed", "message": MESSAGE, "count": 1,
        }  # fmt: skip
        made.ask("POST", EVENTS.path("team-a"), event)
        yield made


def kept_files(folder: Path) -> dict[str, str]:
    """What is in every file below it."""
    return {str(one): one.read_text(errors="replace") for one in folder.rglob("*") if one.is_file()}


def environment(cluster: Cluster, name: str) -> list[dict[str, Any]]:
    """Of the container of a job, as the server has it."""
    tree = cluster.ask("GET", JOBS.path("team-a", name))
    found: list[dict[str, Any]] = tree["spec"]["template"]["spec"]["containers"][0]["env"]
    return found


def command_lines() -> list[str]:
    """Of every process of this host."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.row(61, "screens with a canary", most=0)
@pytest.mark.row(61, "screens looked at", least=13)
@pytest.mark.row(61, "files of ours with a canary after the session", most=0)
@pytest.mark.row(61, "command lines in /proc with a canary", most=0)
async def test_no_screen_shows_a_canary_and_the_clone_keeps_its_values(
    cluster: Cluster, tmp_path: Path, figure: Tell
) -> None:
    fold_details(tmp_path)
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    seen: list[str] = []
    running: set[str] = set()
    async with app.run_test(size=SIZE) as pilot:
        screen = Headless(app, pilot)

        async def see(on: str, *wanted: str, keys: tuple[str, ...]) -> None:
            await screen.press(*keys)
            await screen.until(on, lambda _lines: type(app.screen).__name__ == on or None)
            seen.append(await screen.until_text(*wanted))
            running.update(command_lines())

        await see("JobsScreen", "team-a/canary", keys=("slash", *"canary", "enter"))
        await see("YamlScreen", "HF_TOKEN", HIDDEN, "--lr", keys=("y",))
        await see("YamlScreen", keys=("pagedown",))
        await see("JobsScreen", "team-a/canary", keys=("escape",))
        await see("WhyScreen", "canary", keys=("w",))
        await see("JobsScreen", "team-a/canary", keys=("escape",))
        await see("JobScreen", "canary", keys=("enter",))
        await see("JobsScreen", "team-a/canary", keys=("escape",))
        await see("EventsScreen", "was refused by", keys=("6",))
        await see("JobsScreen", "team-a/canary", keys=("2",))
        await see("CloneScreen", "canary-r2", "[hidden-", ACCEPTED, keys=("C",))
        await see("ConfirmDialog", "Clone job team-a/canary", "kubectl", ACCEPTED, keys=("ctrl+s",))
        await see("ConfirmDialog", "TOKENIZERS_PARALLELISM", keys=("k",))
        await see("JobScreen", "canary-r2", keys=("y",))
        await see("JobsScreen", "team-a/canary-r2", keys=("escape",))
        await see("ConfirmDialog", "Kill", keys=("K",))
    figure("screens looked at", len(seen))
    figure("screens with a canary", sum(CANARY in text for text in seen))
    figure(
        "files of ours with a canary after the session",
        sum(CANARY in text for text in kept_files(tmp_path).values()),
    )
    figure("command lines in /proc with a canary", sum(CANARY in line for line in running))
    assert (tmp_path / "audit.jsonl").exists()
    before, after = [await asyncio.to_thread(environment, cluster, name) for name in ("canary", "canary-r2")]
    assert after == before
    assert CANARY in json.dumps(after)


@pytest.mark.row(61, "commands that print a canary", most=0)
@pytest.mark.row(61, "files of ours with a canary after the commands", most=0)
def test_no_command_prints_a_canary(cluster: Cluster, tmp_path: Path, figure: Tell) -> None:
    shell = Shell(cluster.kubeconfig, tmp_path)
    until("the job is there", lambda: True if shell.items("jobs", "-n", "team-a") else None)
    report = tmp_path / "report.json"
    lines = (
        ("get", "jobs", "-o", "json"),
        ("get", "pods", "-o", "yaml"),
        ("get", "events", "-o", "json"),
        ("get", "events"),
        ("get", "nodes", "--context", "spare"),
        ("triage", "-o", "json"),
        ("why", "job/team-a/canary", "--report", str(report)),
        ("job", "clone", "team-a/canary", "--set", "name=canary-r7", "--dry-run"),
        ("job", "clone", "team-a/canary", "--set", "name=canary-r8", "--write", "--yes"),
        ("job", "kill", "team-a/canary-r8", "--write", "--yes"),
        ("audit", "-o", "json"),
    )
    said = {words: shell.run(*words) for words in lines}
    printed = {words: f"{done.stdout}{done.stderr}" for words, done in said.items()}
    figure("commands that print a canary", sum(CANARY in text for text in printed.values()))
    assert [words for words, text in printed.items() if not text.strip()] == []
    assert HIDDEN in printed[lines[7]]
    assert "was refused by" in printed[lines[2]], "the event is there, without its canaries"
    kept = kept_files(tmp_path)
    assert str(report) in kept
    figure("files of ours with a canary after the commands", sum(CANARY in text for text in kept.values()))
