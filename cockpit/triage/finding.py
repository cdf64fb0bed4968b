"""One thing that needs a human, and how it is ranked against others."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec


class KeyRemedy(msgspec.Struct, frozen=True, gc=False):
    """Something that helps: what to do, and the key that does it ("" where no key does).

    `action` is the key's id in the key table of the screens; `is_write` tells that it changes the cluster.
    """

    words: str
    key: str = ""
    action: str = ""
    is_write: bool = False

    @property
    def text(self) -> str:
        """`w why`."""
        return f"{self.key} {self.words}".strip()


WHY = KeyRemedy("why", "w", "why")
LOGS = KeyRemedy("logs", "l", "logs")
OPEN = KeyRemedy("open", "enter", "open")
DRAIN = KeyRemedy("drain after its jobs", "D", "D", is_write=True)
RECLAIM = KeyRemedy("reclaim", "R", "R", is_write=True)
KILL = KeyRemedy("kill", "K", "K", is_write=True)


def remedy_text(remedies: Iterable[KeyRemedy]) -> str:
    """Remedies in one line: `w why  K kill`."""
    return "  ".join(one.text for one in remedies)


class Attention(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A finding. `key` is `finding:object key` and unique; `since_seconds` is epoch seconds, None unknown.

    `is_bad` separates what is broken (▲) from what is wasteful or waits for a decision (●). `gpus` is how
    many devices it concerns, 0 where none or unknown: of equally bad findings the larger comes first.
    """

    finding: str  # job-waits, job-failed, node-not-ready, ...
    subject_key: str  # key of a job, name of a node, kind of a stream
    is_bad: bool
    subject: str  # what a person calls it
    sentence: str  # at most 100 characters
    remedies: tuple[KeyRemedy, ...] = ()
    since_seconds: float | None = None
    gpus: int = 0
    cause: str = ""  # id of the catalogue's row, "" where none says it
    jobs: int = 0  # further jobs that wait or broke because of it

    @property
    def key(self) -> str:
        return f"{self.finding}:{self.subject_key}"

    @property
    def glyph(self) -> str:
        return "▲" if self.is_bad else "●"


class Rooted(NamedTuple):
    """A finding, and the root cause that it is of: findings of one root are one row."""

    attention: Attention
    root: str


UNKNOWN_AGE_SECONDS = 3_600.0
"""How old a trouble is taken to be of which nobody tells since when it is there."""


def gpu_seconds(found: Attention, now_seconds: float) -> float:
    """What it has cost so far."""
    since = found.since_seconds
    return found.gpus * (UNKNOWN_AGE_SECONDS if since is None else max(0.0, now_seconds - since))


def rank(found: Attention, now_seconds: float) -> tuple[bool, float, float, str]:
    """Broken before wasteful, more GPU-hours before fewer, older before newer; the key settles ties."""
    since = found.since_seconds if found.since_seconds is not None else float("inf")
    return (not found.is_bad, -gpu_seconds(found, now_seconds), since, found.key)
