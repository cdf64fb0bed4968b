"""Which rank a line of a launcher's log is from: `[1]<stdout>:`, `[1,0]<stdout>:` and their like.

horovodrun writes `[RANK]<stdout>:`, with a moment before it on request (horovod/runner/common/util/
safe_shell_exec.py, --prefix-output-with-timestamp); mpirun `[JOB,RANK]<stdout>:` (orte/mca/iof, --tag-output,
which horovodrun gives it); c10d `[rank3]:`. torchrun's `[default3]:` (--tee) counts the processes of a node,
so it is taken off and names nobody.
"""

import re
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
