"""Give back the GPUs of a job that idles: mark it, look again, suspend it, or delete it once its name is
typed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning, PoolTerms
    from cockpit.actions.reclaim_job import JobTerms
    from cockpit.model.job import Job
    from cockpit.model.plan import Plan
    from cockpit.model.pool import Pool
    from cockpit.model.right import Right


@dataclass(frozen=True, slots=True)
class ReclaimJobOptions:
    """As it was typed: `idle_for` "" for what is set, else an hour, `grace` "" for what is set, else a
    quarter of one; `off` takes the mark away."""

    idle_for: str = ""
    grace: str = ""
    off: bool = False

    def __post_init__(self) -> None:
        self.terms(None)

    def terms(self, known: "PoolTerms | None") -> "JobTerms":
        """The same as values, with what is set where nothing was typed. Raises BadInput."""
        from cockpit.actions.reclaim_job import job_terms

        return job_terms(self.idle_for, self.grace, known, is_off=self.off)


async def plan_to_reclaim(planning: "Planning", job: "Job", options: ReclaimJobOptions) -> "Plan":
    """The next step by which an idle job gives its GPUs back."""
    from cockpit.actions.reclaim_job import plan_job

    return await plan_job(planning, job, options.terms(planning.pools))


def _needs(planning: "Planning", job: "Job") -> "tuple[Right, ...]":
    """Those of the step that it is at: the mark, or what ends it."""
    from cockpit.actions.verbs.job import KILL, SUSPEND, rights_on_job
    from cockpit.gangs.registry import can_suspend
    from cockpit.model.job import JobState

    if job.reclaim is None or job.state != JobState.RUNNING or not job.gpus_allocated:
        return rights_on_job(planning, job, "patch")
    if not can_suspend(job, planning.store):
        return tuple(KILL.needs(planning, job))
    # the mark goes with it, also where another object suspends the job
    return tuple(dict.fromkeys((*rights_on_job(planning, job, "patch"), *SUSPEND.needs(planning, job))))


def _many(jobs: "Sequence[Job]", _store: Any) -> Iterable[str]:
    from collections import Counter

    from cockpit.gangs.sentence import counted, listed

    owners = Counter(one.owner or "owner not known" for one in jobs)
    gpus = counted(sum(one.gpus_allocated for one in jobs), "GPU")
    yield f"it holds {gpus}" if len(jobs) == 1 else f"they hold {gpus}"
    yield "undo: cockpit job reclaim NAME --off takes a mark away, cockpit job resume NAME brings a job back"
    yield listed("owners: ", [f"{name} ({number})" for name, number in owners.most_common()])


def jobs_line(pool: "Pool", options: ReclaimJobOptions, context: str) -> str:
    """`cockpit pool reclaim h100 --jobs --write`: the same for every idle job of a pool."""
    from cockpit.actions.conduct import option_words
    from cockpit.actions.shell import words_line

    return words_line(
        ["cockpit", "pool", "reclaim", pool.name, "--jobs", *option_words(RECLAIM, options)], context
    )


RECLAIM = Verb(
    name="reclaim",
    kind="job",
    key="R",
    words=Words(
        "reclaim",
        "reclaimed",
        "give back the GPUs of idle jobs: mark them, later suspend them (or delete, by name)",
        "Give back the GPUs of an idle job: mark it, look again, suspend it",
    ),
    options=ReclaimJobOptions,
    flags=(
        Flag(
            "--idle-for",
            "idle_for",
            "idle for so long (10m to 3h; else as is set, else 1h)",
            "TIME",
        ),
        Flag(
            "--grace",
            "grace",
            "from the mark to the end (0: at once; else as is set, else 15m)",
            "TIME",
        ),
        Flag("--off", "off", "take the mark away", is_switch=True),
    ),
    plan=plan_to_reclaim,
    needs=_needs,
    many_lines=_many,
    is_measured=True,
    is_shown=False,
    is_repeatable=False,
)
