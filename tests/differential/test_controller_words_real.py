"""The real controllers of Jobs, Deployments, StatefulSets, budgets and claims and ours show the same.

`controller_plays` tells what is compared and what is not modelled.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.bed.api import Api
from tests.bed.fixtures import fresh
from tests.differential.ahead import Ahead, ahead, played
from tests.differential.controller_ground import Play
from tests.differential.controller_plays import PLAYS
from tests.differential.controller_sides import Ours, Theirs
from tests.differential.stateful_plays import STATEFUL_PLAYS

pytestmark = [pytest.mark.real, pytest.mark.heavy]


@pytest.fixture(scope="module")
def plays(request: pytest.FixtureRequest) -> Iterator[Ahead[Play]]:
    """kube-controller-manager; no nodes, so that every pod stays as it is made."""
    for bed in fresh({"kcm"}, request, namespace=False):
        with ahead(request, partial(compare, bed.api())) as begun:
            yield begun


def compare(api: Api, play: Play, space: str) -> None:
    ours = played(lambda: Ours(space), play)
    theirs = Theirs(api, space, ours)
    play(theirs)
    theirs.check_events()


_ALL = (*PLAYS, *STATEFUL_PLAYS)


@pytest.mark.parametrize("play", _ALL, ids=[play.__name__ for play in _ALL])
def test_both_show_the_same(plays: Ahead[Play], play: Play) -> None:
    plays.end(play)
