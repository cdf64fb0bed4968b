"""Impossible numbers and contradictions are shown as such and are part of no sum."""

from typing import Any

import pytest
from cockpit_widgets.glyphs import IMPLAUSIBLE_LEVEL, STALE_LEVEL, heat_glyph, worst_level

from cockpit.model.gpu import Doubt, DoubtKind, Gpu
from cockpit.model.quantity import Absent
from cockpit.store.store import Store
from cockpit.views import cards, doubts, heatmap
from cockpit.views import format as fmt
from cockpit.views.fleet import fleet
from cockpit.views.gpus import table
from cockpit.views.now import fleet_segments
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import card as one_card
from tests.unit.views.builders import line, node, pod, store

BAD_DUTY = Doubt("duty_ratio", DoubtKind.IMPLAUSIBLE, 41.0, "dcgm A")
BAD_MEMORY = Doubt("memory_total_bytes", DoubtKind.IMPLAUSIBLE, 954 * 2.0**40, "dcgm C")
OTHER_DUTY = Doubt("duty_ratio", DoubtKind.CONTRADICTED, 0.2, "cockpit")


def store_with(found: list[Gpu]) -> Store:
    return store(node(), pod("p", gpus=8), *found)


def card(index: int, **more: Any) -> Gpu:
    """An allocated card with a duty of one half."""
    return one_card(index, "p", **{"duty": 0.5, "power_watts": 100.0, **more})


def test_an_implausible_number_is_part_of_no_mean_and_is_counted() -> None:
    bad = card(1, duty=Absent.IMPLAUSIBLE, power_watts=Absent.IMPLAUSIBLE, doubts=(BAD_DUTY,))
    made = store_with([card(0), bad, card(2, doubts=(OTHER_DUTY,))])
    found = fleet(made)
    assert found.duty == pytest.approx(0.5)
    assert found.watts == pytest.approx(200.0)
    assert (found.implausible, found.contradicted) == (1, 1)
    words = [one.text for one in fleet_segments(found)]
    assert "1 implausible" in words
    assert "1 contradictory" in words


def test_where_all_are_implausible_the_sum_says_so() -> None:
    bad = [card(at, duty=Absent.IMPLAUSIBLE, doubts=(BAD_DUTY,)) for at in range(2)]
    assert cards.fold(bad, cards.duty, cards.mean) is Absent.IMPLAUSIBLE
    assert fleet(store_with(bad)).duty is Absent.IMPLAUSIBLE


def test_it_has_a_word_and_a_glyph_of_its_own() -> None:
    assert fmt.duty_cell(Absent.IMPLAUSIBLE).text == "impl."
    assert fmt.bar(Absent.IMPLAUSIBLE) == heat_glyph(IMPLAUSIBLE_LEVEL) == "!"
    assert worst_level([3, IMPLAUSIBLE_LEVEL, STALE_LEVEL]) == IMPLAUSIBLE_LEVEL
    made = store_with([card(0, duty=Absent.IMPLAUSIBLE)])
    (group,) = heatmap.groups(made)
    assert group.blocks[0].levels[0] == IMPLAUSIBLE_LEVEL
    assert heatmap.cells([group]).endswith("! implausible")
    assert heatmap.cells(heatmap.groups(store_with([card(0)]))) == heatmap.CELLS


def test_the_sentence_names_who_said_what() -> None:
    one = card(3, doubts=(BAD_DUTY, BAD_MEMORY))
    assert doubts.short(one) == "duty implausible, total memory implausible"
    assert doubts.sentences(one) == [
        "dcgm A says duty 4,100%, which is implausible",
        "dcgm C says total memory 954Ti, which is implausible",
    ]
    assert doubts.summary([card(0), one]) == (
        "GPU 3: dcgm A says duty 4,100%, which is implausible (and 1 more)"
    )
    assert doubts.sentences(card(0, doubts=(OTHER_DUTY,))) == [
        "cockpit says duty 20%, which contradicts what is shown"
    ]
    assert doubts.summary([card(0)]) == ""


def test_an_unknown_age_is_no_age_of_0() -> None:
    source = table(store_with([card(0, sampled_seconds=None)]), ViewState(), 1_000.0)
    assert line(source)["sampled"] == "?"


def test_a_contradicted_duty_carries_a_mark_in_its_row() -> None:
    source = table(store_with([card(0, doubts=(OTHER_DUTY,))]), ViewState(), 1_000.0)
    assert line(source)["duty"] == "50%!"
