"""The real node lifecycle, taint eviction and DaemonSet controllers and ours come to show the same.

Each play has a control plane without a scheduler of its own: nodes belong to no namespace.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.bed.fixtures import fresh
from tests.differential.ahead import Ahead, ahead, played
from tests.differential.controller_ground import Play
from tests.differential.controller_sides import Ours, Theirs
from tests.differential.node_plays import PLAYS

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def plays(request: pytest.FixtureRequest) -> Iterator[Ahead[Play]]:
    with ahead(request, partial(compare, request)) as begun:
        yield begun


def compare(request: pytest.FixtureRequest, play: Play, space: str) -> None:
    ours = played(lambda: Ours(space, settle_seconds=2.0), play)
    for bed in fresh({"kcm"}, request, namespace=False):
        theirs = Theirs(bed.api(), space, ours)
        play(theirs)
        theirs.check_events()


@pytest.mark.parametrize("play", PLAYS, ids=[play.__name__ for play in PLAYS])
def test_both_show_the_same(plays: Ahead[Play], play: Play) -> None:
    plays.end(play)
