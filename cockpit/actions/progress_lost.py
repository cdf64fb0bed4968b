"""What jobs that would end lose: hours run, and steps since their last checkpoint as their logs tell them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cockpit.errors import CockpitError
from cockpit.jobs.members import in_order
from cockpit.jobs.progress import Patterns
from cockpit.jobs.run_log import container_of, patterns_for
from cockpit.jobs.template import Library, load_library
from cockpit.jobs.training.run import TrainingRun
from cockpit.kube.log_fan_in import read_once
from cockpit.kube.session import ApiSession
from cockpit.model.job import Job
from cockpit.model.log import LogSource
from cockpit.model.pod import Pod

MOST_JOBS: Final = 8
"""Logs that are read for one plan: of the jobs that hold most GPUs."""
TAIL_LINES: Final = 2_000
LOG_BYTES: Final = 256 << 10
PATIENCE_SECONDS: Final = 4.0
"""All logs together: what has not come by then is not known."""


class StepsLost:
    """By job and moment of asking, so that the plan that is sent does not read the logs again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, float], int | None] = {}

    async def of(
        self,
        session: ApiSession,
        jobs: Sequence[tuple[Job, tuple[Pod, ...]]],
        folders: tuple[Path, ...],
        at_seconds: float,
    ) -> dict[str, int | None]:
        """Steps since the last checkpoint by the key of the job; None where the log does not tell. Raises
        nothing."""
        largest = sorted(jobs, key=lambda pair: (-pair[0].gpus_allocated, pair[0].key))[:MOST_JOBS]
        asked = [pair for pair in largest if (pair[0].uid, at_seconds) not in self._kept]
        if asked:
            if len(self._kept) > 16 * MOST_JOBS:
                self._kept.clear()
            library = await asyncio.to_thread(load_library, folders)
            tasks = [asyncio.ensure_future(_steps_lost(session, *pair, library)) for pair in asked]
            await asyncio.wait(tasks, timeout=PATIENCE_SECONDS)
            for (job, _), task in zip(asked, tasks, strict=True):
                task.cancel()
                is_known = task.done() and not task.cancelled() and task.exception() is None
                self._kept[job.uid, at_seconds] = task.result() if is_known else None
        return {job.key: self._kept.get((job.uid, at_seconds)) for job, _ in largest}


async def _steps_lost(session: ApiSession, job: Job, pods: tuple[Pod, ...], library: Library) -> int | None:
    running = [pod for pod in in_order(pods) if pod.phase == "Running"]
    if not running:
        return None
    pod = running[0]  # a launcher, else the first rank
    run = TrainingRun(Patterns(patterns_for(job.kind, job.api_version, library.templates.values())))
    source = LogSource(pod.uid, pod.namespace, pod.name, pod.name, container_of(pod), pod.rank)
    try:
        run.take(await read_once(session, source, tail_lines=TAIL_LINES, limit_bytes=LOG_BYTES))
    except CockpitError:
        return None
    step, kept = run.progress.step, run.checkpoints.step
    if step is None or kept is None:
        return None
    return max(0, step - kept)


STEPS_LOST: Final = StepsLost()
