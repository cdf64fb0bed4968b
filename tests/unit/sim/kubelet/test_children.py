"""Children whose launcher is slow to end: nothing of them is left to a loop that is gone."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from cockpit.sim.actors.kubelet import children
from cockpit.sim.actors.kubelet.children import Child


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
