"""Real Kueue and ours say the same in every play; `queue_plays` tells what is compared and what is not."""

from collections.abc import Iterator

import pytest

from tests.bed import sandbox
from tests.bed.api import Api
from tests.bed.fixtures import fresh
from tests.differential.queue_ground import Play
from tests.differential.queue_plays import PLAYS
from tests.differential.queue_sides import Ours, Theirs

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """Real Kueue, Job controller and MPI operator; no nodes, so that every pod stays as it is made."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    for bed in fresh({"kueue", "mpi"}, request):
        yield bed.api()


@pytest.mark.parametrize("play", PLAYS, ids=[play.__name__ for play in PLAYS])
def test_both_say_the_same(api: Api, play: Play) -> None:
    space = play.__name__.replace("_", "-")
    ours = Ours(space)
    try:
        play(ours)
        told = ours.events()
    finally:
        ours.close()
    assert ours.sights, "a play looks at least once"
    theirs = Theirs(api, space, ours.sights)
    play(theirs)
    assert told == theirs.events()
