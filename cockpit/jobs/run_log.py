"""What the logs of a run tell: how far it is, when its first step was, and what its last words were."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from cockpit.jobs.progress import LONGEST_LINE, Patterns, Progress
from cockpit.jobs.template import ProgressPattern, Template
from cockpit.model.log import LogLine
from cockpit.model.pod import Pod

_NAMED: Final = re.compile(
    r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Warning)\b\s*(?::|$)"
)
_WORDS: Final = re.compile(
    r"(?i)\b(?:error|fatal|panic|killed|abort(?:ed|ing)?|out of memory|segmentation fault|core dumped|refused"
    r"|timed out|no space left|permission denied|cannot allocate)\b"
)
_OF_RANK: Final = re.compile(r"\[(?:\d{1,6},)?\d{1,6}\]<stderr>: ?")
_OF_OTHERS: Final = re.compile(
    r"Horovod has been shut down|HorovodInternalError|ProcessGroup.* aborted"
    r"|<stderr>: ?(?:\S+: line [0-9]+: +[0-9]+ )?Terminated\b"  # what a shell says of a rank ended by SIGTERM
)
_TRACE: Final = re.compile(r"<stderr>:\s|Traceback|During handling of")
_IDLE: Final = re.compile(r"[\W_]*$")
"""Lines of rulers and blanks: mpirun frames its messages in dashes."""

SIDECARS = ("istio-proxy", "istio-init", "linkerd-proxy", "vault-agent", "fluent-bit", "gke-gcsfuse-sidecar")
"""Containers that meshes and vaults put into a pod: hardly ever the one whose log is wanted."""


def container_of(pod: Pod, wanted: str = "") -> str:
    """The container whose log is read; "" where the pod has one only, or none is known."""
    names = [name for name in pod.containers.split(",") if name]
    if wanted in names:
        return wanted
    if len(names) < 2:
        return ""
    return next((name for name in names if name not in SIDECARS), names[0])


class FirstStep(msgspec.Struct, frozen=True, gc=False):
    """The first line that tells of a step; the log may begin later than the run (`is_first` False)."""

    at_seconds: float | None
    progress: Progress
    is_first: bool = True


def patterns_for(kind: str, api_version: str, templates: Iterable[Template]) -> tuple[ProgressPattern, ...]:
    """The patterns of all templates that make such an object; of all templates where none does. Each once."""
    known = tuple(templates)
    group = api_version.rpartition("/")[0]
    same = [item for item in known if item.kind == kind and item.api_version.rpartition("/")[0] == group]
    found = {item.pattern: item for template in same or known for item in template.progress}
    return tuple(found.values())


def first_step(patterns: Patterns, lines: Sequence[LogLine]) -> FirstStep | None:
    """The first line that tells a step or an epoch; None where no line does."""
    for line in lines:
        found = patterns.read(line.text)
        if found.step is not None or found.epoch is not None:
            is_first = (found.epoch or 0) <= 1 and (found.epoch is not None or (found.step or 0) <= 1_000)
            return FirstStep(line.at_seconds, found, is_first)
    return None


def last_error(lines: Sequence[str]) -> str:
    """The line that says best why it ended: the last that names an exception, else the last that tells of a
    failure, else the last that says anything; "" where nothing was said.

    What a rank wrote to standard error goes before what its launcher says of it (an exit code), and its own
    error before that the others ended.
    """
    said = [line[:LONGEST_LINE].strip() for line in lines if not _IDLE.match(line[:LONGEST_LINE])]
    ranks = [
        line for line in said if (found := _OF_RANK.match(line)) and not _IDLE.match(line[found.end() :])
    ]
    own = [line for line in ranks if not _OF_OTHERS.search(line)]
    for some in (own, ranks, said):
        for looks in (_NAMED, _WORDS):
            for line in reversed(some):
                if looks.search(line):
                    return line
        if some is own and own and not _TRACE.search(own[-1]):
            return own[-1]
    return said[-1] if said else ""
