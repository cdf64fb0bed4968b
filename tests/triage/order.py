"""Which of two faults in one job is told first: the one that lasts, whatever the product says."""

from tests.triage.case import Case
from tests.triage.stage import SCRIPTS, Lasts


def told_first(case: Case, extra: tuple[str, Lasts] | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Headlines that are right for a case, with a further fault or without, and what is told besides."""
    script = SCRIPTS[case.file.recorded.script]
    faults: list[tuple[str, Lasts]] = []
    if extra is not None and script.lasts is not None:
        faults = [(case.file.top, script.lasts), extra]
    elif script.can_second and script.double is not None and case.file.also:
        faults = list(zip((case.file.top, case.file.also[0]), script.double, strict=True))
    if not faults:
        return (case.file.top,), ()
    first = min(lasts for _, lasts in faults)
    heads = tuple(cause for cause, lasts in faults if lasts is first)
    return heads, tuple(cause for cause, lasts in faults if lasts is not first) or heads[1:]
