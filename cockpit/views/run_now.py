"""A training run as its log shows it so far, for the page of its job and the detail beside its row."""

from collections.abc import Sequence

from cockpit.jobs.training.eta import eta
from cockpit.jobs.training.run import TrainingRun
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.store_reader import StoreReader
from cockpit.views.run_curves import curves_of
from cockpit.views.timeline import Run
from cockpit.views.training_panel import lens_of


def run_now(
    run: Run,
    training: TrainingRun | None,
    job: Job,
    members: Sequence[Pod],
    *,
    store: StoreReader,
    now_seconds: float,
) -> Run:
    """`run` with what the lines read so far tell; unchanged where no log was read."""
    if training is None:
        return run
    is_running = job.state not in JobState.ENDED and job.state not in JobState.WAITING
    lens = lens_of(training, tuple(members), store, now_seconds, is_running=is_running)
    moves = is_running and not lens.stalls and lens.no_progress is None
    return run._replace(
        progress=training.progress,
        joined_seconds=training.joined_seconds,
        went_on_seconds=training.went_on_seconds,
        eta=eta(training.done.points, now_seconds) if moves else None,
        curves=curves_of(training),
        lens=lens,
        checkpoints=training.checkpoints,
    )
