"""Ranks of an MPIJob whose launcher works, too, as mpi-operator 0.6 and 0.8 label them."""

import pytest

from cockpit.commands.enter import member
from cockpit.jobs.members import short_name
from cockpit.model.pod import Pod
from cockpit.views.log_book import sources_of
from cockpit.views.log_filter import parse_ranks
from cockpit.views.pods import rank_text
from tests.unit.gangs.kueue.world import world


def members(generation: str) -> tuple[Pod, ...]:
    found = world(generation, "launcher_as_worker")
    return found.jobs.members(found.job("first").key)


def test_the_newer_operator_counts_from_the_launcher() -> None:
    pods = members("newer")
    assert [(one.role, one.rank) for one in pods] == [("launcher", 0), ("worker", 1), ("worker", 2)]
    assert [rank_text(one) for one in pods] == ["launcher 0", "rank 1", "rank 2"]
    assert [short_name(one) for one in pods] == ["launcher", "rank 1", "rank 2"]


def test_the_older_one_counts_workers_alone() -> None:
    pods = members("older")
    assert [(one.role, one.rank) for one in pods] == [("launcher", None), ("worker", 0), ("worker", 1)]
    assert [rank_text(one) for one in pods] == ["launcher", "worker 0", "worker 1"]
    assert [short_name(one) for one in pods] == ["launcher", "worker-0", "worker-1"]


@pytest.mark.parametrize(
    ("generation", "rank", "name"),
    [("newer", 0, "launcher"), ("newer", 1, "worker-0"), ("newer", 2, "worker-1"), ("older", 0, "worker-0")],
)
def test_a_rank_names_one_member_for_commands_and_logs(generation: str, rank: int, name: str) -> None:
    pods = members(generation)
    assert name in member(pods, rank, "mpijob x/first").name
    wanted = parse_ranks(str(rank))
    assert [name in one.pod for one in sources_of(pods) if wanted.holds(one)] == [True]
