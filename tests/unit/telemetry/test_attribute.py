"""Who holds a card, and how sure we are."""

import msgspec

from cockpit.model.gpu import Doubt, DoubtKind, Gpu, Mark
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


def test_a_label_that_names_a_pod_which_is_not_there_displaces_nobody() -> None:
    """Deleted, on another node, or of a series that nobody ended."""
    pods = [pod("llm-0", gpus=2)]
    found = attribute([card(0, "llm-0"), card(1, "gone")], pods)
    assert told(found) == [("llm-0", Mark.SURE), ("llm-0", Mark.GUESSED)]
    assert found[0].doubts == ()
    assert found[1].doubts == (Doubt("pod_name", DoubtKind.NO_POD, "team-a/gone"),)


def test_a_card_that_nobody_was_charged_for_is_free_whatever_its_label_says() -> None:
    (found,) = attribute([card(0, "elsewhere")], [])
    assert (found.pod_name, found.mark) == ("", Mark.UNALLOCATED)
    assert found.doubts == (Doubt("pod_name", DoubtKind.NO_POD, "team-a/elsewhere"),)


def test_a_card_keeps_its_pod_when_its_label_begins_to_name_one_that_is_not_there() -> None:
    before = attribute([card(0, "llm-0"), card(1, "llm-1")], [pod("llm-0"), pod("llm-1")])
    found = attribute([card(0, "gone"), card(1, "llm-1")], [pod("llm-0"), pod("llm-1")], before)
    assert told(found) == [("llm-0", Mark.GUESSED), ("llm-1", Mark.SURE)]


def test_of_two_labels_the_one_whose_pod_is_there_is_sure() -> None:
    both = msgspec.structs.replace(card(0, "gone", mark=Mark.SHARED), also=("team-a/llm-0",))
    (found,) = attribute([both], [pod("llm-0")])
    assert (found.pod_name, found.mark, found.also) == ("llm-0", Mark.SURE, ())
    (found,) = attribute([both], [pod("llm-0"), pod("gone")])
    assert (found.pod_name, found.mark, found.also) == ("gone", Mark.SHARED, ("team-a/llm-0",))


def test_where_not_every_pod_is_seen_a_label_is_a_guess() -> None:
    assert told(attribute([card(0, "unseen")], [], sees_all_pods=False)) == [("unseen", Mark.GUESSED)]


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


def test_a_claim_proves_a_card_whatever_its_label_says() -> None:
    holder = pod("own", gpus=1)
    claimed = {card(0).uuid: (("team-a", "own"),)}
    assert told(attribute([card(0), card(1)], [holder], claimed=claimed)) == [
        ("own", Mark.SURE),
        ("", Mark.UNALLOCATED),
    ]
    other = pod("other", gpus=1)
    (found,) = attribute([card(0, "other")], [holder, other], claimed=claimed)
    assert (found.pod_name, found.mark) == ("own", Mark.SURE)
    assert found.doubts == (Doubt("pod_name", DoubtKind.CONTRADICTED, "team-a/other"),)


def test_a_claim_shared_by_pods_shares_its_card() -> None:
    pods = [pod("one", gpus=1), pod("two", gpus=0)]
    claimed = {card(0).uuid: (("team-a", "one"), ("team-a", "two"))}
    (found,) = attribute([card(0, "two")], pods, claimed=claimed)
    assert (found.pod_name, found.also, found.mark) == ("one", ("team-a/two",), Mark.SHARED)


def test_a_pod_with_gpus_by_claim_is_a_guess_on_a_card_that_no_claim_is_known_to_have() -> None:
    by_claim = msgspec.structs.replace(pod("own", gpus=1), gpus_claimed=1)
    assert told(attribute([card(0, "own")], [by_claim])) == [("own", Mark.GUESSED)]
    both = msgspec.structs.replace(pod("own", gpus=2), gpus_claimed=1)
    assert told(attribute([card(0, "own")], [both]))[0] == ("own", Mark.SURE)


def test_a_pod_whose_claims_are_not_known_may_hold_the_card_that_its_label_names() -> None:
    unknown = msgspec.structs.replace(pod("own", gpus=0), has_unknown_gpus=True)
    assert told(attribute([card(0, "own"), card(1)], [unknown])) == [
        ("own", Mark.GUESSED),
        ("", Mark.NOT_COLLECTED),  # it may hold this one, too: nobody can call it free
    ]


def test_a_pod_that_shares_a_claim_holds_the_card_that_its_label_names() -> None:
    sharing = msgspec.structs.replace(pod("own", gpus=0), gpus_shared=1)
    assert told(attribute([card(0, "own")], [sharing])) == [("own", Mark.GUESSED)]
