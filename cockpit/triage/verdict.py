"""Values of a verdict."""

from cockpit.model.finding import (
    BETWEEN_COMMANDS,
    Change,
    Evidence,
    Expected,
    FilterStep,
    Finding,
    Funnel,
    Subject,
)

Verdict = Finding
__all__ = [
    "BETWEEN_COMMANDS",
    "Change",
    "Evidence",
    "Expected",
    "FilterStep",
    "Funnel",
    "Subject",
    "Verdict",
]
