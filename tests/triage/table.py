"""The committed page: each row of the catalogue, its cases, and what the engine says of them."""

from collections.abc import Mapping, Sequence

from cockpit.catalogue import Cause
from tests.triage.case import row_of, row_order
from tests.triage.judge import Judgement, figures, offer_figures


def company_of(text: str) -> dict[int, str]:
    """The figures of causes in company that a page has, by seed."""
    found = (line.removeprefix(_SEED).partition(": ") for line in text.splitlines() if line.startswith(_SEED))
    return {int(seed): figures_ for seed, _, figures_ in found}


def with_company(text: str, seed: int, told: str) -> str:
    """The page with what a run of that seed came to."""
    kept = {**company_of(text), seed: told}
    head, _, tail = text.partition(_COMPANY)
    rest = tail.partition("\n\n| row |")[2]
    return f"{head}{_COMPANY}{_lines(kept)}\n\n| row |{rest}"


_COMPANY = "In company (`python -m tests.triage company --seed N --keep`):\n\n"
_SEED = "- seed "


def _lines(kept: Mapping[int, str]) -> str:
    return "\n".join(f"{_SEED}{seed}: {told}" for seed, told in sorted(kept.items()))


def page(
    found: Sequence[Judgement], watched: Sequence[Judgement], in_company: Mapping[int, str] | None = None
) -> str:
    """Markdown. `watched` are the verdicts without anything read on demand, `in_company` figures by seed."""
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
        f"{_COMPANY}{_lines(in_company or {})}",
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
