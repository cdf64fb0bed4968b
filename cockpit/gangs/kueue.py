"""Kueue: what other rooms use of this engine."""

from cockpit.gangs.kueue_plans import (
    admitted_through,
    plan_hold,
    plan_release,
    plan_resume_queue,
    plan_stop_queue,
    queue_path,
)
from cockpit.gangs.kueue_queues import queue_rows
from cockpit.gangs.kueue_verdict import (
    estimate_positions,
    gang_state,
    gpus_asked,
    is_in_line,
    lines,
    verdict,
)

NAME = "Kueue"

__all__ = [
    "NAME",
    "admitted_through",
    "estimate_positions",
    "gang_state",
    "gpus_asked",
    "is_in_line",
    "lines",
    "plan_hold",
    "plan_release",
    "plan_resume_queue",
    "plan_stop_queue",
    "queue_path",
    "queue_rows",
    "verdict",
]
