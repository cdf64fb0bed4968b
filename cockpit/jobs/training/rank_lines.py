"""Which rank a line of a launcher's log is from: `[1]<stdout>:`, `[1,0]<stdout>:` and their like.

horovodrun writes `[RANK]<stdout>:`, with a moment before it on request (horovod/runner/common/util/
safe_shell_exec.py, --prefix-output-with-timestamp); mpirun `[JOB,RANK]<stdout>:` (orte/mca/iof, --tag-output,
which horovodrun gives it); c10d `[rank3]:`. torchrun's `[default3]:` (--tee) counts the processes of a node,
so it is taken off and names no rank. Other launchers and readers of logs put a word before each line that
may as well be the line's own: it is taken off where a format then reads the rest (`prefixed`).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_TAG: Final = re.compile(
    r"(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})?"
    r"\[(?:\d{1,6},)?(?P<rank>\d{1,6})\]<std(?P<stream>out|err|diag)>: ?"
)
_NAMED: Final = re.compile(r"\[(?:rank(?P<rank>\d{1,6})|[a-z]{1,20}\d{1,6})\]: ?")
MOST_RANK: Final = 65_535


class RankLine(NamedTuple):
    """A line without its tag. `rank` None: it has no tag, and is whoever's log it stands in."""

    rank: int | None
    text: str


def by_rank(line: str) -> RankLine:
    """The rank that a tag at the beginning names, and the rest; tags within tags are taken off, too."""
    rank: int | None = None
    for _ in range(3):
        found = _TAG.match(line) or _NAMED.match(line)
        if found is None:
            break
        if found["rank"] is not None:
            if int(found["rank"]) > MOST_RANK:
                break
            # torch tells the rank of the job within the tag of the launcher: the inner one knows better
            rank = int(found["rank"])
        line = line[found.end() :]
    return RankLine(rank, line)


class Prefixed(NamedTuple):
    """A line without a word that may be a prefix. `speaker` is who writes, "" where it does not say."""

    speaker: str
    rank: int | None
    text: str


_PREFIXES: Final = (
    # ray/python/ray/_private/worker.py print_worker_logs
    re.compile(r"\((?P<speaker>[^()]{0,80}?\bpid=\d{1,9}(?:, ip=[0-9a-f.:]{1,45})?)\) "),
    # srun --label; torch and others by name
    re.compile(r"\s{0,5}(?P<rank>\d{1,5}): (?=\S|\s+\d)"),
    re.compile(r"\[?(?i:rank)[ :=]?(?P<rank>\d{1,5})\]?[:|]? "),
    # pdsh, which DeepSpeed starts; kubetail and stern; docker compose
    re.compile(r"(?=[a-z.-]{0,60}\d)(?P<speaker>[a-z0-9][a-z0-9.-]{0,62}): "),
    re.compile(
        r"\[(?=[a-z.-]{0,60}\d)(?P<speaker>[a-z][a-z0-9.]{0,60}-[a-z0-9.-]{1,80})(?: [a-z0-9-]{1,63})?\] "
    ),
    re.compile(
        r"(?=[a-z.-]{0,60}\d)(?P<speaker>[a-z][a-z0-9]{0,60}[-_][a-z0-9._-]{1,80})"
        r"(?: [a-z0-9-]{1,63})?(?: {1,9}[|│›])? "
    ),
    # a runtime's own file, and `kubectl logs --timestamps`
    re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]{8,18}(?:Z|[+-]\d\d:\d\d) (?:std(?:out|err) [FP] )?"),
)


def prefixed(line: str) -> Iterator[Prefixed]:
    """The line without each word that may be a prefix, one of two as well."""
    for first in _without(line):
        yield first
        yield from _without(first.text)


def _without(line: str) -> Iterator[Prefixed]:
    for pattern in _PREFIXES:
        found = pattern.match(line)
        if found is not None:
            named = found.groupdict()
            rank = named.get("rank")
            yield Prefixed(
                named.get("speaker") or "", None if rank is None else int(rank), line[found.end() :]
            )
