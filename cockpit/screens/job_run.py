"""What the logs of a job's members tell on its page: read now and then while somebody looks at it."""

import asyncio
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from textual.worker import WorkType

from cockpit.errors import CockpitError
from cockpit.jobs.progress import Patterns
from cockpit.jobs.run_log import first_step, last_error, patterns_for
from cockpit.jobs.template import Library, load_library
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.pod_times import PodTimes
from cockpit.screens.place import Place
from cockpit.views.log_book import sources_of
from cockpit.views.timeline import Run

EVERY_SECONDS = 10.0
TAIL_LINES = 200
MOST_MEMBERS = 64
HEAD_BYTES = 256 << 10
"""Of the beginning of a log: the first step stands there, if anywhere."""


@lru_cache(maxsize=4)
def _library(folders: tuple[Path, ...]) -> Library:
    return load_library(folders)


class RunReader:
    """Keeps `run` for the job that `whose` names with its members, and shows the page anew when it moved."""

    def __init__(self, page: Place, whose: Callable[[], tuple[Job, tuple[Pod, ...]] | None]) -> None:
        self.run = Run()
        self._page = page
        self._whose = whose

    def start(self) -> None:
        """Begin; it ends with the page."""
        work: WorkType[None] = self._read_on
        self._page.run_worker(work, name="run", group="run", exclusive=True)

    async def _read_on(self) -> None:
        while True:
            looked = self._whose() if self._page.app.screen is self._page else None
            if looked is not None and looked[1]:
                await self._read(*looked)
                if looked[0].state in JobState.ENDED:
                    return
            await asyncio.sleep(EVERY_SECONDS)

    async def _read(self, job: Job, members: tuple[Pod, ...]) -> None:
        library = await asyncio.to_thread(_library, self._page.cockpit.template_folders)
        patterns = Patterns(patterns_for(job.kind, job.api_version, library.templates.values()))
        source = sources_of(members)[0]
        run = self.run
        try:
            lines = await self._page.cockpit.api.read_log(source, tail_lines=TAIL_LINES)
            progress = patterns.read_all((line.text for line in lines), run.progress)
            run = run._replace(progress=progress, trouble="" if lines else run.trouble)
            if run.first is None and not progress.is_empty:
                head = await self._page.cockpit.api.read_log(source, limit_bytes=HEAD_BYTES)
                run = run._replace(first=first_step(patterns, head))
        except CockpitError as error:
            run = run._replace(trouble=error.sentence)
        run = await self._last_words(members, run)
        run = run._replace(times=await self._times(members))
        if run != self.run and not self._page.is_going:
            self.run = run
            self._page.show()

    async def _last_words(self, members: tuple[Pod, ...], run: Run) -> Run:
        """Of the member that failed first; of one that runs again, what its former run said last."""
        failed = [pod for pod in members if pod.exit_code]
        if not failed:
            return run._replace(last_words="", whose="")
        pod = min(failed, key=lambda one: (one.finished_seconds or 0.0, one.name))
        source = sources_of([pod])[0]
        try:
            lines = await self._page.cockpit.api.read_log(
                source, tail_lines=TAIL_LINES, is_previous=not pod.is_finished
            )
        except CockpitError:
            return run
        return run._replace(last_words=last_error([line.text for line in lines]), whose=source.label)

    async def _times(self, members: tuple[Pod, ...]) -> dict[str, PodTimes]:
        """Of members that started: asked for once each. Of more than a few nobody waits for the last."""
        known = dict(self.run.times)
        for pod in members[:MOST_MEMBERS]:
            if pod.node and (pod.uid not in known or known[pod.uid].started_seconds is None):
                try:
                    known[pod.uid] = await self._page.cockpit.api.read_times(pod.namespace, pod.name)
                except CockpitError:
                    break  # the timeline goes by events, then
        return known
