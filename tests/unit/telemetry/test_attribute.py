"""Who holds a card, and how sure we are."""

from cockpit.model.gpu import Gpu, Mark
from cockpit.telemetry.attribute import attribute
from tests.unit.telemetry.builders import pod


def card(index: int, name: str = "", *, mark: Mark | None = None) -> Gpu:
    default = Mark.GUESSED if name else Mark.UNALLOCATED
    return Gpu(
        uuid=f"GPU-{index}",
        node="gpu-1",
        index=index,
        duty_ratio=0.5,
        pod_namespace="team-a" if name else "",
        pod_name=name,
        mark=mark or default,
    )


def told(cards: list[Gpu]) -> list[tuple[str, Mark]]:
    return [(one.pod_name, one.mark) for one in cards]


def test_a_pod_that_sits_on_the_node_is_sure() -> None:
    found = attribute([card(0, "llm-0"), card(1)], [pod("llm-0")])
    assert told(found) == [("llm-0", Mark.SURE), ("", Mark.UNALLOCATED)]


def test_a_pod_that_the_node_does_not_have_is_a_guess() -> None:
    assert told(attribute([card(0, "elsewhere")], [])) == [("elsewhere", Mark.GUESSED)]


def test_a_finished_pod_and_an_exporter_hold_nothing() -> None:
    pods = [pod("done", phase="Succeeded"), pod("agent", gpus=0)]
    assert told(attribute([card(0, "done"), card(1, "agent")], pods)) == [("", Mark.UNALLOCATED)] * 2


def test_a_vanished_label_keeps_its_pod_as_a_guess() -> None:
    before = [card(0, "llm-0"), card(1, "llm-1")]
    found = attribute([card(0), card(1, "llm-1")], [pod("llm-0"), pod("llm-1")], before)
    assert told(found) == [("llm-0", Mark.GUESSED), ("llm-1", Mark.SURE)]


def test_the_only_pod_that_can_hold_the_rest_is_a_guess() -> None:
    cards = [card(index, mark=Mark.NOT_COLLECTED) for index in range(4)]
    assert told(attribute(cards, [pod("llm-0", gpus=4)])) == [("llm-0", Mark.GUESSED)] * 4


def test_a_pod_on_fewer_cards_than_are_open_is_not_placed() -> None:
    cards = [card(index, mark=Mark.NOT_COLLECTED) for index in range(4)]
    assert told(attribute(cards, [pod("llm-0", gpus=1)])) == [("", Mark.NOT_COLLECTED)] * 4


def test_several_unnamed_pods_are_not_guessed() -> None:
    cards = [card(index) for index in range(2)]
    pods = [pod("a"), pod("b")]
    assert told(attribute(cards, pods)) == [("", Mark.NOT_COLLECTED)] * 2


def test_cards_of_a_node_without_pods_are_free_even_where_the_exporter_maps_none() -> None:
    assert told(attribute([card(0, mark=Mark.NOT_COLLECTED)], [])) == [("", Mark.UNALLOCATED)]


def test_time_sliced_cards_are_shared() -> None:
    pods = [pod("a"), pod("b")]
    found = attribute([card(0, "a"), card(1)], pods, sharers=4)
    assert told(found) == [("a", Mark.SHARED), ("", Mark.NOT_COLLECTED)]
    assert told(attribute([card(1)], [], sharers=4)) == [("", Mark.UNALLOCATED)]


def test_a_card_told_for_several_pods_stays_shared() -> None:
    assert told(attribute([card(0, "a", mark=Mark.SHARED)], [pod("a"), pod("b")])) == [("a", Mark.SHARED)]
