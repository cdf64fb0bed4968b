"""Why something waits or is broken: one sentence, the nodes that pass each filter, what would start it and
when, and under it the fields that it was read from with their age."""

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cockpit_widgets.types import Cell, Column, Tone, ToneLine

from cockpit.catalogue import Mender, by_cause, yields
from cockpit.gangs.sentence import counted
from cockpit.k8s.waiting_reasons import waiting_reason
from cockpit.model.alert import Alert
from cockpit.model.finding import BETWEEN_COMMANDS, Change, Evidence, Expected, Finding, Funnel
from cockpit.model.job import Job, JobState
from cockpit.model.pod import Pod
from cockpit.model.record import Condition
from cockpit.model.store_reader import StoreReader
from cockpit.triage.alerts import alerts_about, severity_rank
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import job_behind
from cockpit.triage.idle_jobs import unmark_words
from cockpit.triage.node_signs import SIGN_REMEDIES
from cockpit.triage.shortage import ruled_out
from cockpit.views import format as fmt
from cockpit.views.cause_page import more_of
from cockpit.views.lazy_table import Field, LazyTable
from cockpit.views.why_about import about, stages

MOST_ALERTS = 10
MOST_EVENTS = 8
MOST_PODS = 6
NAME_CELLS = 16


class WhyPage(NamedTuple):
    """The page: what stands above the offers, the offers, what stands below; lines bring their tone along."""

    head: tuple[str, ...]
    offers: tuple[Change, ...]
    rest: tuple[str, ...]
    is_start: bool = False  # the offers start what the page is about
    more: str = ""  # where the catalogue tells of the cause
    alerts: tuple[ToneLine, ...] = ()  # of Alertmanager, about what the page is about

    @property
    def full_rest(self) -> tuple[str, ...]:
        """What stands below on its own page: alerts, `rest`, and where the catalogue is."""
        alerts = (*self.alerts, "") if self.alerts else ()
        return (*alerts, *self.rest, *(("", ToneLine(self.more, "dim")) if self.more else ()))


_EXPLAINED = ("job", "node", "pod", "pool", "queue")
"""Kinds of roots that have a trouble of their own: that page says more. Others are named in the sentence."""


def page(verdict: Finding, view: ClusterView, docs_url: str = "") -> WhyPage:
    """Everything that is told of one verdict. `docs_url` is where the documents are, "" unknown."""
    job = job_behind(verdict.subject, view)
    now_seconds = view.now_seconds
    first = [*_expected(verdict.expected, now_seconds), *_evidence(verdict, now_seconds)]
    first += [_named("Stages", line) for line in stages(verdict.subject, job, view)]
    parts = [first, about(verdict, view)]
    if job is not None:
        members = view.jobs.members(job.key)
        parts += [_counts(job), *_workloads(job, view.store, now_seconds), _pods(members)]
        parts.append(_events(job, members, view.store, now_seconds))
    rest = [line for part in parts if part for line in ("", *part)][1:]
    head = _head(verdict, now_seconds)
    if job is not None and (unmark := unmark_words(job)):
        head.append(f"{unmark[0].upper()}{unmark[1:]}")
    is_start = verdict.subject.kind != "pool" and any(change.is_checked for change in verdict.changes)
    more = more_of(verdict.cause, docs_url)
    alerts = alert_lines(alerts_about(verdict.subject, view.store, view.jobs), now_seconds)
    return WhyPage(tuple(head), verdict.changes, tuple(rest), is_start, more, tuple(alerts))


def alert_lines(alerts: Sequence[Alert], now_seconds: float) -> list[ToneLine]:
    """`Alertmanager: KubeNodeNotReady, critical for 12m: ...` and where its runbook is, for each alert."""
    lines: list[ToneLine] = []
    for alert in alerts[:MOST_ALERTS]:
        age = fmt.since(alert.since_seconds, now_seconds)
        head = f"Alertmanager: {alert.name}, {alert.severity or 'no severity'}, {age}"
        tone: Tone = ("dim", "warn", "bad")[severity_rank(alert)]
        lines.append(ToneLine(f"{head}: {alert.summary}" if alert.summary else head, tone))
        if alert.runbook:
            lines.append(ToneLine(f"    {alert.runbook}", "dim"))
    if len(alerts) > MOST_ALERTS:
        lines.append(ToneLine(f"Alertmanager: {len(alerts) - MOST_ALERTS:,} more alerts", "dim"))
    return lines


def lines(verdict: Finding, view: ClusterView, docs_url: str = "") -> list[str]:
    """The page as text alone, with the command of each offer."""
    told = page(verdict, view, docs_url)
    offers: list[str] = []
    if told.offers:
        offers = ["", STARTS if told.is_start else HELPS, *map(_offer_line, told.offers)]
    return [f"why {verdict.subject.text}", *told.head, *offers, "", *told.full_rest]


def _offer_line(one: Change) -> str:
    words = words_of(one)
    return f"  {words}: {command_text(one)}" if one.command else f"  {NO_COMMAND.format(words)}"


def _standing(verdict: Finding, now_seconds: float) -> str:
    """`pending 41m · proved by numbers`."""
    age = "" if verdict.since_seconds is None else fmt.since(verdict.since_seconds, now_seconds)
    words = " ".join(part for part in (verdict.state or "in trouble", age) if part)
    return f"{words} · {verdict.sureness}"


def _head(verdict: Finding, now_seconds: float) -> list[str]:
    """The sentence, what it means and what helps, and how many nodes pass each filter."""
    stands = "has" if verdict.state in JobState.ENDED else "is"
    held = "" if verdict.state in JobState.ENDED else "; nothing blocks it"
    nothing = f"{verdict.subject.key} {stands} {verdict.state}{held}" if verdict.state else ""
    text: list[str] = [ToneLine(verdict.sentence or nothing or "nothing is wrong with it", "strong")]
    if verdict.is_trouble:
        text.append(ToneLine(_standing(verdict, now_seconds), "warn"))
    row = by_cause().get(verdict.cause)
    if row is not None:
        text.append(ToneLine(f"{row.meaning[:1].upper()}{row.meaning[1:]}.", "dim"))
        kinds = frozenset(kind for one in verdict.changes for kind in one.kind.split())
        helps = verdict.fact("remedy") or row.remedy.beside(kinds)
        text.append(ToneLine(remedy_line(helps, row.mender), "dim"))
    elif (sign := SIGN_REMEDIES.get(verdict.fact("sign"))) is not None:
        text.append(ToneLine(remedy_line(*sign), "dim"))
    if verdict.root is not None and verdict.root.kind in _EXPLAINED:
        text.append(f"It follows from {verdict.root.text}.")
    text += (ToneLine(f"Then also: {item.sentence}", "warn") for item in verdict.then)
    told = {verdict.cause, *(item.cause for item in verdict.then)}
    more = (
        by_cause()[cause]
        for cause in verdict.also
        if cause in by_cause() and cause not in told and not any(yields(cause, other) for other in told)
    )
    text += (ToneLine(f"Then also: {row.meaning}{_counted(row.cause, verdict)}.", "warn") for row in more)
    if verdict.funnel is not None and verdict.funnel.steps:
        text.append(funnel_line(verdict.funnel))
    return text


def _counted(cause: str, verdict: Finding) -> str:
    """How many nodes of the funnel are out for that cause, "" where it has no such step."""
    out = None if verdict.funnel is None else ruled_out(verdict.funnel, cause)
    return f" ({out} of {counted(verdict.funnel.nodes, 'node')})" if out and verdict.funnel else ""


_MENDERS = {
    Mender.USER: "for its owner",
    Mender.ADMIN: "for an administrator",
    Mender.INFRA: "for those who run the nodes",
}


def remedy_line(remedy: str, mender: Mender) -> str:
    """`What helps (for its owner): correct the name of the image.`"""
    return f"What helps ({_MENDERS[mender]}): {remedy}"


def funnel_line(funnel: Funnel) -> str:
    """`Nodes 312 ─ offer GPUs: 40 ─ taints tolerated: 38 ─ 8 GPUs free: 0   best: gpu-1 has 3 free, 8
    needed`."""
    steps = "".join(f" ─ {step.words}: {step.nodes:,}" for step in funnel.steps)
    needed = "" if funnel.needed is None else f", {funnel.needed} needed"
    best = "" if funnel.best_free is None else f" has {funnel.best_free} free"
    tail = f"   best: {funnel.best_node}{best}{needed}" if funnel.best_node else ""
    return f"Nodes {funnel.nodes:,}{steps}{tail}"


# ---- offers

STARTS, HELPS = "It would start if", "What helps here"


def words_of(change: Change) -> str:
    """An offer, and behind one that starts nothing by itself what comes next, or why that is not known."""
    if change.unknown:
        return f"{change.words} (not checked: {change.unknown})"
    return f"{change.words} (then: {change.leaves})" if change.leaves else change.words


OFFERS: tuple[Field[Change], ...] = (
    Field(Column("words", STARTS, 40, grow=10, wish=90, folds=True), lambda one, _: Cell(words_of(one))),
    Field(
        Column("checked", "checked", 9, priority=3),
        lambda one, _: Cell("starts", "good") if one.is_checked else Cell("not tried", "dim"),
    ),
    Field(
        Column("verb", "enter", 14, priority=2),
        lambda one, _: Cell(one.verb.replace(".", " ") if one.verb else "command", "" if one.verb else "dim"),
    ),
)


HELP: tuple[Field[Change], ...] = (
    Field(Column("words", HELPS, 40, grow=10, wish=90, folds=True), lambda one, _: Cell(words_of(one))),
    OFFERS[-1],
)


def offers_table(page: WhyPage, now_seconds: float) -> LazyTable[Change]:
    """Offers as rows; what starts nothing by itself is headed as what helps."""
    return LazyTable(OFFERS if page.is_start else HELP, page.offers, offer_key, now_seconds)


def offer_key(change: Change) -> str:
    """What tells an offer from the others."""
    return " ".join((change.kind, *change.command))


NO_COMMAND = "{}: nothing to run"
"""An offer to wait has no command."""


def foot_line(change: Change) -> str:
    """What stands at the foot of the page for an offer: its command behind a prompt, where it has one."""
    return f"$ {command_text(change)}" if change.command else NO_COMMAND.format(change.words)


def command_text(change: Change) -> str:
    """The command of an offer as one types it."""
    return " ".join(item if item in BETWEEN_COMMANDS else shlex.quote(item) for item in change.command)


# ---- when


def _expected(found: Expected | None, now_seconds: float) -> list[str]:
    if found is None:
        return []
    return [_named("Expected start", expected_words(found, now_seconds))]


def expected_words(found: Expected, now_seconds: float) -> str:
    """`in 20m to 50m (14:40 to 15:10 UTC), from 3 running jobs and 41 past runs`; else why it is unknown."""
    if found.from_seconds is None or found.to_seconds is None:
        return found.why
    ends = (found.from_seconds, found.to_seconds)
    spans = " to ".join(fmt.age(max(0.0, item - now_seconds)) for item in ends)
    times = " to ".join(fmt.moment(item, now_seconds) for item in ends)
    return f"in {spans} ({times} UTC), {found.why}"


# ---- what it rests on


def _named(name: str, text: str) -> str:
    return f"{name:<{NAME_CELLS}}{text}"


def _evidence(verdict: Finding, now_seconds: float) -> list[str]:
    found = []
    for at, one in enumerate(verdict.evidence):
        found.append(_named("" if at else "Evidence", _evidence_line(one, now_seconds)))
    return found


def _evidence_line(one: Evidence, now_seconds: float) -> str:
    age = "" if one.since_seconds is None else f" ({fmt.since(one.since_seconds, now_seconds)} ago)"
    return f"{one.object} {one.field}{age}: {one.value}"


def _heading(text: str) -> ToneLine:
    return ToneLine(text, "dim")


def _counts(job: Job) -> list[str]:
    wanted = "?" if job.wanted is None else str(job.wanted)
    asked = "?" if job.gpus_wanted is None else str(job.gpus_wanted)
    allocated = "?" if job.has_unknown_gpus else str(job.gpus_allocated)
    members = "member" if job.wanted == 1 else "members"
    gpus = "GPU" if job.gpus_wanted == 1 else "GPUs"
    standing = f"{job.ready} of {wanted} {members} ready, {allocated} of {asked} {gpus} allocated"
    text: list[str] = [_heading(f"state {job.state}, {standing}")]
    if job.queue:
        about_ = "about " if job.is_position_estimate else ""
        place = "" if job.position is None else f", {about_}position {job.position}"
        text.append(_heading(f"queue {job.queue} ({job.engine or 'no engine'}){place}"))
    return text


def _workloads(job: Job, store: StoreReader, now_seconds: float) -> Iterator[list[str]]:
    for workload in store.workloads_of(job.uid):
        text: list[str] = [_heading(f"Workload {workload.namespace}/{workload.name}")]
        text += [_condition_line(condition, now_seconds) for condition in workload.conditions]
        if not workload.is_active:
            text.append("  spec.active is false: it is suspended")
        yield text


def _condition_line(one: Condition, now_seconds: float) -> str:
    age = fmt.since(one.changed_seconds, now_seconds)
    return f"  {one.type} {one.status} {one.reason} ({age}): {one.message}"


def _pods(members: tuple[Pod, ...]) -> list[str]:
    stuck = [pod for pod in members if pod.scheduled == "False" or pod.waiting_reason or pod.status_reason]
    if not stuck:
        return []
    text: list[str] = [_heading(f"Pods that do not run: {len(stuck)} of {len(members)}")]
    groups: dict[str, list[str]] = {}
    for pod in stuck:
        said = pod.waiting_message or pod.scheduled_message or pod.status_message
        reason = pod.waiting_reason or pod.scheduled_reason or pod.status_reason
        groups.setdefault(f"{reason}: {said}", []).append(pod.name)
    for said, names in list(groups.items())[:MOST_PODS]:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        text.append(f"  {names[0]}{more} {said}")
    remedies = dict.fromkeys(waiting_reason(pod.waiting_reason).remedy for pod in stuck[:MOST_PODS])
    return text + [f"  {item}" for item in remedies if item]


def _events(job: Job, members: tuple[Pod, ...], store: StoreReader, now_seconds: float) -> list[str]:
    uids = (job.uid, job.workload_uid, *(pod.uid for pod in members))
    found = sorted(
        (event for uid in uids if uid for event in store.events_of(uid)),
        key=lambda event: event.last_seconds or 0.0,
        reverse=True,
    )
    if not found:
        return []
    text: list[str] = [_heading("Events, newest first")]
    for event in found[:MOST_EVENTS]:
        times = f" x{event.count}" if event.count > 1 else ""
        age = fmt.since(event.last_seconds, now_seconds)
        text.append(f"  {age} {event.type} {event.reason}{times} {event.object_name}: {event.message}")
    return text
