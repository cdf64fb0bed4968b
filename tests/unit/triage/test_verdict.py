"""The verdict as a value, and sentences that keep their cause."""

from hypothesis import given
from hypothesis import strategies as st

from cockpit.gangs.wording import say, shortened
from cockpit.model.sureness import Sureness
from cockpit.triage.verdict import FilterStep, Funnel, Subject, Verdict


def test_a_subject_reads_as_a_person_writes_it() -> None:
    assert Subject("job", "team-a", "llm-70b").text == "job team-a/llm-70b"
    assert Subject("node", "", "gpu-1").text == "node gpu-1"


def test_a_verdict_without_a_cause_is_trouble_only_where_something_was_not_understood() -> None:
    fine = Verdict(subject=Subject("job", "a", "b"), sureness=Sureness.SAID)
    foreign = Verdict(subject=Subject("job", "a", "b"), sentence="not understood: Xyz")
    held = Verdict(subject=Subject("job", "a", "b"), cause="C8", sureness=Sureness.SAID)
    assert [one.is_trouble for one in (fine, foreign, held)] == [False, True, True]


def test_a_fact_that_is_not_known_is_empty() -> None:
    verdict = Verdict(subject=Subject("pod", "a", "b"), facts=(("taint", "team=secret"),))
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
