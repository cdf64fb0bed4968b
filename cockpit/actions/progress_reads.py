"""How far the jobs are that somebody waits for: read from the logs of the largest, on demand."""

import asyncio
from functools import lru_cache
from pathlib import Path
from typing import Final

from cockpit.errors import CockpitError
from cockpit.jobs.progress import Patterns, fraction_done
from cockpit.jobs.run_log import container_of, patterns_for
from cockpit.jobs.template import Library, load_library
from cockpit.kube.log_fan_in import read_once
from cockpit.kube.session import ApiSession
from cockpit.model.job import Job
from cockpit.model.log import LogSource
from cockpit.model.pod import Pod
from cockpit.triage.context import ClusterView

MOST_JOBS: Final = 8
"""Logs that are read for one answer: of the jobs that hold most GPUs, for their ends free most."""
TAIL_LINES: Final = 60
LOG_BYTES: Final = 32 << 10


async def read_progress(
    session: ApiSession, view: ClusterView, folders: tuple[Path, ...] = ()
) -> dict[str, float]:
    """Done so far (0..1) by the key of the job; those whose logs do not tell it, or may not be read, are not
    in it. `folders` hold templates besides ours, with patterns of their own. Raises nothing."""
    running = [(job, pods[0]) for job in view.jobs.jobs.values() if (pods := _telling(job, view))]
    running.sort(key=lambda pair: (-pair[0].gpus_allocated, pair[0].key))
    asked = running[:MOST_JOBS]
    if not asked:
        return {}
    library = await asyncio.to_thread(_library, folders)
    found = await asyncio.gather(*(_of(session, job, pod, library) for job, pod in asked))
    return {job.key: done for (job, _), done in zip(asked, found, strict=True) if done is not None}


def _telling(job: Job, view: ClusterView) -> list[Pod]:
    """The members that run, the one first that tells of all: a launcher, else the first rank."""
    if not job.gpus_allocated:
        return []
    return [pod for pod in view.jobs.members(job.key) if pod.phase == "Running" and pod.node]


async def _of(session: ApiSession, job: Job, pod: Pod, library: Library) -> float | None:
    patterns = Patterns(patterns_for(job.kind, job.api_version, library.templates.values()))
    source = LogSource(pod.uid, pod.namespace, pod.name, pod.name, container_of(pod))
    try:
        lines = await read_once(session, source, tail_lines=TAIL_LINES, limit_bytes=LOG_BYTES)
    except CockpitError:
        return None
    return fraction_done(patterns.read_all(line.text for line in lines))


@lru_cache(maxsize=4)
def _library(folders: tuple[Path, ...]) -> Library:
    return load_library(folders)
