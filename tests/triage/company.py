"""Causes in company: each beside three drawn neighbours in one cluster, judged as a person would ask.

What the headline has to be is written by the generators before the engine runs: the script's cause, or of
two faults in one job the more lasting one. Of two that last alike either is right, and the other is told.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cockpit.catalogue import Cause
from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness
from cockpit.triage.engine import explain, job_behind
from tests.triage.case import Case, Tree
from tests.triage.company_neighbours import INSIDE, STAGED, drawn_case, playable, staged
from tests.triage.judge import is_named
from tests.triage.order import explained, told_first
from tests.triage.shared_cluster import NO_CHANGE, Beside, Change, Clash, Fence, fence_for, merged
from tests.triage.stage import SCRIPTS, Lasts
from tests.triage.world import rows_of

BESIDE = 3
NO_NODES = "no-nodes-no-nodes"
"""A cluster without a node has no neighbours."""
_TRIES = 400
KINDS = (*STAGED, *INSIDE, "denied-kind", "unrelated", "unrelated", "second-fault", "second-fault")

_AUTOSCALED = frozenset(
    {
        *(
            "pool-at-maximum-node-pool-at-its-limit",
            "node-coming-machine-launched",
            "node-coming-gpus-to-come",
        ),
        *("no-machine-no-machine-large-enough", "no-machine-pool-of-another-label"),
        *("no-machine-cloud-is-out-of-them", "pool-at-maximum-pool-at-its-maximum", "node-coming-growing"),
        *("no-machine-cloud-has-none",),
    }
)
"""An autoscaler speaks about every pod that waits and names every pool: one of these in a cluster."""
_WIDE = {
    "others-not-ready-somebody-not-ready": "kueue.x-k8s.io",
    NO_NODES: "nodes",
}
"""Scripts whose cause holds for the whole cluster: not beside what uses these."""
_DENIABLE = (
    *("machinedeployments.cluster.x-k8s.io", "machines.cluster.x-k8s.io", "nodeclaims.karpenter.sh"),
    *("nodepools.karpenter.sh", "resourceslices.resource.k8s.io", "resourceclaims.resource.k8s.io"),
    *("mpijobs.kubeflow.org", "jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh"),
    *("podgroups.scheduling.k8s.io", "podgroups.scheduling.x-k8s.io", "configmaps"),
    *("workloads.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"),
)
_RESTS_ON_NONE = (
    *(
        "gang-",
        "held-before",
        "queue-unusable",
        "not-taken",
        "device-",
        "devices-",
        "launcher-",
        "no-machine",
    ),
    *("pool-at-maximum", "node-coming", "several-schedulers", "runtime-missing", "waits-for"),
)
"""Causes that rest on an object that is absent: no list is denied beside them."""


_ENDED_BY_A_NODE = ("cordoned", "gpus-short", "no-machine", "group-", "claim-unbound")


class Second(NamedTuple):
    """A second fault that can be put into a job."""

    cause: str
    lasts: Lasts
    change: Change
    not_beside: tuple[str, ...]  # how scripts begin that are this fault already, or would be ended by it


SECONDS = (
    Second("selector", Lasts.NEVER_PASSES, Change(selector={"gpu": "b300"}), ("selector", "no-flavor-fits")),
    Second(
        "taint",
        Lasts.UNTIL_MENDED,
        Change(taints=("team=night:NoSchedule",)),
        ("taint",),
    ),
    Second(
        "claim-missing",
        Lasts.UNTIL_MENDED,
        Change(claim="dataset-of-last-year"),
        ("claim-", "volume-", "refused-by-pod"),
    ),
    Second(
        "resource-not-offered",
        Lasts.NEVER_PASSES,
        Change(device="example.com/fpga"),
        ("resource-not-offered", "limits-not-stated", "outside-limit-range", "namespace-quota"),
    ),
)


class Situation(NamedTuple):
    """A cluster and the question. `heads` are the causes of which either may be the headline, `second` those
    that are told beside it, `true` all that hold; `besides` would be mended by nodes of neighbours. `bare` is
    the subject's case by itself."""

    name: str
    case: Case
    bare: Case
    heads: tuple[str, ...]
    second: tuple[str, ...]
    true: frozenset[str]
    neighbours: tuple[str, ...]
    besides: frozenset[str] = frozenset()


class Bar(NamedTuple):
    """Shares that are held; of proved and wrong the most that may be."""

    headline: float
    second: float
    proved_and_wrong: float
    false_also: float
    row_as_page: float


BAR = Bar(headline=0.97, second=0.85, proved_and_wrong=0.0, false_also=0.02, row_as_page=0.93)
"""What 40 reach; of second causes 0.90 are wanted. Rows say less of a missing claim than pages."""


class Answer(NamedTuple):
    """What the page and the row say of a situation."""

    asked: Situation
    page: Finding
    row: Finding | None  # None where the subject has no row among jobs

    @property
    def is_headline_right(self) -> bool:
        """The most lasting true cause comes first."""
        return self.page.cause in self.asked.heads

    @property
    def is_second_told(self) -> bool:
        """Each further fault in the job is told."""
        return {*self.asked.second, *self.asked.heads} <= {self.page.cause, *self.page.also}

    @property
    def is_proved_and_wrong(self) -> bool:
        """Sure of what does not hold, or of another object than the one that it is."""
        is_true = self.page.cause in self.asked.true and self.are_names_told
        return self.page.sureness is Sureness.PROVED and not is_true

    @property
    def false_also(self) -> tuple[str, ...]:
        """What is told besides and neither follows from a fault that was injected nor is what nodes of a
        neighbour would mend."""
        known = explained(self.asked.true) | self.asked.besides
        return tuple(cause for cause in self.page.also if cause not in known)

    @property
    def is_also_proved_and_wrong(self) -> bool:
        """Sure of one of these."""
        sure = {one.cause for one in self.page.then if one.sureness is Sureness.PROVED}
        return bool(sure.intersection(self.false_also))

    @property
    def are_names_told(self) -> bool:
        """The sentence names what it must, where its cause is the script's."""
        file = self.asked.case.file
        is_other = self.page.cause != file.top
        return is_other or all(is_named(name, self.page.sentence) for name in file.names)

    @property
    def do_row_and_page_agree(self) -> bool:
        """They name one cause, in the same words."""
        said = None if self.row is None else (self.row.cause, self.row.sentence)
        return said is None or said == (self.page.cause, self.page.sentence)

    def misses(self) -> list[str]:
        """What is not right, a word each."""
        found = {
            "PROVED-AND-WRONG": self.is_proved_and_wrong or self.is_also_proved_and_wrong,
            "HEADLINE": not self.is_headline_right,
            "SECOND": self.is_headline_right and bool(self.asked.second) and not self.is_second_told,
            "NAMES": not self.are_names_told,
            "ROW": not self.do_row_and_page_agree,
            "ALSO": bool(self.false_also),
        }
        return [word for word, holds in found.items() if holds]

    def line(self) -> str:
        """A miss, with all that is needed to find it."""
        one, page = self.asked, self.page
        row = "" if self.do_row_and_page_agree or self.row is None else f" row={self.row.cause!r}"
        return (
            f"{','.join(self.misses())} {one.name}: expected {'|'.join(one.heads)}"
            f"{' also ' + ','.join(one.second) if one.second else ''}; got {page.cause or 'nothing'} "
            f"({page.sureness.name.lower()}) also {','.join(page.also) or '-'}{row}; {page.sentence!r}; "
            f"beside {', '.join(one.neighbours) or 'nothing'}"
        )


# ---- drawing


def alone(case: Case) -> Situation:
    """A case by itself."""
    heads, second = told_first(case)
    return Situation(case.name, case, case, heads, second, frozenset(case.file.causes), ())


def situations(seed: int, count: int) -> list[Situation]:
    """So many of that seed; each script is the subject about as often as any other."""
    rng = random.Random(f"company {seed}")
    names: list[str] = []
    some = [name for name in playable() if name != NO_NODES]
    while len(names) < count:
        names += rng.sample(some, min(len(some), count - len(names)))
    return [_drawn(name, rng) for name in names]


def _drawn(name: str, rng: random.Random) -> Situation:
    for _ in range(_TRIES):
        try:
            return _beside(drawn_case(name, rng), rng)
        except Clash:
            continue
    raise AssertionError(f"{name}: no neighbours that can stand beside it in {_TRIES} draws")


def _beside(case: Case, rng: random.Random) -> Situation:
    """The case beside three. Raises Clash where those drawn cannot be in one cluster with it."""
    others: list[Beside] = []
    told: list[str] = []
    extra: Second | None = None
    denied: frozenset[str] = frozenset()
    for kind in _kinds(rng):
        if kind == "second-fault":
            extra = _second(case, rng)
            told.append(f"second fault {extra.cause}")
        elif kind == "denied-kind":
            denied = _denied(case, rng)
            told.append(f"denied {', '.join(denied)}")
        elif kind == "unrelated":
            others.append(Beside(drawn_case(rng.choice(playable()), rng)))
            told.append(others[-1].case.name)
        else:
            _may_have_inside(kind, case)
            others.append(staged(kind, rng.randrange(1_000_000), case))
            told.append(kind)
    _stand_together(case, [other.case for other in others])
    fence = fence_for(case, others, rng.choice(list(Fence)))
    whole = merged(case, others, fence, NO_CHANGE if extra is None else extra.change)
    heads, second = told_first(case, None if extra is None else (extra.cause, extra.lasts))
    true = frozenset((*case.file.causes, *((extra.cause,) if extra else ())))
    whole = msgspec.structs.replace(whole, denied=denied)
    besides = {Cause.TAINT} if fence is not Fence.LABEL else set()
    besides |= {Cause.NODES_NOT_READY} if {"joining-sibling", "dead-sibling"}.intersection(told) else set()
    beside = (*told, f"by {fence.name.lower()}")
    return Situation(case.name, whole, case, heads, second, true, beside, frozenset(besides))


def _may_have_inside(kind: str, case: Case) -> None:
    """Raises Clash where such a neighbour would be the cause, or end it."""
    script = SCRIPTS[case.file.recorded.script]
    is_lasting = script.lasts is not None and script.lasts < Lasts.BY_ITSELF
    if kind in INSIDE and (not is_lasting or script.name.startswith(_ENDED_BY_A_NODE)):
        raise Clash("it would matter to the subject")


def _kinds(rng: random.Random) -> list[str]:
    """Three; only an unrelated cause may come twice."""
    found: list[str] = []
    while len(found) < BESIDE:
        kind = rng.choice(KINDS)
        if kind == "unrelated" or kind not in found:
            found.append(kind)
    return found


def _second(case: Case, rng: random.Random) -> Second:
    script = SCRIPTS[case.file.recorded.script]
    fit = [one for one in SECONDS if not script.name.startswith(one.not_beside)]
    if script.lasts is None or case.file.also or not fit:
        raise Clash("no second fault")
    return rng.choice(fit)


def _denied(case: Case, rng: random.Random) -> frozenset[str]:
    name = case.file.recorded.script
    # A list of Kueue's may be denied only beside what has nothing of Kueue at all.
    used = {label.partition(".")[2] for label, trees in case.objects.items() if trees and "." in label}
    fit = [
        label for label in _DENIABLE if label.partition(".")[2] not in used and not case.objects.get(label)
    ]
    if name.startswith(_RESTS_ON_NONE) or not fit:
        raise Clash("no list that may be denied")
    return frozenset((rng.choice(fit),))


def _stand_together(case: Case, others: Sequence[Case]) -> None:
    """Raises Clash where what one says of the cluster is not true beside another one."""
    whole = [case, *others]
    scripts = [one.file.recorded.script for one in whole]
    if sum(name in _AUTOSCALED for name in scripts) > 1:
        raise Clash("two that an autoscaler speaks about")
    for one in whole:
        part = _WIDE.get(one.file.recorded.script)
        for other in whole:
            if (
                part
                and other is not one
                and any(trees for label, trees in other.objects.items() if part in label)
            ):
                raise Clash(f"{one.name} concerns all that uses {part}")
    offered = _offered(other.objects.get("nodes", ()) for other in others)
    lacking = {key for pod in case.objects.get("pods", ()) for key in _asked(pod["spec"])}
    lacking -= _offered([case.objects.get("nodes", ())])
    if lacking & offered and not case.name.startswith("other-gpu-unit"):  # there its own nodes say enough
        raise Clash(f"a neighbour's nodes offer {lacking & offered}")


def _offered(nodes: Iterable[Iterable[Tree]]) -> set[str]:
    return {key for some in nodes for node in some for key in node["status"]["allocatable"]}


def _asked(spec: Mapping[str, Any]) -> Iterable[str]:
    """Devices that its containers ask for."""
    for container in spec.get("containers") or ():
        for key in (container.get("resources") or {}).get("requests") or ():
            if "/" in key:
                yield key


# ---- asking


def answer(asked: Situation) -> Answer:
    """What *Why* and the row of the subject say."""
    case = asked.case
    known, verdicts = rows_of(case)
    page = explain(case.file.subject, known)
    job = job_behind(case.file.subject, known) if case.file.subject.kind == "job" else None
    return Answer(asked, page, None if job is None else verdicts.of(job, case.file.now))


def figures(found: Sequence[Answer]) -> str:
    """One line."""
    double = [one for one in found if one.asked.second]
    rows = [one for one in found if one.row is not None]
    right = _share(sum(one.is_headline_right for one in found), len(found))
    told = _share(sum(one.is_second_told for one in double), len(double))
    named = _share(sum(one.are_names_told for one in found), len(found))
    agreed = _share(sum(one.do_row_and_page_agree for one in rows), len(rows))
    return (
        f"{len(found)} situations of {len({one.asked.case.file.top for one in found})} causes; "
        f"headline right in {right}, second named in {told}, "
        f"proved and wrong {sum(_is_sure_and_wrong(one) for one in found)}, "
        f"false then also {_share(sum(len(one.false_also) for one in found), _told_besides(found))}, "
        f"names told in {named}, row as page in {agreed}"
    )


def reaches_bar(found: Sequence[Answer], bar: Bar = BAR) -> bool:
    """Whether all of these shares are reached."""
    double = [one for one in found if one.asked.second]
    rows = [one for one in found if one.row is not None]
    return (
        sum(one.is_headline_right for one in found) >= bar.headline * len(found)
        and sum(one.is_second_told for one in double) >= bar.second * len(double)
        and sum(map(_is_sure_and_wrong, found)) <= bar.proved_and_wrong * len(found)
        and sum(len(one.false_also) for one in found) <= bar.false_also * _told_besides(found)
        and sum(one.do_row_and_page_agree for one in rows) >= bar.row_as_page * len(rows)
    )


def _is_sure_and_wrong(one: Answer) -> bool:
    return one.is_proved_and_wrong or one.is_also_proved_and_wrong


def _told_besides(found: Iterable[Answer]) -> int:
    return sum(len(one.page.also) for one in found)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "0 of 0"
