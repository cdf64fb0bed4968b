"""What outlives a session on this host: problems seen, acknowledgements, jobs that ended, which nodes were
there, how pools grew."""

from typing import NamedTuple

import msgspec

ProblemKey = tuple[str, str]
"""What it is about, and which finding: `subject_key` and `finding` of `Attention`."""


class SeenProblem(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A finding of *Now* over time. `resolved_seconds` None: it was there when it was last looked for."""

    subject_key: str
    finding: str
    first_seconds: float
    last_seconds: float
    resolved_seconds: float | None = None
    subject: str = ""  # what a person calls it
    sentence: str = ""

    @property
    def key(self) -> ProblemKey:
        return (self.subject_key, self.finding)


class Acknowledgement(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The acknowledgement of a problem. `until_seconds` None: until it changes. `is_bad` and `gpus` are from
    the finding when it was acknowledged: a worse one is shown again."""

    subject_key: str
    finding: str
    made_seconds: float
    until_seconds: float | None = None
    note: str = ""
    who: str = ""
    is_bad: bool = False
    gpus: int = 0
    cause: str = ""  # as triage named it then; another one is shown again

    @property
    def key(self) -> ProblemKey:
        return (self.subject_key, self.finding)


class LoadSample(msgspec.Struct, frozen=True, gc=False):
    """What was asked for and used at a moment; None is unknown."""

    at_seconds: float
    wanted_gpus: int | None = None
    allocated_gpus: int | None = None
    free_gpus: int | None = None
    queued_jobs: int | None = None


class PastRun(NamedTuple):
    """A job that ended or runs. `shape` tells alike ones: a name without its number, and its size. `gpus` are
    those of a member; seconds are epoch seconds, `ran_seconds` None while it runs. `uid` is the object's."""

    shape: str
    members: int
    gpus: int
    submitted_seconds: float
    started_seconds: float | None
    ran_seconds: float | None
    uid: str = ""


class Growth(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A growth of a pool that is over. `stages` are steps of the ladder with the seconds from *asked* until
    the last of its machines had reached them; a step that was not observed is missing."""

    pool_key: str  # `Pool.key`
    asked_seconds: float  # epoch
    machine_type: str = ""
    nodes: int = 1  # machines that came
    stages: tuple[tuple[str, float], ...] = ()

    def seconds_to(self, step: str) -> float | None:
        """Seconds from *asked* to that step; None if it was not observed."""
        return dict(self.stages).get(step)


class Reclaim(NamedTuple):
    """GPUs that were reclaimed. `gpu_hours` None: how long they had idled is unknown."""

    pool_key: str
    what: str  # the node or job, in a person's words
    at_seconds: float  # epoch
    gpu_hours: float | None = None


class PoolSample(NamedTuple):
    """How a pool stood at a moment; None is unknown. `demand_gpus` are those of pods that run there or wait
    for it alone."""

    pool_key: str
    at_seconds: float
    nodes: int | None = None
    gpus: int | None = None
    demand_gpus: int | None = None
    allocated_gpus: int | None = None


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What former sessions left. `left_seconds` is when the last of them was alive, None where there is none
    or one is still open; `nodes` None: not recorded."""

    left_seconds: float | None = None
    problems: tuple[SeenProblem, ...] = ()
    acknowledgements: tuple[Acknowledgement, ...] = ()
    nodes: frozenset[str] | None = None
    samples: tuple[LoadSample, ...] = ()
    runs: tuple[PastRun, ...] = ()  # jobs that ran to their end, also those whose objects are gone


class SessionNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What a session has to remember at `at_seconds`: what changed since it last did so."""

    at_seconds: float
    problems: tuple[SeenProblem, ...] = ()
    acknowledged: tuple[Acknowledgement, ...] = ()
    taken_back: tuple[ProblemKey, ...] = ()
    nodes: frozenset[str] | None = None  # None: unchanged, or not known
    samples: tuple[LoadSample, ...] = ()
    runs: tuple[PastRun, ...] = ()
