"""The steps of the tour on what is seen: what ends each, what is told beside the way, what leads back."""

import pytest

from cockpit.model.job import Job
from cockpit.services.tour import CHECKS, FORM, Sight, Tour, load_steps

FULL = {"name": "mine", "image": "t:1", "gpu-model": "Tesla-T4", "workers": "6", "gpus": "1"}


def job(ready: int, state: str = "pending") -> Job:
    return Job(
        key="k", uid="u", api_version="v1", kind="MPIJob", namespace="d", name="mine", state=state,
        ready=ready, wanted=6, gpus_allocated=ready, gpus_wanted=6,
    )  # fmt: skip


WAITS = Sight("job", {}, job(1), has_made=True, nodes=4)
WAY = (
    ("jobs", Sight("now", nodes=4)),
    ("new", Sight("jobs", nodes=4)),
    ("what", Sight(FORM, {"name": "mine"}, nodes=4)),
    ("where", Sight(FORM, {"name": "mine", "image": "t:1", "workers": "2", "gpus": "1"}, nodes=4)),
    ("many", Sight(FORM, FULL | {"workers": "5"}, nodes=4)),
    ("submit", Sight(FORM, FULL, nodes=4)),
    ("why", WAITS),
    ("offer", WAITS._replace(page="why")),
    ("start", WAITS._replace(nodes=9)),
    ("kill", WAITS._replace(job=job(6, "running"), nodes=9)),
    ("end", WAITS._replace(job=None, nodes=9)),
)


def after(*sights: Sight) -> tuple[Tour, str]:
    tour, says = Tour(load_steps()), ""
    for sight in sights:
        says = tour.look(sight)
    return tour, says


def test_every_step_is_reached_by_what_it_asks_for() -> None:
    tour = Tour(load_steps())
    assert [step.id for step in load_steps()] == [name for name, _ in WAY]
    for name, sight in WAY:
        assert tour.look(sight) == tour.step.says and tour.step.id == name


@pytest.mark.parametrize("end", range(1, len(WAY)))
def test_nothing_but_that_goes_on(end: int) -> None:
    """The same sight again, or any one before it, leads to no later step."""
    tour, _ = after(*(sight for _, sight in WAY[:end]))
    for _, sight in WAY[:end]:
        tour.look(sight)
    assert [step.id for step in load_steps()].index(tour.step.id) <= end


def test_every_check_that_a_step_names_is_there() -> None:
    named = {name for step in load_steps() for name in (*step.until, *step.astray, *step.back)}
    assert named <= set(CHECKS) and named == set(CHECKS)


def test_whoever_knows_the_way_leaves_steps_out() -> None:
    tour, _ = after(WAY[0][1], WAITS._replace(page="why"))
    assert tour.step.id == "offer"


@pytest.mark.parametrize(
    ("way", "sight", "said"),
    [
        (3, Sight("jobs", nodes=4), "draft is kept"),
        (5, Sight(FORM, FULL | {"gpu-model": ""}, nodes=4), "the GPU model is Tesla-T4"),
        (6, Sight(FORM, FULL | {"workers": "2"}, nodes=4), "at least 6 workers"),
        (7, WAITS._replace(job=job(6, "running")), "nothing holds it"),
        (8, WAITS, "leads back to its offers"),
        (9, WAITS._replace(nodes=9, nodes_ready=9), "Another job took one of the nodes"),
    ],
)
def test_a_wrong_way_is_met_with_help(way: int, sight: Sight, said: str) -> None:
    tour, says = after(*(seen for _, seen in WAY[:way]), sight)
    assert said in says and tour.step.id == WAY[way - 1][0]


@pytest.mark.parametrize("way", [7, 8, 9])
def test_a_job_that_is_gone_too_early_leads_back_to_the_form(way: int) -> None:
    tour, _ = after(*(seen for _, seen in WAY[:way]), WAITS._replace(job=None))
    assert tour.step.id == "jobs"
    for name, sight in WAY:
        tour.look(sight._replace(has_made=True))
        assert tour.step.id == name


def test_nodes_that_are_listed_late_are_no_growth() -> None:
    tour, _ = after(Sight("now"), *(seen for _, seen in WAY[1:8]))
    assert tour.step.id == "offer"


def test_a_number_that_is_none_counts_nothing() -> None:
    sight = Sight(FORM, FULL | {"workers": "x"})
    assert not CHECKS["many"](sight) and not CHECKS["few"](sight)
