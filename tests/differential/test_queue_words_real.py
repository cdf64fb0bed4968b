"""Real Kueue and ours say the same in every play; `queue_plays` tells what is compared and what is not.

Ours imitates the older Kueue: the bed of these has that one.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from tests.bed import sandbox
from tests.bed.api import Api
from tests.bed.binaries import OLDER
from tests.bed.fixtures import fresh
from tests.differential.ahead import Ahead, ahead, played
from tests.differential.queue_ground import Play
from tests.differential.queue_plays import PLAYS
from tests.differential.queue_sides import Ours, Theirs

pytestmark = [pytest.mark.real, pytest.mark.heavy]


@pytest.fixture(scope="module")
def plays(request: pytest.FixtureRequest) -> Iterator[Ahead[Play]]:
    """Real Kueue, Job controller and MPI operator; no nodes, so that every pod stays as it is made. Each play
    has its namespace, and queues, flavors and cohorts named after it."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    for bed in fresh({"kueue", "mpi"}, request, generation=OLDER):
        with ahead(request, partial(compare, bed.api())) as begun:
            yield begun


def compare(api: Api, play: Play, space: str) -> None:
    ours = played(lambda: Ours(space), play)
    theirs = Theirs(api, space, ours)
    play(theirs)
    theirs.check_events()


@pytest.mark.parametrize("play", PLAYS, ids=[play.__name__ for play in PLAYS])
def test_both_say_the_same(plays: Ahead[Play], play: Play) -> None:
    plays.end(play)
