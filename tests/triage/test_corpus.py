"""The engine against the corpus: what it gets right stays right; the list of the others only shrinks."""

from pathlib import Path

import pytest

from cockpit.catalogue import Cause, Mender, by_cause
from tests.triage.case import CASES, read_cases
from tests.triage.hands import HANDS, all_hands
from tests.triage.judge import (
    Judgement,
    in_hands,
    is_named,
    judged,
    offer_figures,
    offers_enough,
    reaches_bars,
)
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS

LISTED = Path(__file__).parent / "not_right.txt"
MOST_BYTES = 6_000_000


@pytest.fixture(scope="module")
def found() -> list[Judgement]:
    return judged(read_cases())


def test_what_is_right_stays_right_and_the_list_of_the_others_shrinks(found: list[Judgement]) -> None:
    listed = set(LISTED.read_text().split())
    wrong = {one.case.name: one for one in found if not one.is_right}
    spoilt = [one.line() for name, one in wrong.items() if name not in listed]
    mended = sorted(listed - set(wrong))
    assert not spoilt, "no longer right:\n" + "\n".join(spoilt)
    assert not mended, f"right now, or gone: take off {LISTED.name}: {' '.join(mended)}"


def test_the_bars_hold_once_the_list_is_empty(found: list[Judgement]) -> None:
    if not LISTED.read_text().split():
        assert reaches_bars(found)


def test_offers_are_made_where_the_remedy_is_in_somebodys_hands(found: list[Judgement]) -> None:
    without = [one.case.name for one in in_hands(found) if not one.is_offered]
    assert offers_enough(found), f"{offer_figures(found)}; without: {' '.join(without)}"


def test_every_row_says_whose_hands_its_remedy_is_in() -> None:
    known = all_hands()
    assert set(Cause) <= set(known)
    assert all(one.whose in HANDS and one.why for one in known.values())
    for row in Cause:  # who is not named as mending it has nothing to be offered
        assert known[row].whose in (by_cause()[row].mender, "nobody")
        if by_cause()[row].mender is Mender.INFRA:
            assert known[row].whose == "nobody"
    others = set(known) - set(Cause)
    assert others <= set(SCRIPTS)


def test_every_case_is_of_a_row_and_of_a_script_that_is_there() -> None:
    assert ALL
    for one in read_cases():
        assert one.file.top in set(Cause)
        assert one.file.recorded.script in SCRIPTS
        assert one.name == f"{one.file.recorded.script}-{one.file.recorded.seed}"


def test_no_case_holds_a_secret_and_the_corpus_stays_small() -> None:
    assert not any("secrets" in one.objects for one in read_cases())
    assert sum(file.stat().st_size for file in CASES.rglob("*") if file.is_file()) < MOST_BYTES


@pytest.mark.parametrize(
    ("name", "sentence", "holds"),
    [
        ("gpu=b300", "no node has gpu=b300", True),
        ("GPU-quota", "quota gpu-quota is used up", True),
        ("8", "asks 80 GPUs", False),
        ("8", "asks 8 GPUs", True),
        ("disk pressure|DiskPressure", "node n1 has disk pressure", True),
        ("team-vision-dataset-claim", "claim team-vi…-claim is not bound", True),
        ("team-vision-dataset-claim", "claim other…-claim is not bound", False),
    ],
)
def test_a_name_counts_whole_or_with_its_middle_left_out(name: str, sentence: str, *, holds: bool) -> None:
    assert is_named(name, sentence) is holds
