"""Which card of a node is lost: told by silence, or by the index that no sample has."""

import pytest

from cockpit.model.finding import Subject
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from cockpit.views import cards as card_view
from tests.unit.jobs.builders import Cluster
from tests.unit.triage.test_attention import NOW, add_nodes, card, cards, gpu_node


def said(allocatable: int, *indexes: int) -> str:
    cluster = Cluster()
    add_nodes(cluster, gpu_node(gpu_allocatable=allocatable))
    cards(cluster, *(card(index) for index in indexes))
    view = ClusterView(store=cluster.store, jobs=cluster.index, now_seconds=NOW)
    return explain(Subject("node", "", "gpu-7"), view).sentence


@pytest.mark.parametrize(
    ("allocatable", "indexes", "sentence"),
    [
        (7, (0, 1, 2, 3, 4, 6, 7), "1 of 8 GPUs is unhealthy: GPU 5"),
        (6, (0, 2, 3, 4, 6, 7), "2 of 8 GPUs are unhealthy: GPUs 1, 5"),
        (7, (0, 1, 2, 3, 4, 6), "1 of 8 GPUs is unhealthy"),  # two have no samples: which one is lost?
        (7, (), "1 of 8 GPUs is unhealthy"),
        (7, (0, 1, 2, 3, 4, 6, 9), "1 of 8 GPUs is unhealthy"),  # indexes that do not fit the node
    ],
)
def test_a_lost_card_is_named_where_the_others_tell_it(
    allocatable: int, indexes: tuple[int, ...], sentence: str
) -> None:
    assert said(allocatable, *indexes) == sentence


def test_a_node_with_a_lost_card_is_not_called_ok() -> None:
    sound = [card(index, xid=0) for index in range(7)]
    assert card_view.health_cell(sound) == ("ok", "good")
    assert card_view.health_cell(sound, 1) == ("× 1 lost", "bad")
    assert card_view.health_cell([card(0, xid=79)], 1) == ("× Xid 79", "bad")
