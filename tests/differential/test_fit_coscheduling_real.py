"""Fit and the real coscheduling scheduler: a group that fits binds whole, one that misses binds nothing.

Clusters and gangs as in `test_fit_real.py`; each gang is a PodGroup whose minMember is all of it, placed by
scheduler-plugins. What was refused is touched once, as *retry now* does, before the end is believed. Played
where that scheduler is in the cache; `GPU_COCKPIT_FIT_CASES` sets how many (24; 300 in `make test-all`).
"""

import os
from collections.abc import Iterator

import pytest

from cockpit.gangs.coscheduling import ANNOTATION, API_VERSION, LABEL
from tests.bed import builder, engines
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.differential.fit_cases import FitCase, Tree, fit_case
from tests.differential.fit_play import FLAGS, SEED, play

pytestmark = pytest.mark.real

CASES = int(os.environ.get("GPU_COCKPIT_FIT_CASES", "24"))
FIRST = 10_000
"""Cases of their own, not those that the plain scheduler judges."""
AGREEMENT = 0.99
GROUP = "gang"


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    if builder.cached("sp-scheduler") is None:
        pytest.skip(engines.NOT_BUILT.format("scheduler-plugins"))
    # No controllers: without kubelets they would mark every node of the cases as lost.
    with Bed({"coscheduling"}, namespace=False, apiserver_flags=FLAGS) as bed:
        yield bed.api()


def _groups(case: FitCase) -> str:
    return f"/apis/{API_VERSION}/namespaces/{case.namespace}/podgroups"


def _grouped(case: FitCase) -> list[Tree]:
    """The gang's pods in one group, for the second scheduler."""
    pods = case.gang()
    for pod in pods:
        labels = {**pod["metadata"].get("labels", {}), LABEL: GROUP}
        pod["metadata"] = {**pod["metadata"], "labels": labels}
        pod["spec"] = {**pod["spec"], "schedulerName": engines.COSCHEDULING_SCHEDULER}
    return pods


def _retry(api: Api, cases: list[FitCase]) -> None:
    for case in cases:
        api.merge(f"{_groups(case)}/{GROUP}", {"metadata": {"annotations": {ANNOTATION: "again"}}})


def _prepare_groups(api: Api, cases: list[FitCase]) -> None:
    for case in cases:
        spec = {"minMember": sum(count for count, _ in case.templates), "scheduleTimeoutSeconds": 30}
        tree = {"apiVersion": API_VERSION, "kind": "PodGroup", "metadata": {"name": GROUP}, "spec": spec}
        api.create(_groups(case), tree)


def test_a_group_that_fits_binds_whole_and_one_that_misses_binds_nothing(api: Api) -> None:
    cases = [fit_case(FIRST + number, SEED) for number in range(CASES)]
    outcomes = play(api, cases, _grouped, before=_prepare_groups, then=_retry)
    halves = [one.line() for one in outcomes if one.bound not in (0, one.wanted)]
    sure = [one for one in outcomes if one.answer.is_sure]
    wrong = [one for one in sure if not one.agrees]
    print(
        f"{len(outcomes)} groups, {sum(one.answer.fits for one in outcomes)} said to fit, "
        f"{len(outcomes) - len(sure)} said to depend on the order: "
        f"{len(sure) - len(wrong)} of {len(sure)} agree"
    )
    for one in wrong:
        print(f"DISAGREES: {one.line()}")
    for line in halves:
        print(f"HALF BOUND: {line}")
    assert not halves, halves
    assert len(sure) >= 0.9 * len(outcomes)
    assert len(sure) - len(wrong) >= AGREEMENT * len(sure), [one.line() for one in wrong]
    fitting = sum(one.answer.fits for one in sure)
    assert 0.1 * len(sure) < fitting < 0.9 * len(sure), "the cases would not tell a fit that always says one"
