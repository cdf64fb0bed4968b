"""Fit and the real kube-scheduler on the same random clusters: what fits binds whole, what misses never does.

Everything the cluster holds goes through the cockpit's own decoders into a store; the fit answers from there
before the gang is created. Gangs of unlike members, and those of which the fit says that it depends on the
order, are counted apart: there a greedy scheduler may go either way. `GPU_COCKPIT_FIT_CASES` sets how many
cases are played (60; 300 in `make test-all`), `GPU_COCKPIT_FIT_SEED` which.
"""

import os
from collections.abc import Iterator

import pytest

from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.differential.fit_cases import fit_case
from tests.differential.fit_play import FLAGS, SEED, play

pytestmark = pytest.mark.real

CASES = int(os.environ.get("GPU_COCKPIT_FIT_CASES", "60"))
UNLIKE_SHARE = 6
"""One more case with unlike members for so many with like ones."""
AGREEMENT = 0.99


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Bed({"scheduler"}, namespace=False, apiserver_flags=FLAGS) as bed:
        yield bed.api()


def test_what_fits_binds_and_what_misses_never_does(api: Api) -> None:
    like = [fit_case(number, SEED) for number in range(CASES)]
    unlike = [fit_case(CASES + number, SEED, unlike=True) for number in range(CASES // UNLIKE_SHARE)]
    outcomes = play(api, like + unlike)
    alike, apart = outcomes[:CASES], outcomes[CASES:]
    sure = [one for one in alike if one.answer.is_sure]
    wrong = [one for one in sure if not one.agrees]
    counted = sum(min(one.answer.largest, one.wanted) == one.bound for one in sure)
    print(
        f"{len(alike)} gangs of like members, {sum(one.answer.fits for one in alike)} said to fit, "
        f"{len(alike) - len(sure)} said to depend on the order: "
        f"{len(sure) - len(wrong)} of {len(sure)} agree, the number of members bound is as said in {counted}"
    )
    for one in alike:
        if not one.answer.is_sure:
            print(f"depends on the order, {one.bound} of {one.wanted} bound: case {one.case.number}")
    for one in wrong:
        print(f"DISAGREES: {one.line()}")
    agreeing = sum(one.agrees for one in apart)
    print(f"{len(apart)} gangs of unlike members: {agreeing} agree")
    for one in apart:
        if not one.agrees:
            print(f"unlike, disagrees: {one.line()}")
    assert len(sure) >= 0.95 * len(alike)
    assert len(sure) - len(wrong) >= AGREEMENT * len(sure), [one.line() for one in wrong]
    fitting = sum(one.answer.fits for one in sure)
    assert 0.15 * len(sure) < fitting < 0.85 * len(sure), (
        "the cases would not tell a fit that always says one"
    )
