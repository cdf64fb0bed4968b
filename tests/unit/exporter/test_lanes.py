"""Work with a deadline on threads that can be left behind."""

import threading
from collections.abc import Iterator

import pytest
from cockpit_exporter.lanes import Lanes, Overrun
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    made = Lanes()
    yield made
    made.close()


def test_a_piece_gives_its_value_or_its_exception(lanes: Lanes) -> None:
    assert lanes.run("a", lambda: 7, 30) == 7
    with pytest.raises(ZeroDivisionError):
        lanes.run("a", lambda: 1 // 0, 30)
    assert lanes.run("a", lambda: 8, 30) == 8


def test_pieces_share_a_thread_until_one_is_stuck(lanes: Lanes) -> None:
    first = lanes.run("a", threading.get_ident, 30)
    assert lanes.run("b", threading.get_ident, 30) == first
    gate = threading.Event()
    with pytest.raises(Overrun):
        lanes.run("c", gate.wait, 0.01)
    assert lanes.stuck() == 1
    assert lanes.run("a", threading.get_ident, 30) != first
    gate.set()


def test_a_stuck_piece_is_not_started_again_until_it_comes_back(lanes: Lanes) -> None:
    gate, started = threading.Event(), []

    def work() -> str:
        started.append(1)
        gate.wait()
        return "done"

    for _ in range(5):
        with pytest.raises(Overrun):
            lanes.run("a", work, 0.01)
    assert len(started) == 1
    gate.set()
    while lanes.stuck():
        pass
    assert lanes.run("a", work, 30) == "done"
    assert len(started) == 2


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12))
def test_there_are_never_more_threads_than_stuck_pieces_and_one(work: list[tuple[int, bool]]) -> None:
    lanes, gate = Lanes(), threading.Event()
    before = threading.active_count()
    stuck: set[int] = set()
    for key, hangs in work:
        if hangs or key in stuck:
            with pytest.raises(Overrun):
                lanes.run(key, gate.wait, 0.001)
            stuck.add(key)
        else:
            assert lanes.run(key, lambda: "value", 30) == "value"
        assert lanes.stuck() == len(stuck)
        assert threading.active_count() <= before + len(stuck) + 1
    gate.set()
    lanes.close()
    while threading.active_count() > before:
        pass
