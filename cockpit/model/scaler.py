"""What sets the number of pods of a workload by a metric: a HorizontalPodAutoscaler."""

from typing import NamedTuple

import msgspec


class ScalerMetric(NamedTuple):
    """One metric, as the object writes it: `cpu 82% of 50%`. `now` "" where it is not measured."""

    name: str
    now: str
    target: str


class Scaler(msgspec.Struct, frozen=True, kw_only=True):
    """A HorizontalPodAutoscaler of autoscaling/v2: what it scales, by what, and within what."""

    namespace: str
    name: str
    target_kind: str  # Deployment, StatefulSet ...
    target_name: str
    metrics: tuple[ScalerMetric, ...] = ()
    current: int | None = None
    desired: int | None = None
    minimum: int = 1
    maximum: int | None = None
    limited: str = ""  # why it does not do what the metric asks, "" where it does


class ScalersRead(NamedTuple):
    """What was read. `trouble` says why nothing was, in one sentence; "" where it was."""

    found: tuple[Scaler, ...] = ()
    trouble: str = ""
