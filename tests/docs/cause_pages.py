"""The catalogue of causes as pages: the index in `docs/causes.md`, and for the site a page for each cause,
made while it is built. What `cockpit why` says there is its answer about a case of `tests/triage/cases`."""

from collections.abc import Iterator
from functools import cache

from cockpit.catalogue import CatalogueRow, Gate, Mender, TextPlace, Wording, by_cause
from cockpit.triage.advice import advised
from cockpit.triage.engine import explain
from cockpit.views.cause_page import LASTS, PAGE
from cockpit.views.why import lines
from tests.docs.markdown_pages import anchor, code, plain, sentence
from tests.triage.case import CASES, CaseFile, case_file, read_case
from tests.triage.world import rows_of

_WHO = {
    Mender.USER: "the owner of the job",
    Mender.ADMIN: "an administrator of the cluster",
    Mender.INFRA: "those who run the nodes",
}


def index(*, is_linked: bool = False) -> Iterator[str]:
    """The lines of the index; with links to the pages, which only the site has."""
    yield from (
        "# Causes",
        "",
        f"Why a GPU job or pod waits or is broken: {len(by_cause())} causes, by the gate at which the job",
        "is. `w` in the cockpit and `cockpit why` name one. In the site that `make docs` builds each has a",
        "page, with its sentences and an example; `cockpit why --explain CAUSE` prints it in short, without",
        "the site. Made by `make docs`; a test compares.",
    )
    for gate in Gate:
        yield from ("", f"## {_heading(gate)}", "")
        yield from ("| cause | what it means | what helps | who mends it |", "| --- | --- | --- | --- |")
        for row in _of_gate(gate):
            name = f"[`{row.cause}`]({_source(row.cause)})" if is_linked else f"`{row.cause}`"
            yield f"| {name} | {sentence(row.meaning)} | {plain(row.remedy.sentence)} | {row.mender} |"


def cause_pages() -> dict[str, str]:
    """File name in `docs/` -> text of the page, of each cause."""
    made = {}
    for gate in Gate:
        rows = _of_gate(gate)
        for at, row in enumerate(rows):
            links = ["[All causes](../causes.md)"]
            links += [f"before: {_link(item.cause)}" for item in rows[at - 1 : at]]
            links += [f"next: {_link(item.cause)}" for item in rows[at + 1 : at + 2]]
            made[_source(row.cause)] = "\n".join([*_page(row, gate), " · ".join(links)]) + "\n"
    return made


def _source(cause: str) -> str:
    return PAGE.format(cause).replace(".html", ".md")


def _page(row: CatalogueRow, gate: Gate) -> Iterator[str]:
    yield from (f"# {row.cause}", "", sentence(row.meaning), "", "| | |", "| --- | --- |")
    yield f"| where it holds the job | {_gate_link(gate)} |"
    yield f"| what helps | {plain(row.remedy.sentence)} |"
    yield f"| who mends it | {_WHO[row.mender]} |"
    yield f"| how long it lasts | It {LASTS[row.permanence]}. |"
    yield f"| where it is seen | {plain(row.where)} |"
    if row.yields_to:
        yield f"| follows from, where it holds | {', '.join(map(_rival, row.yields_to))} |"
    yield f"| source | {', '.join(map(_source_link, row.source.split('; ')))} |"
    if said := _sentences(row):
        yield from ("", "## What you read", "", "Words in braces are names and numbers of the case.", "")
        yield from (f"- {code(words)}" for words in said)
    yield from ("", "## What `cockpit why` says", "")
    yield from _example(row.cause)
    yield from (f"In short, without a cluster: `cockpit why --explain {row.cause}`.", "")


def _example(cause: str) -> Iterator[str]:
    """The answer about the first case with that headline; none for what only follows from others."""
    for name, file in _files():
        if file.top == cause:
            case, subject = read_case(CASES / name), file.subject
            view, _ = rows_of(case)
            verdict = explain(subject, view)
            if verdict.cause == cause:
                where = f" -n {subject.namespace}" if subject.namespace else ""
                yield from ("```text", f"$ cockpit why {subject.kind}/{subject.name}{where}")
                yield from (line.rstrip() for line in lines(advised(verdict, view), view))
                yield from ("```", "", f"Recorded from {file.recorded.source}." * file.recorded.is_real, "")
                return


@cache
def _files() -> list[tuple[str, CaseFile]]:
    """Each case by name, those that real components wrote first."""
    found = [(path.parent.name, case_file(path.read_bytes())) for path in sorted(CASES.glob("*/case.json"))]
    return sorted(found, key=lambda named: not named[1].recorded.is_real)


def _sentences(row: CatalogueRow) -> list[str]:
    """What the cockpit says of it, and how it tells each text of a component."""
    found = [said.words for said in row.says.values()] + [_of_nodes(wording) for wording in row.wordings]
    return [words for words in dict.fromkeys(found) if words]


def _of_nodes(wording: Wording) -> str:
    """Of what the scheduler counts nodes for, the whole sentence."""
    return f"1 node {wording.words}" if wording.place is TextPlace.NODES else wording.words


def _of_gate(gate: Gate) -> list[CatalogueRow]:
    return [row for row in by_cause().values() if row.gate is gate]


def _heading(gate: Gate) -> str:
    return sentence(gate.value)[:-1]


def _gate_link(gate: Gate) -> str:
    return f"[{_heading(gate)}](../causes.md#{anchor(_heading(gate))})"


def _rival(cause: str) -> str:
    return f"any of: {_gate_link(cause)}" if isinstance(cause, Gate) else _link(cause)


def _link(cause: str) -> str:
    return f"[{cause}]({cause}.md)"


def _source_link(source: str) -> str:
    return f"<{source}>" if source.startswith("https://") else plain(source)
