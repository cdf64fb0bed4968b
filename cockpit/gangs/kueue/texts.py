"""Kueue's sentences: what is read out of them here, and which words they get by `texts.toml`."""

import re
import tomllib
from functools import cache
from pathlib import Path

import msgspec

from cockpit.model.finding import Permanence


class KueueText(msgspec.Struct, array_like=True, frozen=True):
    """One text of `texts.toml`. `lasts` None: as long as its cause."""

    id: str
    regex: str
    words: str
    lasts: str | None = None

    @property
    def permanence(self) -> Permanence | None:
        return None if self.lasts is None else Permanence[self.lasts.upper()]

    def found(self, message: str) -> re.Match[str] | None:
        """Where a message says it."""
        return _compiled(self.regex).search(message)


class KueueWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of `texts.toml`, by reason. A cause comes first, "" where the catalogue has none."""

    gated: str
    queued: tuple[KueueText, ...]
    reason: dict[str, tuple[str, str]]
    evicted: dict[str, tuple[str, str]]
    deactivated: dict[str, tuple[str, str]]
    finished: dict[str, str]
    inactive: dict[str, str]


@cache  # read when a workload is first explained: not while the cockpit starts
def kueue_words() -> KueueWords:
    """What `texts.toml` has."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), KueueWords)


@cache
def _compiled(regex: str) -> re.Pattern[str]:
    return re.compile(regex, re.IGNORECASE | re.DOTALL)


UNUSED = re.compile(
    r"insufficient unused quota(?: in cohort)? for (?P<resource>\S+) in flavor (?P<flavor>[^\s,]+),"
    r"\s*(?P<missing>[\w.]+) more needed",
    re.IGNORECASE,
)
EXCEEDS = re.compile(
    r"insufficient quota for (?P<resource>\S+) in flavor (?P<flavor>[^\s,]+),"
    r"[^()]*\((?P<before>[\w.]+)\)[^()]*\((?P<asked>[\w.]+)\)[^()]*\((?P<most>[\w.]+)\)",
    re.IGNORECASE,
)
PREEMPTING = re.compile(r"Pending the preemption of (?P<count>\d+) workload", re.IGNORECASE)
PREEMPTED_BY = re.compile(r"JobUID: (?P<uid>[0-9a-fA-F-]+)")

SAYS_NOTHING = re.compile(
    r"Bypassed scheduling evaluation|pending evaluation in the scheduling queue", re.IGNORECASE
)
"""Said of what Kueue did not look at: another like it stands for it, or it is not at the head."""
PASSED_OVER = re.compile(r"Bypassed scheduling evaluation", re.IGNORECASE)
REJECTED = (
    re.compile(
        r"AdmissionCheck in Rejected state: \"(?P<check>[^\"]+)\"(?: \((?P<message>.*)\))?", re.IGNORECASE
    ),
    re.compile(r"Admission check\(s\): (?P<check>.+?),? were rejected(?P<message>)", re.IGNORECASE),
)
LOST_WORDS = "put back: node {node} was lost and its topology had no other"
LOST_NODES = re.compile(
    r"no replacement (?:found )?for (?:an? |the )?(?:unhealthy|failed) nodes?(?:\(s\))?:? (?P<node>[^\s,;]+)",
    re.IGNORECASE,
)
FINISHED_BEFORE = "Kueue has declared its Workload finished"
DEACTIVATED_BY_PERSON = "suspended: its workload is deactivated (spec.active is false)"


def is_about_pods_ready(reason: str, message: str) -> bool:
    """Whether it waits until the pods of an admitted job are ready (waitForPodsReady with blockAdmission)."""
    return reason == "WaitingForPodsReady" or "to be in PodsReady" in message
