"""The recorded answers about Kubernetes' own rules are still what the real API server and scheduler say."""

from collections.abc import Iterator

import pytest

from tests.bed.bed import Bed
from tests.differential.rule_plays import FLAGS, PLAYS
from tests.unit.k8s.recorded_cases import recorded

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Bed({"scheduler"}, namespace=False, apiserver_flags=FLAGS) as bed:
        yield bed


@pytest.mark.parametrize("name", PLAYS)
def test_recorded_answers_are_those_of_the_real_one(bed: Bed, name: str) -> None:
    asked = recorded(name)
    answers = PLAYS[name](bed, asked)
    told = zip(asked["cases"], answers, strict=True)
    assert [(case, answer) for case, answer in told if case["answer"] != answer] == []
