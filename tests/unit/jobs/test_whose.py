"""Whose a job or pod is by its labels, and filters by it."""

import pytest

from cockpit.jobs.whose import person_of, team_of
from cockpit.model.scheduling import Traits
from cockpit.views import jobs, pods
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW, job, pod, store


@pytest.mark.parametrize(
    ("labels", "team", "person"),
    [
        ((), "", ""),
        ((("team", "vision"), ("user", "ada")), "vision", "ada"),
        ((("team", ""), ("runai/project", "speech")), "speech", ""),
        ((("app.kubernetes.io/part-of", "llm"), ("team", "nlp")), "nlp", ""),
        ((("cockpit/team", "a"), ("cockpit/user", "b"), ("team", "c"), ("user", "d")), "a", "b"),
    ],
)
def test_labels_tell_the_team_and_the_person(
    labels: tuple[tuple[str, str], ...], team: str, person: str
) -> None:
    assert (team_of(labels), person_of(labels)) == (team, person)


@pytest.mark.parametrize(
    ("filter_", "names"),
    [("team:vision", ["sweep"]), ("team:team-a", ["llm"]), ("team:vision owner:ada", ["sweep"]),
     ("owner:bo", ["llm"]), ("!team:vision", ["llm"]), ("team=vis", [])],
)  # fmt: skip
def test_jobs_by_team_and_owner(filter_: str, names: list[str]) -> None:
    rows = [job("llm", owner="bo"), job("sweep", owner="ada", team="vision")]
    table = jobs.table(rows, store(), ViewState(filter=filter_), NOW, explain=lambda *_: None)  # type: ignore[arg-type]
    assert [table.row(at).job.name for at in range(len(table))] == names


@pytest.mark.parametrize(
    ("filter_", "names"),
    [("team:vision", ["b"]), ("team:team-a", ["a"]), ("user:ada", ["b"]), ("owner:MPIJob", ["b"])],
)
def test_pods_by_team_and_user(filter_: str, names: list[str]) -> None:
    labels = (("team", "vision"), ("user", "ada"))
    kept = store(pod("a"), pod("b", traits=Traits(labels=labels), owner_kind="MPIJob", owner_name="sweep"))
    table = pods.table(kept, ViewState(filter=filter_), NOW)
    assert [table.row(at).name for at in range(len(table))] == names


def test_a_team_that_no_label_tells_is_the_namespace_dimmed() -> None:
    table = jobs.table(
        [job("llm"), job("sweep", team="vision")], store(), ViewState(shown=("team",)), NOW,
        explain=lambda *_: None,  # type: ignore[arg-type]
    )  # fmt: skip
    at = [column.id for column in table.columns].index("team")
    assert {tuple(table.cells(row)[at]) for row in range(2)} == {("team-a", "dim"), ("vision", "")}
