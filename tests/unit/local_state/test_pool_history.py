"""What the history keeps of pools: growths, what was reclaimed, and how pools stood, bounded."""

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from cockpit.local_state import pool_history
from cockpit.local_state.history import VERSION, LocalHistory
from cockpit.model.remembered import Growth, PoolSample, Reclaim, SessionNotes

NOW = 1_790_000_000.0


def growth(pool: str = "NodePool/h100", asked: float = NOW, **more: object) -> Growth:
    told = {
        "machine_type": "p5.48xlarge",
        "nodes": 2,
        "stages": (("joined", 185.0), ("GPUs up", 540.0)),
        **more,
    }
    return Growth(pool_key=pool, asked_seconds=asked, **told)  # type: ignore[arg-type]


def test_growths_are_recalled_by_pool_the_newest_first(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    kept = LocalHistory(path)
    assert kept.growths("NodePool/h100") == ()
    early, late, other = growth(), growth(asked=NOW + 60), growth("NodePool/a100", NOW + 30)
    assert kept.put_growth(early) and kept.put_growth(late) and kept.put_growth(other)
    again = LocalHistory(path)
    assert again.growths("NodePool/h100") == (late, early)
    assert again.growths() == (late, other, early)
    assert late.seconds_to("GPUs up") == 540.0 and late.seconds_to("launched") is None
    assert again.put_growth(growth(stages=(("used", 600.0),)))
    assert again.growths("NodePool/h100")[1].stages == (("used", 600.0),), "told again it is replaced"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_reclaims_and_samples_are_recalled(tmp_path: Path) -> None:
    kept = LocalHistory(tmp_path / "h.sqlite")
    first, second = Reclaim("h100", "node a", NOW, 12.5), Reclaim("a100", "job team/b", NOW + 1)
    assert kept.put_reclaim(first) and kept.put_reclaim(second)
    assert kept.reclaims() == (second, first) and kept.reclaims("h100") == (first,)
    samples = [PoolSample("h100", NOW + 600.0 * turn, 2, 16, None, 8 + turn) for turn in range(3)]
    assert kept.put_pool_samples(samples) and kept.put_pool_samples(())
    assert kept.pool_samples("h100") == tuple(samples)
    assert kept.pool_samples("h100", NOW + 300) == tuple(samples[1:])
    assert kept.pool_samples("other") == ()


def test_what_was_kept_of_pools_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_history, "MOST_GROWTHS", 3)
    monkeypatch.setattr(pool_history, "MOST_RECLAIMS", 3)
    monkeypatch.setattr(pool_history, "MOST_SAMPLES", 4)
    kept = LocalHistory(tmp_path / "h.sqlite")
    for turn in range(6):
        kept.put_growth(growth(asked=NOW + turn))
        kept.put_reclaim(Reclaim("h100", "node", NOW + turn))
        kept.put_pool_samples([PoolSample("h100", NOW + 600.0 * turn, turn)])
    assert [one.asked_seconds - NOW for one in kept.growths()] == [5, 4, 3]
    assert [one.at_seconds - NOW for one in kept.reclaims()] == [5, 4, 3]
    assert [one.nodes for one in kept.pool_samples("h100")] == [2, 3, 4, 5]
    kept.put_pool_samples([PoolSample("h100", NOW + 2 * pool_history.SAMPLES_KEPT_SECONDS, 9)])
    assert [one.nodes for one in kept.pool_samples("h100")] == [9], "those of days ago go"


def test_one_sample_a_pool_and_slot(tmp_path: Path) -> None:
    kept = LocalHistory(tmp_path / "h.sqlite")
    at = NOW - NOW % pool_history.SAMPLE_SECONDS
    kept.put_pool_samples([PoolSample("h100", at, 1), PoolSample("h100", at + 30, 2), PoolSample("b", at, 7)])
    assert [one.nodes for one in kept.pool_samples("h100")] == [2]


def test_a_file_of_a_former_cockpit_gets_the_tables_and_keeps_its_version(tmp_path: Path) -> None:
    path = tmp_path / "h.sqlite"
    LocalHistory(path).record(SessionNotes(at_seconds=NOW, nodes=frozenset({"n"})))
    with closing(sqlite3.connect(path)) as file:
        before = {row[0] for row in file.execute("SELECT name FROM sqlite_master")}
    assert "growths" not in before
    kept = LocalHistory(path)
    assert kept.put_growth(growth())
    assert kept.recall(NOW).nodes == frozenset({"n"})
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone()[0] == VERSION


def test_a_full_file_lets_go_of_old_samples(tmp_path: Path) -> None:
    kept = LocalHistory(tmp_path / "h.sqlite", largest_bytes=64 * 4096)
    long = "p" * 500
    for turn in range(40):
        at = NOW + 600.0 * turn
        assert kept.put_pool_samples([PoolSample(f"{long}{place}", at, turn) for place in range(30)]), (
            kept.note
        )
    assert kept.path.stat().st_size <= 64 * 4096
    assert kept.pool_samples(f"{long}0")[-1].nodes == 39


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO growths VALUES ('a', 1, 'm', 1, 'no json')",
        "INSERT INTO growths VALUES ('a', 1, 'm', 1, '[[\"joined\", \"soon\"]]')",
        "INSERT INTO growths VALUES ('a', 'soon', 'm', 1, '[]')",
        "INSERT INTO growths VALUES (x'ff', 1, 'm', 1, '[]')",
    ],
)
def test_odd_rows_cost_a_sentence(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "h.sqlite"
    LocalHistory(path).growths()
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)
    kept = LocalHistory(path)
    assert kept.growths() == ()
    assert "is damaged: delete it" in kept.note


def test_names_are_cleaned_before_they_stay(tmp_path: Path) -> None:
    kept = LocalHistory(tmp_path / "h.sqlite")
    kept.put_growth(growth("\x1b[2Jh100", stages=(("\x1b]0;x\x07joined", 1.0),)))
    kept.put_reclaim(Reclaim("h100", "\x1b[31mnode", NOW))
    raw = kept.path.read_bytes()
    assert b"\x1b[" not in raw and b"\x1b]" not in raw
