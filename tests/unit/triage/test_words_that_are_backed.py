"""What helps promises nothing that no offer does, and how often something came is what was counted."""

import re

import pytest

from cockpit.catalogue import CauseRemedy, by_cause
from cockpit.catalogue.cause import Cause
from cockpit.k8s.waiting_reasons import CRASHING, waiting_reason
from cockpit.model.finding import Change, Finding, Subject
from cockpit.model.pod import Pod
from cockpit.store.store import Store
from cockpit.triage.starting import crashing
from cockpit.views.why import page
from tests.unit.triage.objects import job, node, pods_of, view_of

_OFTEN = re.compile(r"again and again|\bkeeps\b|repeatedly|in a loop|several times|over and over")
_RANK = re.compile(r"priorit", re.IGNORECASE)
_KINDS = {
    *("fewer_gpus", "fewer_members", "raise_quota", "suspend", "kill", "more_nodes", "scale_pool"),
    *("ask_nodes", "raise_maximum", "grows", "other_pool", "drop_selector"),
}
_WITH_WAYS = sorted(cause for cause, row in by_cause().items() if row.remedy.ways)


def test_no_cause_says_by_itself_how_often_it_came() -> None:
    """Its meaning is said of the first time, too; the count stands in the sentence."""
    said = {cause: row.meaning for cause, row in by_cause().items() if _OFTEN.search(row.meaning)}
    assert not said
    assert not _OFTEN.search(waiting_reason(CRASHING).words)


@pytest.mark.parametrize(
    ("restarts", "words"),
    [(0, "crashed once"), (1, "crashed once"), (2, "crashed 2 times"), (7, "crashed 7 times")],
)
def test_a_crash_is_counted(restarts: int, words: str) -> None:
    pod = Pod(
        uid="p", name="p", namespace="a", node="n", waiting_reason=CRASHING, restarts=restarts, exit_code=1
    )
    found = crashing(pod, "", Store())
    assert found.sentence == f"{words}: exit 1"


def test_what_is_tried_against_causes_of_numbers_is_never_priority() -> None:
    """No offer gives a job another rank: no cause that offers are computed for says that it helps."""
    said = {cause: row.remedy.sentence for cause, row in by_cause().items() if row.lifted_by == "numbers"}
    assert not [cause for cause, words in said.items() if _RANK.search(words)]


def test_ways_name_kinds_of_offers() -> None:
    assert {"gpus-short", "quota-in-use", "above-quota", "pool-at-maximum"} <= set(_WITH_WAYS)
    named = {kind for cause in _WITH_WAYS for way in by_cause()[cause].remedy.ways for kind in way.kinds}
    assert named == _KINDS


def _words(remedy: CauseRemedy, kinds: set[str]) -> set[str]:
    text = remedy.beside(frozenset(kinds)).casefold()
    return {way.words for way in remedy.ways if way.words.casefold() in text}


@pytest.mark.parametrize("cause", _WITH_WAYS)
def test_what_helps_is_what_was_found_to(cause: str) -> None:
    """Beside one offer of each kind, and beside one of another kind."""
    remedy = by_cause()[cause].remedy
    free = {way.words for way in remedy.ways if not way.kinds}
    assert _words(remedy, set()) == {way.words for way in remedy.ways}, "nothing was tried"
    for way in remedy.ways:
        for kind in way.kinds:
            does = {one.words for one in remedy.ways if kind in one.kinds}
            assert _words(remedy, {kind}) == free | does
    if free:
        assert _words(remedy, {"uncordon_node"}) == free


def test_why_promises_no_machines_where_only_others_can_go() -> None:
    """One offer was made: to wait for another job. The page says that and nothing of nodes or fewer GPUs."""
    one = job("waits", 1, 8)
    view = view_of([node("a"), one, *pods_of(one)])
    wait = Change(kind="wait_for", words="wait for team-a/x (8 GPUs)", is_checked=True)
    found = Finding(
        subject=Subject("job", "team-a", "waits"), cause=Cause.GPUS_SHORT, sentence="no room", changes=(wait,)
    )
    told = [line for line in page(found, view).head if line.startswith("What helps")]
    assert told == ["What helps (for its owner): Wait."]
