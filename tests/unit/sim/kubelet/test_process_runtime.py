"""The process runtime with real children: output, environment, ends, and that nothing is left of them."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from cockpit.clock import SystemClock
from cockpit.kube.resource import PODS
from cockpit.sim.actors.kubelet.actor import Kubelets
from cockpit.sim.actors.kubelet.behaviour import Habits
from cockpit.sim.actors.kubelet.logfile import LineCutter, LogFile
from cockpit.sim.actors.kubelet.process import ProcessRuntime
from cockpit.sim.engine import ActorEngine
from cockpit.sim.port import Tree
from cockpit.sim.resources import CONFIG_MAPS, SECRETS
from tests.adapters.memory_port import MemoryPort
from tests.unit.sim.kubelet.small_cluster import SmallCluster
from tests.waiting import until

QUICK = Habits(sandbox_seconds=(0.0, 0.0), create_seconds=(0.0, 0.0), sync_seconds=0.05)


class LiveCluster(SmallCluster):
    """A small cluster by the wall's clock, with a process node."""

    def __init__(self, folder: Path) -> None:
        clock: Any = SystemClock()
        self.clock = clock
        self.port = MemoryPort(clock)
        self.runtime = ProcessRuntime(folder, clock.now)
        self.kubelets = Kubelets(random=Random(7), habits=QUICK, runtimes=[self.runtime])
        self.engine = ActorEngine(self.port, clock, Random(7), [self.kubelets])

    def run(self, script: str, name: str = "train", **fields: Any) -> Tree:
        """A pod whose container runs a shell script."""
        container = {"command": ["sh", "-c", script], **fields.pop("container", {})}
        return self.pod(name, container=container, **fields)

    def ended(self, name: str = "train") -> dict[str, Any]:
        """The end of the first container, {} before it."""
        containers = self.port.objects[(PODS, "a", name)]["status"].get("containerStatuses", [])
        return dict(containers[0]["state"].get("terminated", {})) if containers else {}

    def phase(self, name: str = "train") -> str:
        """The pod's phase."""
        return str(self.status(name)["phase"])

    def output(self, name: str = "train") -> str:
        """All that the first container has written."""
        run = self.kubelets.run_of("a", name)
        assert run is not None
        log = run.containers[0].logs[-1]
        return "\n".join(line.text.decode() for line in log.lines(since=0, tail=None, now=0))


@asynccontextmanager
async def live(folder: Path) -> AsyncIterator[LiveCluster]:
    """A running cluster that is ended."""
    cluster = LiveCluster(folder)
    await cluster.engine.start()
    cluster.node(runtime="process")
    running = asyncio.create_task(cluster.engine.run())
    try:
        yield cluster
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await cluster.engine.stop()


def is_alive(pid: int) -> bool:
    """True while the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_command_runs_with_its_environment_files_and_devices(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        meta = {"namespace": "a"}
        cluster.port.put(CONFIG_MAPS, {"metadata": {"name": "c", **meta}, "data": {"f.txt": "from a map"}})
        cluster.port.put(SECRETS, {"metadata": {"name": "s", **meta}, "data": {"k": "c2VjcmV0"}})
        secret = {"secretKeyRef": {"name": "s", "key": "k"}}
        container: Tree = {
            "env": [
                {"name": "KEY", "valueFrom": secret},
                {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "BOTH", "value": "$(ME)+$(KEY)"},
            ],
            "volumeMounts": [
                {"name": "conf", "mountPath": "/etc/conf"},
                {"name": "scratch", "mountPath": "/scratch"},
            ],
        }
        volumes = [{"name": "conf", "configMap": {"name": "c"}}, {"name": "scratch", "emptyDir": {}}]
        script = (
            'echo "$BOTH"; cat /etc/conf/f.txt; echo; echo x > /scratch/y; ls "$COCKPIT_ROOT/scratch"; '
            'echo "$CUDA_VISIBLE_DEVICES"; echo "${SSH_AUTH_SOCK-}${VIRTUAL_ENV-}"; echo bad >&2; exit 7'
        )
        cluster.run(script, gpus=2, container=container, spec={"volumes": volumes})
        await until(lambda: cluster.ended())
        assert cluster.ended()["exitCode"] == 7 and cluster.phase() == "Failed"
        lines = cluster.output().split("\n")
        cards = cluster.kubelets.devices.devices("gpu-0")
        assert lines[:3] == ["train+secret", "from a map", "y"]
        assert lines[3] == ",".join(cards[:2]) and cards[0].startswith("GPU-")
        assert lines[4] == "" and "bad" in lines
        await cluster.delete()
        await until(lambda: not cluster.exists())
        await until(lambda: list(tmp_path.iterdir()) == [])


async def test_a_missing_secret_is_told_and_its_coming_starts_the_command(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        secret = {"secretRef": {"name": "later"}}
        cluster.run("exit 0", container={"envFrom": [secret]})
        await until(lambda: "CreateContainerConfigError" in str(cluster.status()))
        waiting = cluster.main()["state"]["waiting"]
        assert waiting == {"reason": "CreateContainerConfigError", "message": 'secret "later" not found'}
        assert ("Warning", "Failed", 'Error: secret "later" not found') in cluster.events()
        cluster.port.put(SECRETS, {"metadata": {"name": "later", "namespace": "a"}})
        await until(lambda: cluster.phase() == "Succeeded")


async def test_a_command_that_is_not_there_is_told_in_the_words_of_runc(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        cluster.pod(container={"command": ["no-such-program"]})
        await until(lambda: cluster.ended())
        end = cluster.ended()
        assert (end["exitCode"], end["reason"]) == (128, "StartError")
        assert 'exec: "no-such-program": executable file not found in $PATH' in end["message"]


async def test_deleting_a_pod_ends_the_command_and_all_that_it_started(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        script = (
            "(setsid sleep 300 & echo $!; sleep 301 & echo $!; wait) & "
            "trap 'echo bye; exit 0' TERM; wait; wait"
        )
        cluster.run(script)
        await until(lambda: cluster.phase() == "Running" and len(cluster.output().split()) >= 2)
        children = [int(word) for word in cluster.output().split()]
        assert all(is_alive(pid) for pid in children)
        await cluster.delete()
        await until(lambda: not cluster.exists())
        assert not any(is_alive(pid) for pid in children)
        end = cluster.port.history[-1][3]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert end["exitCode"] == 0


async def test_who_ignores_sigterm_is_killed_when_the_grace_is_over(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        cluster.run("trap '' TERM; echo ready; while :; do sleep 0.1; done")
        await until(lambda: cluster.phase() == "Running" and "ready" in cluster.output())
        await cluster.delete(grace_seconds=1)
        await until(lambda: not cluster.exists())
        end = cluster.port.history[-1][3]["status"]["containerStatuses"][0]["state"]["terminated"]
        assert end["exitCode"] == 137


async def test_real_probes_look_and_a_failed_liveness_probe_restarts(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        probes: Tree = {
            "readinessProbe": {"exec": {"command": ["test", "-e", "ready"]}, "periodSeconds": 0.05},
            "livenessProbe": {
                "tcpSocket": {"port": 1},
                "initialDelaySeconds": 0.5,
                "periodSeconds": 0.05,
                "failureThreshold": 2,
            },
        }
        cluster.run("touch ready; sleep 300", restart="Always", container=probes)
        await until(lambda: cluster.phase() == "Running" and cluster.main()["ready"])
        await until(lambda: cluster.main()["restartCount"] >= 1)
        assert (
            "Warning",
            "Unhealthy",
            "Liveness probe failed: dial tcp 127.0.0.1:1: connect: connection refused",
        ) in cluster.events()
        assert (
            "Normal",
            "Killing",
            "Container main failed liveness probe, will be restarted",
        ) in cluster.events()


_PARENT = """
import asyncio, sys
from pathlib import Path
from tests.unit.sim.kubelet.test_process_runtime import live, until
async def main():
    async with live(Path(sys.argv[1])) as cluster:
        away = "setsid sleep 300 & echo $!; setsid sh -c 'setsid sleep 302 & echo $!; wait'"
        cluster.run(f"({away}) & sleep 301 & echo $!; wait")
        await until(lambda: cluster.phase() == "Running" and len(cluster.output().split()) >= 3)
        run = cluster.kubelets.run_of("a", "train")
        print(run.containers[0].running.pid, cluster.output().replace("\\n", " "), flush=True)
        await asyncio.sleep(300)
asyncio.run(main())
"""


async def test_nothing_is_left_a_second_after_we_were_killed(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _PARENT,
        os.fspath(tmp_path),
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert parent.stdout is not None
    pids = [int(word) for word in (await parent.stdout.readline()).split()]
    assert len(pids) == 4 and all(is_alive(pid) for pid in pids)
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    await until(lambda: not any(is_alive(pid) for pid in pids), seconds=1.0)


async def test_stopping_the_engine_leaves_nothing(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        cluster.run("sleep 300 & echo $!; wait")
        await until(lambda: cluster.phase() == "Running" and cluster.output())
        pid = int(cluster.output())
    assert not is_alive(pid)


async def test_a_kubelet_that_starts_again_has_lost_its_processes(tmp_path: Path) -> None:
    async with live(tmp_path) as cluster:
        cluster.run("sleep 300")
        cluster.run("sleep 300", "again", restart="Always")
        await until(lambda: cluster.phase() == "Running" and cluster.phase("again") == "Running")
        cluster.kubelets.outage("gpu-0", is_out=True)  # it dies without a last word
        await cluster.kubelets.stop()
        kubelets = Kubelets(
            random=Random(7), habits=QUICK, runtimes=[ProcessRuntime(tmp_path, cluster.clock.now)]
        )
        clock: Any = cluster.clock
        engine = ActorEngine(cluster.port, clock, Random(8), [kubelets])
        cluster.port.sinks.clear()
        await engine.start()
        running = asyncio.create_task(engine.run())
        try:
            await until(lambda: cluster.phase() == "Failed")
            assert cluster.ended()["reason"] == "ContainerStatusUnknown"
            await until(lambda: cluster.main("again")["restartCount"] == 1)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await kubelets.stop()


def test_logs_are_bounded_and_rotate(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log", rotate_bytes=2000)
    for index in range(200):
        log.write(1000.0 + index, "stdout", b"line %d" % index)
    kept = [line.text for line in log.lines(since=0, tail=None, now=0)]
    assert kept[-1] == b"line 199" and kept[0] != b"line 0"
    assert kept == [b"line %d" % index for index in range(200 - len(kept), 200)]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 3 * 2100
    assert [line.text for line in log.lines(since=1198.5, tail=None, now=0)] == [b"line 199"]
    log.close()


def test_lines_are_cut_where_they_are_too_long() -> None:
    cutter = LineCutter()
    pieces = [*cutter.feed(b"a\nbc"), *cutter.feed(b"d\n" + b"x" * 40_000), *cutter.end()]
    assert pieces[:2] == [(b"a", False), (b"bcd", False)]
    assert [len(text) for text, _ in pieces[2:]] == [16384, 16384, 7232]
    assert all(is_partial for _, is_partial in pieces[2:])
