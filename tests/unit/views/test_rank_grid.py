"""A cell for each rank, and which of them are odd."""

from typing import Any

from cockpit_widgets.types import GridCell
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.pod import Pod
from cockpit.store.store import Store
from cockpit.views import job_page, rank_grid
from cockpit.views.job_grid import LAGS_RATIO
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW, card, node, pod, store

COUNT = 8


Changes = dict[int, dict[str, Any]]


def job(duties: dict[int, float] | None = None, of: Changes | None = None) -> tuple[list[Pod], Store]:
    """Eight ranks with a card each, four a node; `of` changes a rank's pod, `duties` its card's duty."""
    records: list[Any] = [node("n0", gpus=8), node("n1", gpus=8)]
    names = [f"w-{rank}" for rank in range(COUNT)]
    for rank, name in enumerate(names):
        fields: dict[str, Any] = {"rank": rank, "role": "worker", "on": f"n{rank // 4}", "is_ready": True}
        made = pod(name, **{**fields, **(of or {}).get(rank, {})})
        records.append(made)
        if made.phase == "Running":
            on = made.node
            records.append(card(rank % 4, name, duty=(duties or {}).get(rank, 0.9), on=on))
    kept = store(*records)
    members = [kept.by_key("pods", f"team-a/{name}") for name in names]
    return [one for one in members if isinstance(one, Pod)], kept


def cells(found: rank_grid.RankGrid) -> list[GridCell]:
    return [cell for group in found.groups for cell in group]


def test_ranks_that_are_alike_are_shades_and_nothing_is_said() -> None:
    found = rank_grid.grid(*job())
    assert {(cell.level, cell.glyph) for cell in cells(found)} == {(8, "")}
    assert [cell.label for cell in cells(found)] == [str(rank) for rank in range(COUNT)]
    assert (found.sentence, found.odd) == ("", {})


def test_the_slowest_is_marked_and_named_with_the_median() -> None:
    found = rank_grid.grid(*job({3: 0.31, 5: 0.5}))
    assert [cell.glyph for cell in cells(found)] == ["", "", "", "▼", "", "▼", "", ""]
    assert found.sentence == "rank 3 duty 31%, median 90% (and 1 more)"


def test_each_way_to_be_odd_has_its_words() -> None:
    found = rank_grid.grid(
        *job(
            of={
                0: {"restarts": 3},
                1: {"phase": "Pending", "on": "", "is_ready": False},
                2: {"phase": "Failed", "exit_code": 137, "terminated_reason": "OOMKilled"},
            }
        )
    )
    assert [cell.glyph for cell in cells(found)][:3] == ["↻", "▲", "×"]
    assert found.sentence == "rank 2 failed: out of memory (and 1 more) · rank 0 restarted 3 times"
    assert found.caption == "shade: duty  ▲ waiting for a node  × failed  ↻ restarted"


def test_the_legend_tells_the_glyphs_that_stand_there_and_no_others() -> None:
    assert rank_grid.grid(*job()).caption == "shade: duty"
    assert rank_grid.grid(*job({3: 0.31})).caption == "shade: duty  ▼ lags"
    stuck: dict[str, Any] = {"phase": "Pending", "is_ready": False}
    reasons = ("ErrImagePull", "CreateContainerError", "InvalidImageName")
    found = rank_grid.grid(*job(of={n: {**stuck, "waiting_reason": why} for n, why in enumerate(reasons)}))
    assert found.caption == "shade: duty  × cannot pull its image, container cannot be created and others"
    members, _ = job()
    assert rank_grid.grid(members, store(*members)).caption == "? n/c", "nobody measures them"
    assert rank_grid.grid((), store()).caption == ""


def test_who_was_restarted_as_often_as_all_is_not_odd() -> None:
    everyone: Changes = {rank: {"restarts": 2} for rank in range(COUNT)}
    assert rank_grid.grid(*job(of=everyone)).sentence == ""
    found = rank_grid.grid(*job(of={**everyone, 4: {"restarts": 3}}))
    assert found.sentence == "rank 4 restarted 3 times"


def test_another_card_and_a_node_for_itself() -> None:
    members, _ = job(of={7: {"on": "n9"}})
    nodes = [node(name, gpus=8, gpu_model="NVIDIA-H100-80GB-HBM3") for name in ("n0", "n1")]
    found = rank_grid.grid(members, store(*nodes, node("n9", gpus=8, gpu_model="NVIDIA-L40S"), *members))
    assert cells(found)[7].glyph == rank_grid.CARD
    assert found.sentence == (
        "rank 7 on L40S, most on H100-80GB-HBM3 · rank 7 alone on n9, most nodes hold 4"
    )
    pairs: Changes = {rank: {"on": f"n{rank // 2}"} for rank in range(COUNT)}
    members, _ = job(of={**pairs, 7: {"on": "n9"}, 6: {"on": "n0"}})
    found = rank_grid.grid(members, store(*nodes, *members))
    assert cells(found)[7].glyph == rank_grid.APART
    assert found.sentence == "rank 7 alone on n9, most nodes hold 2"


def test_a_launcher_has_a_row_of_its_own_and_is_no_odd_rank() -> None:
    members, kept = job()
    launcher = pod("l", gpus=0, role="launcher", on="n0", is_ready=True)
    found = rank_grid.grid([launcher, *members], kept)
    lead, ranks = found.groups
    assert (lead[0].label, lead[0].glyph, len(ranks)) == ("lead", "●", COUNT)
    assert found.sentence == ""
    failed = pod("l", gpus=0, role="launcher", phase="Failed", exit_code=1)
    assert rank_grid.grid([failed, *members], kept).sentence == "launcher failed: exit code 1"


def test_a_filter_leaves_cells_out_and_the_sentence_whole() -> None:
    members, kept = job({3: 0.31})
    found = rank_grid.grid(members, kept, {members[0].uid})
    assert [cell.key for cell in cells(found)] == [members[0].uid]
    assert found.sentence.startswith("rank 3 duty 31%")


def test_the_line_of_a_rank_says_what_the_table_says() -> None:
    members, kept = job({3: 0.31})
    table = job_page.members_table(members, kept, ViewState(), NOW)
    found = rank_grid.grid(members, kept)
    line = rank_grid.line_of(table, members[3].uid, found.odd[members[3].uid])
    assert line.startswith("worker 3 · w-3 · n0 · ● running · GPUs 1")
    assert "Duty 31%" in line and line.endswith("duty 31%, median 90%")
    assert rank_grid.line_of(table, "nobody") == ""


RANKS = st.lists(
    st.tuples(
        st.sampled_from(["Running", "Pending", "Failed", "Succeeded", "Unknown", ""]),
        st.floats(0.0, 1.0),
        st.integers(0, 4),
        st.sampled_from(["n0", "n1", "gone", ""]),
        st.sampled_from(["worker", "launcher", "", "\x1b[31m"]),
        st.none() | st.integers(0, 5000),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(RANKS)
def test_every_member_is_one_cell_and_who_is_named_is_marked(ranks: list[Any]) -> None:
    records: list[Any] = [node("n0", gpus=64), node("n1", gpus=64)]
    members = []
    for at, (phase, duty, restarts, on, role, rank) in enumerate(ranks):
        made = pod(f"p-{at}", phase=phase, restarts=restarts, on=on, role=role, rank=rank)
        members.append(made)
        records += [made, card(at, f"p-{at}", duty=duty, on=on or "n0")]
    found = rank_grid.grid(members, store(*records))
    keys = [cell.key for cell in cells(found)]
    assert sorted(keys) == sorted(pod.uid for pod in members) and len(set(keys)) == len(keys)
    for cell in cells(found):
        if cell.key in found.odd:
            assert cell.level is None and cell.glyph == found.odd[cell.key].glyph
        assert cell.level is not None or len(cell.glyph) == 1
    assert bool(found.sentence) == bool(found.odd)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(0.0, 1.0), min_size=COUNT, max_size=COUNT))
def test_the_named_laggard_is_the_slowest_that_lags(duties: list[float]) -> None:
    found = rank_grid.grid(*job(dict(enumerate(duties))))
    low = [rank for rank, cell in enumerate(cells(found)) if cell.glyph == rank_grid.LAGS]
    ordered = sorted(duties)
    usual = (ordered[3] + ordered[4]) / 2
    assert low == [rank for rank, duty in enumerate(duties) if duty < LAGS_RATIO * usual]
    if low:
        named = int(found.sentence.split()[1])
        assert duties[named] == min(duties)
