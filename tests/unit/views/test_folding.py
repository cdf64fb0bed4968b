"""What every table keeps: which columns at which width, cells that match columns, one clean line a cell."""

from itertools import pairwise
from typing import Any

import pytest
from cockpit_widgets.columns import place_columns
from cockpit_widgets.types import Column
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.model.event import Event
from cockpit.model.gpu import Gpu, Mark
from cockpit.model.job import Job
from cockpit.model.quantity import Absent
from cockpit.views import devices, events, gpus, job_page, jobs, nodes, pods, pools, queues
from cockpit.views.lazy_table import LazyTable, View
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import (
    NOW,
    card,
    cluster_queue,
    event,
    every_text,
    job,
    local_queue,
    node,
    pod,
    pool,
    says,
    store,
)

VIEWS: dict[str, View[Any]] = {
    "jobs": jobs.VIEW,
    "nodes": nodes.VIEW,
    "pods": pods.VIEW,
    "queues": queues.VIEW,
    "waiting": queues.WAITING_VIEW,
    "pools": pools.VIEW,
    "events": events.VIEW,
    "gpus": gpus.VIEW,
    "devices": devices.VIEW,
    "members": job_page.VIEW,
}

AT_80 = {
    "jobs": {"name", "state", "gpus", "why"},
    "nodes": {"name", "gpus", "bars", "state"},
    "pods": {"name", "phase", "gpus", "age"},
    "queues": {"name", "quota", "pending", "running", "state"},
    "waiting": {"position", "gang", "gpus", "why"},
    "pools": {"name", "now", "gpus", "idle"},
    "events": {"type", "age", "object", "message"},
    "gpus": {"node", "gpu", "duty", "memory", "holder", "mark"},
    "devices": {"gpu", "duty", "memory", "holder", "mark"},
    "members": {"rank", "node", "phase", "devices", "duty"},
}


def columns(name: str) -> tuple[Column, ...]:
    return tuple(one.column for one in VIEWS[name].fields)


def shown(name: str, width: int) -> set[str]:
    every = columns(name)
    return {every[place.index].id for place in place_columns(every, width)}


@pytest.mark.parametrize("name", VIEWS)
def test_at_80_columns_the_most_wanted_stay(name: str) -> None:
    assert AT_80[name] <= shown(name, 80)


@pytest.mark.parametrize("name", VIEWS)
def test_wider_never_shows_less_and_200_shows_nearly_all(name: str) -> None:
    widths = [shown(name, width) for width in (60, 80, 100, 120, 160, 200, 300)]
    for narrow, wide in pairwise(widths):
        assert narrow <= wide
    assert widths[-1] == {one.id for one in columns(name)}


@pytest.mark.parametrize("name", VIEWS)
def test_ids_are_words_for_the_filter_and_unique(name: str) -> None:
    ids = [one.column.id for one in (*VIEWS[name].fields, *VIEWS[name].hidden)]
    assert len(set(ids)) == len(ids)
    assert all(one.replace("_", "").isalnum() and one == one.lower() for one in ids)


def everything() -> dict[str, LazyTable[Any]]:
    """Every table, filled."""
    made = store(
        node(),
        node("gpu-2", None, gpus_expected=8, ready="False"),
        pod("w-0", gpus=2),
        pod("w-1", on="", phase="Pending"),
        card(0, "w-0"),
        card(1, "w-0", duty=Absent.STALE, mark=Mark.SHARED, xid=None),
        local_queue(),
        cluster_queue(),
        event("1"),
    )
    state = ViewState()
    return {
        "jobs": jobs.table(
            [job("a", gpus_allocated=2, pod_uids=("uid-w-0",)), job("b", "queued")],
            made,
            state,
            NOW,
            explain=says("b"),
        ),
        "nodes": nodes.table(made, state, NOW),
        "pods": pods.table(made, state, NOW),
        "events": events.table(made, state, NOW),
        "queues": queues.table(made, state, NOW),
        "pools": pools.table([pool("a"), pool("b", target=9)], state, NOW),
        "gpus": gpus.table(made, state, NOW),
        "members": job_page.members_table(made.records("pods").values(), made, state, NOW),
    }


def test_a_cell_for_every_column_and_each_is_one_clean_line() -> None:
    for source in everything().values():
        assert len(source) > 0
        for row in range(len(source)):
            assert len(source.cells(row)) == len(source.columns)
        assert all(text.isprintable() for text in every_text(source))


@pytest.mark.parametrize("name", everything())
def test_every_column_can_be_sorted_and_filtered_by_what_it_shows(name: str) -> None:
    source, view = everything()[name], VIEWS[name]
    rows = [source.row(place) for place in range(len(source))]
    for place, column in enumerate(source.columns):
        up = view.table(rows, ViewState(sort=column.id), NOW)
        down = view.table(rows, ViewState(sort=column.id, descending=True), NOW)
        assert {up.key(row) for row in range(len(up))} == {down.key(row) for row in range(len(down))}
        assert len(up) == len(rows)
        text = source.cells(0)[place].text
        one = view.by_id[column.id]
        value = one.value(rows[0], NOW) if one.value else text
        wanted = value if isinstance(value, str) else text
        if wanted and '"' not in wanted:
            kept = view.table(rows, ViewState(filter=f'{column.id}:"{wanted}"'), NOW)
            assert kept.problem == ""
            assert kept.find(source.key(0)) is not None


readings = st.sampled_from(list(Absent)) | st.floats(0, 1)
plain = st.text(st.characters(exclude_categories=("C", "Z")), max_size=12)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.builds(card, st.integers(0, 9), plain, duty=readings, xid=st.none() | st.integers(0, 200)),
        max_size=5,
    )
)
def test_any_card_is_drawn_in_clean_cells(known: list[Gpu]) -> None:
    made = devices.table([gpus.GpuRow(one) for one in known], ViewState(), NOW)
    assert all(text.isprintable() for text in every_text(made))


@settings(deadline=None, max_examples=100)
@given(
    st.builds(
        job,
        plain,
        plain,
        gpus_allocated=st.integers(0, 10**6),
        gpus_wanted=st.none() | st.integers(0, 10**6),
        started_seconds=st.none() | st.floats(0, 1e11),
        created_seconds=st.none() | st.floats(0, 1e11),
        position=st.none() | st.integers(0, 10**6),
    )
)
def test_any_job_is_drawn_in_clean_cells(one: Job) -> None:
    made = jobs.table([one], store(), ViewState(), NOW, explain=says("x"))
    assert all(text.isprintable() for text in every_text(made))
    assert all(pair.value.isprintable() for pair in job_page.facts(one, store(), NOW))


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.builds(event, plain, message=plain, reason=plain, last_seconds=st.none() | st.floats(0, 1e11))
    )
)
def test_folding_events_loses_no_count(found: list[Event]) -> None:
    assert sum(row.count for row in events.folded(found)) == sum(one.count for one in found)
