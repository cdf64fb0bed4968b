"""The committed page: each row of the catalogue, its cases, and what the engine says of them."""

from collections.abc import Sequence

from tests.triage.case import Case, row_order
from tests.triage.judge import Judgement, figures, offer_figures

COUNTS = {"A": 19, "B": 27, "C": 34, "D": 19, "E": 11}
ROWS = tuple(f"{level}{number}" for level, count in COUNTS.items() for number in range(1, count + 1))
"""The catalogue: gaps of a corpus show as rows without cases."""


def row_of(case: Case) -> str:
    """The row that its script injects; its top cause may be that of which it is a consequence."""
    return case.file.recorded.script.partition("-")[0]


def page(found: Sequence[Judgement], watched: Sequence[Judgement]) -> str:
    """Markdown. `watched` are the verdicts without anything read on demand."""
    held = {row_of(one.case) for one in found}
    alone = sum(one.is_right for one in watched)
    without = [row for row in ROWS if row not in held]
    head = [
        "# Cases of the triage corpus",
        "",
        "Written by `python -m tests.triage`. The expected cause is what a script injected.",
        "",
        f"{figures(found)[0].upper()}{figures(found)[1:]}.",
        f"Rows with a case: {len(ROWS) - len(without)} of {len(ROWS)}"
        + (f"; without one: {', '.join(without)}." if without else "."),
        f"{offer_figures(found)[0].upper()}{offer_figures(found)[1:]}; whose hands, and why nobody's, is in"
        " `hands.txt`. What came of offers that were done, and whether the job then started: `OFFERS.md`.",
        f"From what is watched alone (nothing read on demand, no objects, no log lines) {alone} are right.",
        "",
        "| row | case | recorded from | result | sentence | also | hands | offers |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    ordered = sorted(found, key=lambda one: (row_order(row_of(one.case)), one.case.name))
    return "\n".join([*head, *(_line(one) for one in ordered)]) + "\n"


def _line(one: Judgement) -> str:
    file = one.case.file
    sentence = one.verdict.sentence.replace("|", "\\|")
    also = ", ".join(file.also)
    row = row_of(one.case) if row_of(one.case) == file.top else f"{row_of(one.case)} ({file.top})"
    offers = "; ".join(each.words.replace("|", "\\|") for each in one.verdict.changes)
    return (
        f"| {row} | {one.case.name} | {file.recorded.source} | {one.result} | {sentence} | {also} |"
        f" {one.hands.whose} | {offers} |"
    )
