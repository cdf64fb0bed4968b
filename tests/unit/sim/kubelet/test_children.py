"""Children whose launcher is slow to end: nothing of them is left to a loop that is gone."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from cockpit.sim.actors.kubelet import children
from cockpit.sim.actors.kubelet.children import Child
from tests.waiting import until


async def test_the_pipes_of_a_launcher_that_is_late_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = await Child.launch(["sleep", "300"], directory=tmp_path, environment=os.environ)
    launcher = child.process
    launcher.send_signal(signal.SIGSTOP)
    monkeypatch.setattr(children, "_END_SECONDS", 0.05)
    try:
        await child.end()
        assert launcher.returncode is None
        transport: asyncio.SubprocessTransport = launcher._transport  # type: ignore[attr-defined]
        pipes = [pipe for number in (1, 2) if (pipe := transport.get_pipe_transport(number)) is not None]
        assert len(pipes) == 2 and all(pipe.is_closing() for pipe in pipes)
    finally:
        launcher.send_signal(signal.SIGCONT)
    async with asyncio.timeout(60):
        await launcher.wait()
    with pytest.raises(ProcessLookupError):  # it ended what it had started, although nobody waited
        os.kill(child.pid, 0)


_MANY_FILES = """
import asyncio, os, resource, sys
from pathlib import Path
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
assert held[-1] >= 1_024
from cockpit.sim.actors.kubelet.children import Child

async def main():
    done = await Child.launch(["sh", "-c", "exit 7"], directory=Path("."), environment=os.environ)
    print(await asyncio.wait_for(done.wait(), 60), flush=True)
    words = ["sh", "-c", "(setsid sleep 300 & echo $!); setsid sleep 301 & echo $!; wait"]
    away = await Child.launch(words, directory=Path("."), environment=os.environ)
    lines = [int(await away.process.stdout.readline()) for _ in range(2)]
    print(away.process.pid, away.pid, *lines, flush=True)
    {end}

asyncio.run(main())
"""


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.parametrize("end", ["await asyncio.sleep(300)", "await away.end()"], ids=["SIGKILL", "its end"])
async def test_containers_beyond_a_thousand_files_run_and_leave_nothing(tmp_path: Path, end: str) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _MANY_FILES.replace("{end}", end),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert parent.stdout is not None and parent.stderr is not None
    async with asyncio.timeout(120):
        code = await parent.stdout.readline()
        assert code == b"7\n", (code, await parent.stderr.read() if not code else b"")
        pids = [int(word) for word in (await parent.stdout.readline()).split()]
        assert len(pids) == 4
        if "sleep" in end:
            assert not any(_gone(pid) for pid in pids)
            parent.send_signal(signal.SIGKILL)
        await parent.wait()
    await until(lambda: all(_gone(pid) for pid in pids))
