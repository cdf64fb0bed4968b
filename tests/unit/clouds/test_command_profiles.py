"""The shipped profiles and own commands, run as programs that keep their arguments and answer what was
recorded."""

import asyncio
import contextlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cockpit.clouds.command import environment_of, read, run_program
from cockpit.clouds.errors import OutsideError
from cockpit.clouds.reading import read_pool
from cockpit.clouds.sending import send
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput
from cockpit.model.node import Node
from cockpit.model.pool import PoolObject
from cockpit.model.reach import Commands, Outside, Reach
from cockpit.pools import registry
from tests.unit.clouds.scripted import AKS_SHOW, GKE_DESCRIBE, VMSS_SHOW, Programs, command_outside
from tests.unit.pools.builders import able, node, store_of

Stand = Callable[[str, Mapping[str, Any]], "StandIn"]


class StandIn:
    """A program of that name, first on the path: keeps argv and variables, prints its answer."""

    def __init__(self, folder: Path, name: str, answer: Mapping[str, Any]) -> None:
        self._argv, self._variables = folder / f"{name}.argv", folder / f"{name}.env"
        answered = folder / f"{name}.json"
        answered.write_text(json.dumps(answer))
        program = folder / name
        program.write_text(
            "#!/bin/sh\n"
            f"for word in \"$@\"; do printf '%s\\t' \"$word\"; done >> '{self._argv}'\n"
            f"echo >> '{self._argv}'\n"
            f"env > '{self._variables}'\n"
            "echo 'WARNING: a new release is available' >&2\n"
            f"cat '{answered}'\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    @property
    def lines(self) -> list[str]:
        """The arguments of each run."""
        return [" ".join(line.split("\t")).strip() for line in self._argv.read_text().splitlines()]

    @property
    def variables(self) -> list[str]:
        """Names of the variables that it was given."""
        return [line.partition("=")[0] for line in self._variables.read_text().splitlines()]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    """Makes one."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    monkeypatch.setenv("KUBECONFIG", "/somewhere")
    monkeypatch.setenv("AZURE_CONFIG_DIR", str(tmp_path))
    return lambda name, answer: StandIn(tmp_path, name, answer)


def member(label: str) -> Node:
    return node("n-1", pool="gpu", pool_label=label)


AKS = command_outside("aks", resource_group="research", cluster="train")
GKE = command_outside("gke", cluster="train", location="europe-west4", project="p")
VMSS = command_outside("vmss", resource_group="acs")
AKS_NODE, GKE_NODE = member("kubernetes.azure.com/agentpool"), member("cloud.google.com/gke-nodepool")
AKS_WORDS = "--resource-group research --cluster-name train --name gpu"
GKE_WORDS = "--cluster train --location europe-west4 --project p"


async def pool_of(outside: Outside, one: Node) -> PoolObject:
    """The pool as its program tells it."""
    found = registry.unread("gpu", (one,), outside)
    assert found is not None and found.reach is not None
    return (await read_pool(found.reach, 7.0)).pools[0]


async def test_aks_is_read_and_scaled_by_its_commands(stand_in: Stand) -> None:
    az = stand_in("az", AKS_SHOW)
    found = await pool_of(AKS, AKS_NODE)
    assert (found.replicas, found.max_replicas, found.instance_type) == (2, None, "Standard_ND96isr_H100_v5")
    (call,) = able(found).resize_calls(found, 5)
    await send(call, read_only=False)
    show = f"aks nodepool show {AKS_WORDS} --output json"
    assert az.lines == [show, show, f"aks nodepool scale {AKS_WORDS} --node-count 5 --no-wait"]
    assert "AZURE_CONFIG_DIR" in az.variables
    assert not {"AWS_SECRET_ACCESS_KEY", "KUBECONFIG"} & set(az.variables)


async def test_the_maximum_of_aks_is_that_of_its_autoscaler(stand_in: Stand) -> None:
    az = stand_in("az", {**AKS_SHOW, "enableAutoScaling": True, "minCount": 1, "maxCount": 6})
    found = await pool_of(AKS, AKS_NODE)
    says = registry.ownership(found, (AKS_NODE,), store_of())
    assert says.why_not == "the autoscaler of AKS controls the size, between 1 and 6: change its maximum"
    (call,) = able(found).limit_calls(found, 9)
    await send(call, read_only=False)
    assert az.lines[-1] == (
        f"aks nodepool update {AKS_WORDS} --update-cluster-autoscaler --min-count 1 --max-count 9 --no-wait"
    )


async def test_gke_counts_for_each_zone(stand_in: Stand) -> None:
    gcloud = stand_in("gcloud", GKE_DESCRIBE)
    found = await pool_of(GKE, GKE_NODE)
    assert (found.replicas, found.zone_count) == (6, 3)
    (call,) = able(found).resize_calls(found, 9)
    await send(call, read_only=False)
    describe = f"container node-pools describe gpu {GKE_WORDS} --format json"
    resize = (
        "container clusters resize train --node-pool gpu --num-nodes 3 --location europe-west4 --project p"
        " --async --quiet"
    )
    assert gcloud.lines == [describe, describe, resize]
    with pytest.raises(BadInput) as refused:
        able(found).resize_calls(found, 7)
    assert refused.value.sentence == (
        "pool gpu spans 3 zones and gets the same number in each: 7 nodes cannot be shared out, give 6 or 9"
    )


async def test_gke_tells_no_target_while_it_autoscales(stand_in: Stand) -> None:
    scaling = {"enabled": True, "minNodeCount": 0, "maxNodeCount": 4}
    gcloud = stand_in("gcloud", {**GKE_DESCRIBE, "autoscaling": scaling})
    found = await pool_of(GKE, GKE_NODE)
    assert (found.replicas, found.min_replicas, found.max_replicas) == (None, 0, 12)
    (call,) = able(found).limit_calls(found, 15)
    await send(call, read_only=False)
    assert gcloud.lines[-1] == (
        f"container node-pools update gpu {GKE_WORDS} --enable-autoscaling --min-nodes 0 --max-nodes 5"
        f" --quiet"
    )


async def test_a_scale_set_is_read_and_scaled(stand_in: Stand) -> None:
    az = stand_in("az", VMSS_SHOW)
    found = await pool_of(VMSS, member("agentpool"))
    (call,) = able(found).resize_calls(found, 0)
    await send(call, read_only=False)
    show = "vmss show --resource-group acs --name gpu --output json"
    assert az.lines == [show, show, "vmss scale --resource-group acs --name gpu --new-capacity 0 --no-wait"]
    says = registry.ownership(found, (), store_of())
    assert says.may_limit.why_not == "the configuration names no command that changes the maximum of pool gpu"


async def test_a_pool_that_changes_is_left_alone(stand_in: Stand) -> None:
    stand_in("az", {**AKS_SHOW, "provisioningState": "Scaling"})
    says = registry.ownership(await pool_of(AKS, AKS_NODE), (AKS_NODE,), store_of())
    assert says.why_not == "AKS is changing this pool (Scaling): wait until that ends"


async def test_a_trial_runs_only_what_reads(stand_in: Stand) -> None:
    az = stand_in("az", AKS_SHOW)
    found = await pool_of(AKS, AKS_NODE)
    (call,) = able(found).resize_calls(found, 5)
    sent = await send(call, read_only=True, dry_run=True)
    assert sent.sentence == "AKS offers no dry run: sizes and bounds match its current answer"
    with pytest.raises(OutsideError):
        await send(call, read_only=True)
    assert {line.split()[2] for line in az.lines} == {"show"}


def test_only_pools_with_the_label_of_the_profile_are_asked_for() -> None:
    assert registry.unread("gpu", (member("example.com/pool"),), AKS) is None


# ---- own commands


OWN = Commands(
    who="the command",
    read=("power", "show", "{pool}", "--room={room}"),
    resize=("power", "set", "{pool}", "{size}"),
    desired="machines.0.wanted",
    values=(("room", "b 12; rm -rf / {size}"),),
)
REACH = Reach(service="command", pool="rack-a", commands=OWN)


async def test_what_is_filled_in_stays_one_word() -> None:
    programs = Programs(b'{"machines":[{"wanted":"3"}]}')
    found = (await read(REACH, 7.0, run=programs)).pools[0]
    assert programs.ran == [["power", "show", "rack-a", "--room=b 12; rm -rf / {size}"]]
    assert found.replicas == 3


@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        (b"no", "the command: power printed no JSON"),
        (b"[" * 100_000, "the command: power printed no JSON"),
        (
            b'{"machines":[{"wanted":-1}]}',
            "the command: the value at machines.0.wanted is -1, not a number of nodes",
        ),
        (
            b'{"machines":[{"wanted":"\\u001b[2J"}]}',
            "the command: the value at machines.0.wanted is '\\x1b[2J', not a number of nodes",
        ),
    ],
)
async def test_answers_that_are_none_are_refused(printed: bytes, sentence: str) -> None:
    with pytest.raises(OutsideError) as refused:
        await read(REACH, 7.0, run=Programs(printed))
    assert refused.value.sentence == sentence


async def test_a_path_that_leads_nowhere_is_a_size_that_is_not_known() -> None:
    assert (await read(REACH, 7.0, run=Programs(b"{}"))).pools[0].replicas is None


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(OutsideError) as refused:
        await run_program(["no-such-program-of-ours"], OWN, is_change=False)
    assert (refused.value.code, refused.value.message) == (
        "NoProgram",
        "the program no-such-program-of-ours was not found",
    )


async def test_a_program_that_fails_is_told_by_its_error_and_no_control_codes() -> None:
    script = "echo 'WARNING: old' >&2; printf 'ERROR: \\033[31mno power\\033[0m\\n' >&2; exit 4"
    with pytest.raises(OutsideError) as refused:
        await run_program(["sh", "-c", script], OWN, is_change=False)
    assert (refused.value.code, refused.value.message) == ("Exit4", "ERROR: [31mno power[0m")


async def test_a_program_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    slow = replace(OWN, timeout_seconds=0.2)
    # Both shells wait for a writer that never comes; the second would outlive the first.
    script = f"(cat '{pipe}') & cat '{pipe}'"
    with pytest.raises(OutsideError) as refused:
        await run_program(["sh", "-c", script], slow, is_change=True)
    assert (refused.value.code, refused.value.is_lost) == ("NoAnswer", True)
    assert refused.value.message == "sh did not end within 0.2 s"


async def test_what_a_program_prints_is_bounded() -> None:
    printed = await run_program(["sh", "-c", "head -c 3000000 /dev/zero"], OWN, is_change=False)
    assert len(printed) == 1 << 20


def test_a_program_is_given_no_variable_that_it_does_not_need() -> None:
    ours = {"PATH": "/bin", "HOME": "/home/a", "AWS_SESSION_TOKEN": "t", "POWER_FILE": "f", "KUBECONFIG": "k"}
    given = environment_of(replace(OWN, environment=("POWER_FILE",)), ours)
    assert given == {"PATH": "/bin", "HOME": "/home/a", "POWER_FILE": "f"}


async def test_a_program_ends_with_whoever_waits_for_it(tmp_path: Path) -> None:
    pipe, began = tmp_path / "pipe", tmp_path / "began"
    os.mkfifo(pipe)
    os.mkfifo(began)
    script = f"echo $$ > '{began}'; cat '{pipe}'"
    task = asyncio.create_task(run_program(["sh", "-c", script], OWN, is_change=False))
    pid = int(await apart(began.read_text))  # it runs
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await apart(lambda: gone(pid))


def gone(pid: int) -> None:
    """Wait until that process runs no more; who has ended stays a zombie until it is reaped."""
    state = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while state.read_text().rpartition(")")[2].split()[0] not in ("Z", "X"):
            os.sched_yield()
