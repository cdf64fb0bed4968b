"""Which of several blockers is told first, and that none of them is lost."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from cockpit.catalogue import Cause, Permanence, by_cause, lasts, yields
from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness
from cockpit.triage.judgement import judged

CAUSES = st.sampled_from(list(Cause))
BLOCKERS = st.builds(
    Finding,
    cause=CAUSES,
    sentence=st.sampled_from(["a", "b"]),
    sureness=st.sampled_from(list(Sureness)),
    permanence=st.one_of(st.none(), st.sampled_from(list(Permanence))),
)


def blocker(cause: str, sureness: Sureness = Sureness.SAID, permanence: Permanence | None = None) -> Finding:
    return Finding(cause=cause, sentence=cause, sureness=sureness, permanence=permanence)


def order(*found: Finding) -> list[str]:
    first = judged(found)
    assert first is not None
    return [first.cause, *(one.cause for one in first.then)]


@given(st.lists(BLOCKERS, min_size=1, max_size=6))
def test_each_is_told_once_and_none_is_lost(found: list[Finding]) -> None:
    first = judged(found)
    assert first is not None
    told = [(one.cause, one.sentence) for one in (first, *first.then)]
    assert len(told) == len(set(told))
    assert set(told) == {(one.cause, one.sentence) for one in found}


@given(st.lists(BLOCKERS, min_size=2, max_size=5, unique_by=lambda one: (one.cause, one.sentence)))
def test_nothing_that_lasts_longer_is_told_behind_unless_it_says_less(found: list[Finding]) -> None:
    first = judged(found)
    assert first is not None
    for one in first.then:
        says_less = any(yields(one.cause, other.cause) for other in found if other.cause != one.cause)
        assert lasts(one) >= lasts(first) or says_less


def test_what_never_passes_comes_first_then_what_needs_somebody_whatever_the_order() -> None:
    three = [blocker("quota-in-use"), blocker("queue-stopped"), blocker("selector")]
    for found in permutations(three):
        assert order(*found) == ["selector", "queue-stopped", "quota-in-use"]


def test_of_equals_what_is_proved_comes_before_what_is_said_and_that_before_what_is_inferred() -> None:
    inferred = blocker("taint", Sureness.INFERRED)
    said = blocker("claim-unbound", Sureness.SAID)
    proved = blocker("claim-missing", Sureness.PROVED)
    assert order(inferred, said, proved) == ["claim-missing", "claim-unbound", "taint"]


def test_a_general_cause_follows_the_special_one_though_it_lasts_longer() -> None:
    crashes = blocker("crashes", permanence=Permanence.NEVER)
    assert order(crashes, blocker("cannot-start")) == ["cannot-start", "crashes"]
    assert order(blocker("gang-finds-no-room"), blocker("gpus-short")) == ["gpus-short", "gang-finds-no-room"]


def test_a_story_of_two_jobs_comes_behind_the_own_cause_of_one() -> None:
    story = blocker("half-placed", Sureness.PROVED)
    assert order(story, blocker("claim-unbound")) == ["claim-unbound", "half-placed"]


def test_without_a_cause_is_told_last() -> None:
    assert order(blocker(""), blocker("starting")) == ["starting", ""]


def test_no_two_causes_yield_to_each_other() -> None:
    both = [
        (one, two) for one in Cause for two in Cause if one < two and yields(one, two) and yields(two, one)
    ]
    assert both == []


def test_every_cause_has_one_row() -> None:
    assert set(by_cause()) == set(Cause)
