"""The verdict as a value, and sentences that keep their cause."""

import re

from hypothesis import given
from hypothesis import strategies as st

from cockpit.catalogue import by_cause
from cockpit.gangs.draft import draft, joined
from cockpit.gangs.wording import say, shortened
from cockpit.model.finding import FilterStep, Finding, Funnel, Subject
from cockpit.model.sureness import Sureness


def test_a_subject_reads_as_a_person_writes_it() -> None:
    assert Subject("job", "team-a", "llm-70b").text == "job team-a/llm-70b"
    assert Subject("node", "", "gpu-1").text == "node gpu-1"


def test_a_verdict_without_a_cause_is_trouble_only_where_something_was_not_understood() -> None:
    fine = Finding(subject=Subject("job", "a", "b"), sureness=Sureness.SAID)
    foreign = Finding(
        subject=Subject("job", "a", "b"), sentence="not understood: Xyz", sureness=Sureness.UNKNOWN
    )
    held = Finding(subject=Subject("job", "a", "b"), cause="selector", sureness=Sureness.SAID)
    assert [one.is_trouble for one in (fine, foreign, held)] == [False, True, True]


def test_a_fact_that_is_not_known_is_empty() -> None:
    verdict = Finding(subject=Subject("pod", "a", "b"), facts=(("taint", "team=secret"),))
    assert verdict.fact("taint") == "team=secret"
    assert verdict.fact("selector") == ""


def test_a_funnel_tells_what_passes() -> None:
    steps = (FilterStep("taints", "taints", 40), FilterStep("gpus", "8 GPUs free", 0))
    assert Funnel(nodes=312, steps=steps).passing == 0
    assert Funnel(nodes=312).passing == 312


def test_a_long_name_loses_its_middle_and_the_cause_nothing() -> None:
    name = "a" + "x" * 200 + "z"
    sentence = say("volume claim {claim} does not exist", claim=name)
    assert len(sentence) == 100
    assert sentence.startswith("volume claim ax")
    assert sentence.endswith("z does not exist")


def test_two_long_names_share_the_room() -> None:
    sentence = say("volume claim {claim}: StorageClass {name} does not exist", claim="c" * 90, name="s" * 80)
    assert len(sentence) == 100
    assert sentence.endswith("does not exist")
    assert "c…c" in sentence
    assert "s…s" in sentence


@given(st.text(), st.text(), st.integers())
def test_no_name_breaks_a_sentence(one: str, other: str, number: int) -> None:
    sentence = say("needs {number} GPUs of {one} and {other}", one=one, other=other, number=number)
    assert len(sentence) <= 100
    assert f"needs {number} GPUs of" in sentence


@given(st.text(max_size=50), st.integers(min_value=1, max_value=60))
def test_a_shortened_name_fits(name: str, width: int) -> None:
    found = shortened(name, width)
    assert len(found) <= max(width, 1)
    assert found == name or len(name) > width


def test_every_wording_compiles_though_none_is_compiled_before_it_is_asked_for() -> None:
    assert all(one.pattern.pattern == one.regex for row in by_cause().values() for one in row.wordings)


WORDINGS = [
    (one.pattern.pattern, words)
    for row in by_cause().values()
    for one in row.wordings
    for words in sorted({one.words, one.many} - {""})
    if "{" in words and "}{" not in words  # of names side by side only one is there
]
SHORT = {"side": "maximum", "whom": "Container", "bound": "512Gi", "asked": "1024Gi"}
"""Words and amounts of components that are no names."""
NAMES = st.text(alphabet="abcdefghijklmnopqrstuvwxyz-", min_size=10, max_size=63)


def kept(name: str, sentence: str) -> bool:
    """Whole, or both its ends."""
    if name in sentence:
        return True
    return any(name.startswith(head) and tail for head, tail in _ENDS.findall(sentence))


_ENDS = re.compile(r"([a-z-]{3,})…([a-z-]+)")


@given(st.sampled_from(WORDINGS), st.data())
def test_no_wording_of_the_catalogue_loses_a_name(wording: tuple[str, str], data: st.DataObject) -> None:
    """Two long names beside the words of any row, behind the name of a member: all of them can be told."""
    pattern, words = wording
    keys = set(re.findall(r"\{(\w+)\}", words))
    numbers = {key: "12" for key in keys if re.search(rf"\(\?P<{key}>(?:\[1-9\])?\\d", pattern)}
    known = {**SHORT, **numbers}
    names = {key: data.draw(NAMES, label=key) for key in sorted(keys - set(known))}
    single = draft("gpus-short", words, {**known, **names})
    found = joined(single, "{member}: ", " (and 12 more)", member="worker-107")
    assert len(found.sentence) <= 100
    assert found.sentence.startswith("worker-107: ")
    assert found.sentence.endswith("(and 12 more)")
    assert all(kept(name, found.sentence) for name in names.values()), found.sentence


@given(NAMES, NAMES, st.integers(0, 10_000), st.integers(0, 10_000))
def test_numbers_stay_when_two_sentences_become_one(one: str, other: str, free: int, asked: int) -> None:
    room = draft(
        "gpus-short",
        "needs {asked} GPUs: best node {node} has {free}",
        {"asked": asked, "node": one, "free": free},
    )
    found = joined(room, "PriorityClass {priority} may not preempt; ", priority=other)
    assert len(found.sentence) <= 100
    assert f"needs {asked} GPUs: best node " in found.sentence
    assert found.sentence.endswith(f" has {free}")
    assert kept(one, found.sentence) and kept(other, found.sentence)


def test_a_sentence_that_was_made_otherwise_is_joined_whole() -> None:
    found = joined(Finding(cause="gpus-short", sentence="as {it} stands"), "first; ", "!")
    assert found.sentence == "first; as {it} stands!"
