"""The training run on a job's page, from its members' logs: followed only while the page is open."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import Worker

from cockpit.daemon_thread import apart
from cockpit.errors import CockpitError
from cockpit.jobs.members import LEADERS
from cockpit.jobs.progress import Patterns
from cockpit.jobs.run_log import FirstStep, first_step, last_error, patterns_for
from cockpit.jobs.template import Library, load_library
from cockpit.jobs.training.record import RunRecord, decoded, encoded, record_of
from cockpit.jobs.training.run import TrainingRun
from cockpit.model.job import Job
from cockpit.model.log import LogLine, LogWish
from cockpit.model.pod import Pod
from cockpit.model.pod_times import PodTimes
from cockpit.screens.place import Place
from cockpit.views.log_book import sources_of, tail_lines
from cockpit.views.run_now import run_now
from cockpit.views.timeline import Run, efficiency_words, way_of

if TYPE_CHECKING:
    from cockpit.kube.log_fan_in import LogFanIn

EVERY_SECONDS = 10.0
"""How often what is no line of a log is looked at: times, last words, silence."""
SHOW_SECONDS = 1.0
"""Minimum interval between two redraws while lines pour in."""
TAIL_LINES = 200
MOST_TAIL_LINES = 4_000
"""Of all members together: a quarter of a second to read."""
AT_ONCE_LINES = 200
"""Read without a pause: keys go first."""
MOST_WAITING_LINES = 20_000
MOST_MEMBERS = 64
HEAD_BYTES = 256 << 10
"""Of the beginning of a log: the first step stands there, if anywhere."""


@lru_cache(maxsize=4)
def _library(folders: tuple[Path, ...]) -> Library:
    return load_library(folders)


class RunReader:
    """Keeps `run` for the job that `whose` names with its members, and redraws the page when it changed."""

    def __init__(self, page: Place, whose: Callable[[], tuple[Job, tuple[Pod, ...]] | None]) -> None:
        self.run = Run()
        self._page = page
        self._whose = whose
        self._training: TrainingRun | None = None
        self._follower: Worker[None] | None = None
        self._waiting: deque[LogLine] = deque(maxlen=MOST_WAITING_LINES)
        self._came = asyncio.Event()
        self._fan_in: LogFanIn | None = None
        self._kept_step: int | None = None
        self._has_past = False
        self._past: list[RunRecord] = []

    def start(self) -> None:
        """Begin; it ends with the page."""
        self._page.cockpit.keep(self._page, "run", self._look_on)

    async def _look_on(self) -> None:
        while True:
            is_seen = self._page.app.screen is self._page
            looked = self._whose() if is_seen else None
            if looked is not None and looked[1]:
                self._follow_on(looked[1])
                await self._look(*looked)
            elif not is_seen and self._follower is not None:
                self._follower.cancel()
                self._follower = self._fan_in = None
            await asyncio.sleep(EVERY_SECONDS)

    async def _look(self, job: Job, members: tuple[Pod, ...]) -> None:
        run = await self._last_words(members, self.run)
        run = run._replace(times=await self._times(members))
        self._show(self._read(run, job, members))
        await self._keep(job, members)

    async def _keep(self, job: Job, members: tuple[Pod, ...]) -> None:
        """On this host: what the run reached, for comparisons; and how long others took to begin."""
        training, cockpit = self._training, self._page.cockpit
        if training is None or not training.progress.has_moved:
            return
        history = cockpit.run_history()
        if history is None:
            return
        start = way_of(job, members, cockpit.cluster.store, self.run)
        record = record_of(training, job, cockpit.clock.cluster_now(), start)
        if record.step != self._kept_step:
            self._kept_step = record.step
            await apart(partial(history.keep_training, job.uid, record.at_seconds, encoded(record)))
        if not self._has_past:
            self._has_past = True
            known = [decoded(item) for item in await apart(history.trainings)]
            self._past = [item for item in known if item is not None and item.uid != job.uid]
        starts = tuple(item.start_seconds for item in self._past if item.start_seconds is not None)
        said = efficiency_words(record, self._past)
        self._show(self.run._replace(past_starts=starts, efficiency=said))

    def _show(self, run: Run) -> None:
        if run != self.run and not self._page.is_going:
            self.run = run
            self._page.show()

    def _read(self, run: Run, job: Job, members: tuple[Pod, ...]) -> Run:
        """With what the lines told so far."""
        page = self._page.cockpit
        store, now_seconds = page.cluster.store, page.clock.cluster_now()
        return run_now(run, self._training, job, members, store=store, now_seconds=now_seconds)

    # ---- the log

    def _follow_on(self, members: tuple[Pod, ...]) -> None:
        """Follow the log, also that of members that are new."""
        if self._fan_in is not None and self._training is not None:
            self._fan_in.want(sources_of(_heard(members, self._training)))
        if self._follower is None:
            self._follower = self._page.cockpit.keep(self._page, "run-log", self._follow)

    async def _follow(self) -> None:
        looked = self._whose()
        if looked is None:
            return
        job, members = looked
        cockpit = self._page.cockpit
        library = await asyncio.to_thread(_library, cockpit.template_folders)
        patterns = Patterns(patterns_for(job.kind, job.api_version, library.templates.values()))
        self._training = training = cockpit.cluster.runs.open(job.key, job.uid, patterns)
        await self._head(patterns, training, members)
        heard = _heard(members, training, is_first=True)
        wish = LogWish(tail_lines=tail_lines(len(heard), MOST_TAIL_LINES))
        self._fan_in = cockpit.api.follow_logs(wish, self._take)
        self._fan_in.want(sources_of(heard))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._fan_in.run(), name="run-log")
            group.create_task(self._read_on(training), name="run-lines")

    async def _head(self, patterns: Patterns, training: TrainingRun, members: tuple[Pod, ...]) -> None:
        """The beginning of the log: the first step, and the curve before the lines that are followed."""
        first = next(iter(sources_of(members)), None)
        if first is None or self.run.first is not None:  # its pods may have gone meanwhile
            return
        try:
            head = await self._page.cockpit.api.read_log(first, limit_bytes=HEAD_BYTES)
        except CockpitError as error:
            self._show(self.run._replace(trouble=error.sentence))
            return
        training.take(head)
        self._show(self.run._replace(first=first_step(patterns, head)))

    def _take(self, lines: list[LogLine]) -> None:
        self._waiting.extend(lines)
        self._came.set()

    async def _read_on(self, training: TrainingRun) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            while self._waiting:
                training.take(self._waiting.popleft() for _ in range(min(AT_ONCE_LINES, len(self._waiting))))
                await asyncio.sleep(0)
            looked = self._whose()
            if looked is not None:
                run = self.run
                if run.first is None and training.first_seconds is not None:
                    run = run._replace(first=FirstStep(training.first_seconds, training.progress))
                self._show(self._read(run._replace(trouble=""), *looked))
            await asyncio.sleep(SHOW_SECONDS)

    # ---- what is no line of a running log

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


def _heard(members: tuple[Pod, ...], training: TrainingRun, *, is_first: bool = False) -> tuple[Pod, ...]:
    """Whose logs are followed: a launcher writes for all ranks; where it writes nothing, or there is none,
    the members do so themselves."""
    leaders = tuple(pod for pod in members if pod.role in LEADERS)
    return leaders if leaders and (is_first or training.lines) else members[:MOST_MEMBERS]
