"""The committed page: each row of the catalogue, its cases, and what the engine says of them."""

from collections.abc import Sequence

from cockpit.catalogue import Cause
from tests.triage.case import row_of, row_order
from tests.triage.judge import Judgement, figures, offer_figures


def page(found: Sequence[Judgement], watched: Sequence[Judgement]) -> str:
    """Markdown. `watched` are the verdicts without anything read on demand."""
    held = {row_of(one.case.file.recorded.script) for one in found}
    alone = sum(one.is_right for one in watched)
    without = [row for row in Cause if row not in held]
    head = [
        "# Cases of the triage corpus",
        "",
        "Written by `python -m tests.triage`. The expected cause is what a script injected.",
        "",
        f"{figures(found)[0].upper()}{figures(found)[1:]}.",
        f"Rows with a case: {len(Cause) - len(without)} of {len(Cause)}"
        + (f"; without one: {', '.join(without)}." if without else "."),
        f"{offer_figures(found)[0].upper()}{offer_figures(found)[1:]}; whose hands, and why nobody's, is in"
        " `hands.txt`. What came of offers that were done, and whether the job then started: `OFFERS.md`.",
        f"From what is watched alone (nothing read on demand, no objects, no log lines) {alone} are right.",
        "",
        "| row | case | recorded from | result | sentence | also | hands | offers |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    ordered = sorted(found, key=lambda one: (row_order(row_of(one.case.file.recorded.script)), one.case.name))
    return "\n".join([*head, *(_line(one) for one in ordered)]) + "\n"


def _line(one: Judgement) -> str:
    file = one.case.file
    sentence = one.verdict.sentence.replace("|", "\\|")
    also = ", ".join(file.also)
    injected = row_of(file.recorded.script)
    row = injected if injected == file.top else f"{injected} ({file.top})"
    offers = "; ".join(each.words.replace("|", "\\|") for each in one.verdict.changes)
    return (
        f"| {row} | {one.case.name} | {file.recorded.source} | {one.result} | {sentence} | {also} |"
        f" {one.hands.whose} | {offers} |"
    )
