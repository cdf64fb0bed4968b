"""What a run reached, small enough to keep: comparisons outlive the job and its logs."""

from typing import Final

import msgspec

from cockpit.jobs.training.run import TrainingRun
from cockpit.jobs.training.start import StartTime
from cockpit.model.job import Job
from cockpit.sanitise import clean

LARGEST_BYTES: Final = 2_048
"""Of a record as JSON, wherever it is kept."""
LONGEST_NAME: Final = 253


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `rate` is that of all ranks together in `unit`, after the warm-up; `is_rate_assumed`: the log
    does not tell whether it counts one rank or all, all was taken. Seconds since the epoch, or durations."""

    uid: str
    namespace: str
    name: str
    kind: str
    gpus: int
    nodes: int
    at_seconds: float  # when this was read
    ranks: int | None = None
    rate: float | None = None
    unit: str = ""
    deviation: float = 0.0
    readings: int = 0
    is_rate_assumed: bool = False
    step: int | None = None
    loss: float | None = None
    start_seconds: float | None = None  # from submit to the first step
    start_parts: dict[str, float] = {}

    @property
    def label(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def seats(self) -> int:
        """What the rate is divided by: GPUs, or ranks of a run without any."""
        return self.gpus or self.ranks or 1

    @property
    def seat(self) -> str:
        return "GPU" if self.gpus else "rank"


def record_of(run: TrainingRun, job: Job, now_seconds: float, start: StartTime | None = None) -> RunRecord:
    """The run as it stands now."""
    found, size = run.mean_rate, run.size
    times = (size or 1) if run.is_rate_of_rank else 1
    return RunRecord(
        uid=job.uid,
        namespace=job.namespace,
        name=job.name,
        kind=job.kind,
        gpus=job.gpus_allocated or job.gpus_wanted or 0,
        nodes=len(job.nodes),
        at_seconds=now_seconds,
        ranks=size,
        rate=None if found is None else found.mean * times,
        unit=run.mean_unit,
        deviation=0.0 if found is None else found.deviation * times,
        readings=0 if found is None else found.readings,
        is_rate_assumed=run.is_rate_of_rank is None and (size or 2) > 1 and found is not None,
        step=run.progress.step,
        loss=run.progress.loss,
        start_seconds=None if start is None else start.seconds,
        start_parts={} if start is None else dict(start.parts),
    )


def encoded(record: RunRecord) -> bytes:
    """As JSON of at most `LARGEST_BYTES`: a record too large loses the parts of its start."""
    text = msgspec.json.encode(record)
    if len(text) > LARGEST_BYTES:
        text = msgspec.json.encode(msgspec.structs.replace(record, start_parts={}))
    return text


def decoded(text: bytes | str) -> RunRecord | None:
    """The stored record, its names sanitised: any user may have written it. None for an invalid one."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if len(raw) > LARGEST_BYTES:
        return None
    try:
        found = msgspec.json.decode(raw, type=RunRecord)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if found.gpus < 0 or (found.rate is not None and not 0 <= found.rate < 1e15):
        return None
    names = {
        item: clean(getattr(found, item), LONGEST_NAME)
        for item in ("uid", "namespace", "name", "kind", "unit")
    }
    return msgspec.structs.replace(found, **names)
