"""`cockpit job logs NAME`: the logs of all members of a job together, as the logs page shows them."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from cockpit.actions.find import job_named
from cockpit.api_server import ApiServer
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import Live, attached
from cockpit.commands.output import note
from cockpit.commands.patience import wait_on, within
from cockpit.commands.settings import attach_options, settings_in_force
from cockpit.errors import BadInput, Refused
from cockpit.local_state.save import open_new, path_of
from cockpit.model.job import Job, JobState
from cockpit.model.log import LogLine, LogSource, LogWish
from cockpit.model.record import Kind
from cockpit.views.log_book import LogBook, sources_of, tail_lines
from cockpit.views.log_filter import LogFilter, parse_ranks, pattern
from cockpit.views.view_state import Measure, read_number

if TYPE_CHECKING:
    from cockpit.kube.log_fan_in import LogFanIn

KINDS = (Kind.POD, Kind.MPIJOB, Kind.JOB)
LOOK_SECONDS = 1.0
LAST_HOUR = "a single stream cannot be tailed; showing the last hour (see --since)"
LONGEST_SINCE_SECONDS = 366 * 86_400


def run(options: argparse.Namespace) -> int:
    """Print the lines; with `--follow` until interrupted, or until every member has ended."""
    wanted = filter_of(options)
    since = since_seconds(options.since)
    if options.previous and options.follow:
        raise BadInput("--previous and --follow exclude each other: the previous run has ended")
    if options.stream and options.tail is not None:
        raise BadInput("--tail and --stream exclude each other on the server; use --since instead")
    settings = settings_in_force()
    words = options.name.split("/")
    chosen = attach_options(options, settings, words[-2] if len(words) in (2, 3) else "")
    job_named((), options.name) if not all(words) else None
    return asyncio.run(within(options.timeout, _run(options, chosen, wanted, since)))


def filter_of(options: argparse.Namespace) -> LogFilter:
    """`--grep`, `--not` and `--rank` as a filter. Raises BadInput."""
    ranks = tuple(parse_ranks(item) for item in options.rank)
    return LogFilter(
        tuple(pattern(item) for item in options.grep),
        tuple(pattern(item) for item in options.unwanted),
        ranks,
    )


def since_seconds(text: str) -> int | None:
    """`--since` in seconds, None where it was not given. Raises BadInput."""
    if not text:
        return None
    seconds = read_number(text, Measure.SECONDS)
    if seconds is None or not 1 <= seconds <= LONGEST_SINCE_SECONDS:
        raise BadInput(f"--since {text!r} is not a valid duration; write for example 30s, 10m, 2h or 1d")
    return int(seconds)


def _writer(path: str) -> tuple[Callable[[str], None], Callable[[], None]]:
    """Where lines go: a new file, or standard output."""
    if not path:

        def put(line: str) -> None:
            sys.stdout.write(f"{line}\n")

        return put, lambda: None
    file = open_new(path)

    def keep(line: str) -> None:
        file.write(f"{line}\n")

    return keep, file.close


async def _run(
    options: argparse.Namespace,
    chosen: AttachOptions,
    wanted: LogFilter,
    since: int | None,
) -> int:
    async with attached(chosen, SystemClock()) as live:
        note(await live.settle(KINDS, options.timeout))
        jobs = live.attachment.jobs
        job = job_named(jobs.jobs.values(), options.name, chosen.namespaces)
        sources = _sources(live, job, options, wanted)
        tail = options.tail
        if tail is None and since is None:
            tail = tail_lines(len(sources))
        if options.stream:
            await ApiServer(live.attachment).refuse_unsplit(sources[0])
            note(() if since is not None or options.previous else [LAST_HOUR])
        wish = LogWish(tail, since, options.previous, options.follow, options.stream)
        if options.follow:
            wait_on()
        put, close = _writer(options.save)  # not before: a name that means no job shall leave no file
        printer = _Printer(wanted, put, has_times=options.times)
        printer.book.name(sources)
        fan_in = ApiServer(live.attachment).follow_logs(wish, printer.take)
        fan_in.want(sources)
        reading = asyncio.create_task(fan_in.run())
        try:
            while not (await asyncio.wait({reading}, timeout=LOOK_SECONDS))[0]:
                if options.follow and _is_over(live, job.key, options, wanted, fan_in):
                    break
        finally:
            reading.cancel()
            close()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
        note(f"{label}: {sentence}" for label, sentence in fan_in.troubles.items())
        if options.save:
            note([f"saved {printer.count:,} lines to {path_of(options.save)}"])
        if fan_in.troubles and not printer.count and len(fan_in.troubles) == len(sources):
            raise Refused(f"no log of {options.name} could be read")
    return 0


def _sources(live: Live, job: Job, options: argparse.Namespace, wanted: LogFilter) -> list[LogSource]:
    """The members that are asked for. Raises BadInput where there is none."""
    found = sources_of(live.attachment.jobs.members(job.key), options.container)
    if not found:
        raise BadInput(f"{job.kind.lower()} {job.namespace}/{job.name} has no pods: there is no log yet")
    kept = [item for item in found if wanted.takes(item)]
    if not kept:
        labels = ", ".join(item.label for item in found[:8]) + (", ..." if len(found) > 8 else "")
        raise BadInput(f"--rank {' '.join(options.rank)}: no such member; there are {labels}")
    return kept


def _is_over(
    live: Live, key: str, options: argparse.Namespace, wanted: LogFilter, fan_in: "LogFanIn"
) -> bool:
    """Have members that came meanwhile followed, too; True once the job ended and all was read."""
    live.attachment.jobs.catch_up()
    jobs = live.attachment.jobs
    members = sources_of(jobs.members(key), options.container)
    fan_in.want([member for member in members if wanted.takes(member)])
    job = jobs.job(key)
    return fan_in.is_idle and (job is None or job.state in JobState.ENDED)


class _Printer:
    """Writes what passes, at once."""

    def __init__(self, wanted: LogFilter, put: Callable[[str], None], *, has_times: bool) -> None:
        self.book = LogBook()
        self.book.filter = wanted
        self.book.has_times = has_times
        self.count = 0
        self._put = put

    def take(self, lines: list[LogLine]) -> None:
        for line in lines:
            if self.book.filter.passes(line):
                self._put(self.book.drawn(line))
                self.count += 1
        sys.stdout.flush()
