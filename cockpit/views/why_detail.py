"""The detail of a row of *Now*: why, how many nodes pass each filter, what would start it, evidence."""

from cockpit_widgets.text import wrap
from cockpit_widgets.types import Cell, Line, ToneLine

from cockpit.model.finding import Finding
from cockpit.triage.context import ClusterView
from cockpit.triage.now_findings import JOB_IDLE
from cockpit.triage.troubles import Trouble
from cockpit.views import detail, why
from cockpit.views.attention import remedies, sentence
from cockpit.views.detail import Detail, Part
from cockpit.views.why import HELPS, STARTS, WhyPage, words_of

_LEAD = "› "
_REST_INDENT = 4


def finding_detail(
    row: Trouble, verdict: Finding | None, view: ClusterView | None, now_seconds: float
) -> Detail:
    """The top of the page that `w` opens; where there is no such page, or nothing holds the subject, what the
    row says."""
    found = row.found
    alerts = detail.text(why.alert_lines(found.alerts, now_seconds), _REST_INDENT)
    own_words = detail.text([sentence(row, now_seconds), remedies(row)])
    words = Detail(found.title, found.state, (own_words, alerts))
    if verdict is None or view is None or row.is_resolved:
        return words
    page = why.page(verdict, view)
    own = () if verdict.is_trouble else (ToneLine(sentence(row, now_seconds), "strong"),)
    is_fuller = bool(own) and found.finding == JOB_IDLE and bool(verdict.sentence)  # than what *why* says
    parts: tuple[Part, ...] = (
        detail.text((*own, *page.head[is_fuller:])),
        alerts,
        _offers(page),
        detail.text(page.rest, _REST_INDENT),
    )
    return Detail(found.title, verdict.state, parts)


def _offers(page: WhyPage) -> Part:
    """An offer a paragraph; one that was tried and starts the subject says so."""

    def lines(width: int, height: int) -> list[Line]:
        made: list[Line] = []
        for change in page.offers:
            tail = "  starts" if change.is_checked else ""
            broken = wrap(words_of(change) + tail, width - len(_LEAD))
            for at, part in enumerate(broken):
                starts = bool(tail) and at == len(broken) - 1 and part.endswith("starts")
                text = part.removesuffix("starts") if starts else part
                lead = Cell(" " * len(_LEAD) if at else _LEAD, "accent")
                made.append((lead, Cell(text), *((Cell("starts", "good"),) if starts else ())))
        return made and [detail.rule(STARTS if page.is_start else HELPS, width), *made]

    return lines
