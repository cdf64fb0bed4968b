"""The local history: what it remembers, and that no file, however odd, costs more than a sentence."""

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.local_state import history
from cockpit.local_state.history import ALIVE_SECONDS, KEPT_SECONDS, LocalHistory, history_path
from cockpit.model.remembered import (
    Acknowledgement,
    LoadSample,
    PastRun,
    Remembered,
    SeenProblem,
    SessionNotes,
)

NOW = 1_790_000_000.0
HOUR = 3_600.0


def problem(
    name: str = "a", finding: str = "job-waits", *, first: float = NOW, **more: object
) -> SeenProblem:
    told = {"last_seconds": first, "subject": f"team/{name}", "sentence": "waits", **more}
    return SeenProblem(subject_key=name, finding=finding, first_seconds=first, **told)  # type: ignore[arg-type]


def test_what_was_recorded_is_recalled_by_the_next_session(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.sqlite"
    seen = problem(first=NOW - HOUR, last_seconds=NOW)
    known = Acknowledgement(
        subject_key="a",
        finding="job-waits",
        made_seconds=NOW,
        note="vendor comes",
        who="ada",
        gpus=8,
        cause="selector",
    )
    sample = LoadSample(NOW, 16, 8, None, 3)
    run = PastRun("team/sweep/8", 2, 8, NOW - HOUR, NOW - HOUR / 2, HOUR / 4, "u-7")
    first = LocalHistory(path)
    assert first.recall(NOW) == Remembered()
    assert first.record(
        SessionNotes(
            at_seconds=NOW,
            problems=(seen,),
            acknowledged=(known,),
            nodes=frozenset({"n1", "n2"}),
            samples=(sample,),
            runs=(run,),
        )
    )
    assert LocalHistory(path).recall(NOW + HOUR) == Remembered(
        left_seconds=NOW,
        problems=(seen,),
        acknowledgements=(known,),
        nodes=frozenset({"n1", "n2"}),
        samples=(sample,),
        runs=(run,),
    )
    assert first.note == ""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_history_of_the_first_version_goes_on_with_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    LocalHistory(path).record(SessionNotes(at_seconds=NOW, nodes=frozenset({"n1"})))
    with closing(sqlite3.connect(path)) as file:
        file.execute("DROP TABLE runs")
        file.execute("PRAGMA user_version = 1")
    again = LocalHistory(path)
    assert again.recall(NOW).nodes == frozenset({"n1"}) and again.note == ""
    run = PastRun("team/sweep/8", 2, 8, NOW - HOUR, NOW - HOUR / 2, HOUR / 4, "u-7")
    assert again.record(SessionNotes(at_seconds=NOW, runs=(run, run)))
    assert LocalHistory(path).recall(NOW).runs == (run,)
    LocalHistory(path).record(SessionNotes(at_seconds=NOW + KEPT_SECONDS))
    assert LocalHistory(path).recall(NOW).runs == (), "runs that are too old go"


def test_nobody_has_left_while_another_session_is_alive(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    here, there = LocalHistory(path), LocalHistory(path)
    here.record(SessionNotes(at_seconds=NOW))
    assert there.recall(NOW + ALIVE_SECONDS).left_seconds is None
    assert there.recall(NOW + ALIVE_SECONDS + 1).left_seconds == NOW
    there.record(SessionNotes(at_seconds=NOW + HOUR))
    assert there.recall(NOW + 2 * HOUR).left_seconds == NOW, "its own session is none that has left"


def test_a_problem_keeps_its_first_time_until_it_was_resolved(tmp_path: Path) -> None:
    file = LocalHistory(tmp_path / "one.sqlite")
    file.record(SessionNotes(at_seconds=NOW, problems=(problem(first=NOW),)))
    file.record(SessionNotes(at_seconds=NOW, problems=(problem(first=NOW + 50, last_seconds=NOW + 60),)))
    (one,) = file.recall(NOW + HOUR).problems
    assert (one.first_seconds, one.last_seconds) == (NOW, NOW + 60)
    resolved = problem(first=NOW, last_seconds=NOW + 60, resolved_seconds=NOW + 90)
    file.record(SessionNotes(at_seconds=NOW, problems=(resolved,)))
    file.record(SessionNotes(at_seconds=NOW, problems=(problem(first=NOW + 500, last_seconds=NOW + 500),)))
    (one,) = file.recall(NOW + HOUR).problems
    assert (one.first_seconds, one.resolved_seconds) == (NOW + 500, None)


def test_an_acknowledgement_is_taken_back_replaced_and_ends(tmp_path: Path) -> None:
    file = LocalHistory(tmp_path / "one.sqlite")

    def known(note: str, until: float | None = None) -> Acknowledgement:
        return Acknowledgement(
            subject_key="a", finding="x", made_seconds=NOW, until_seconds=until, note=note, who="ada"
        )

    file.record(SessionNotes(at_seconds=NOW, acknowledged=(known("one"),)))
    file.record(SessionNotes(at_seconds=NOW, acknowledged=(known("two", NOW + HOUR),)))
    assert [one.note for one in file.recall(NOW).acknowledgements] == ["two"]
    file.record(SessionNotes(at_seconds=NOW + 2 * HOUR))
    assert file.recall(NOW).acknowledgements == ()
    file.record(SessionNotes(at_seconds=NOW, acknowledged=(known("three"),)))
    file.record(SessionNotes(at_seconds=NOW, taken_back=(("a", "x"),)))
    assert file.recall(NOW).acknowledgements == ()


def test_rows_are_bounded_and_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(history.MOST_ROWS, "problems", 10)
    file = LocalHistory(tmp_path / "one.sqlite")
    many = tuple(problem(str(place), first=NOW + place) for place in range(25))
    file.record(SessionNotes(at_seconds=NOW, problems=many))
    kept = [one.subject_key for one in file.recall(NOW + HOUR).problems]
    assert kept == [str(place) for place in range(15, 25)]
    file.record(SessionNotes(at_seconds=NOW + 2 * KEPT_SECONDS))
    assert file.recall(NOW + 2 * KEPT_SECONDS).problems == ()


def test_a_file_at_its_bound_of_bytes_lets_go_of_the_older_half(tmp_path: Path) -> None:
    largest = 64 * 4096
    file = LocalHistory(tmp_path / "one.sqlite", largest_bytes=largest)
    long = "x" * 400
    for turn in range(12):
        many = tuple(
            problem(f"{turn:02}-{place:03}-{long}", first=NOW + turn, last_seconds=NOW + turn)
            for place in range(60)
        )
        assert file.record(SessionNotes(at_seconds=NOW, problems=many)), file.note
    assert file.path.stat().st_size <= largest
    kept = {one.subject_key.split("-")[0] for one in file.recall(NOW + HOUR).problems}
    assert "11" in kept and "00" not in kept


def test_a_full_disk_costs_a_sentence_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = LocalHistory(tmp_path / "one.sqlite")
    file.record(SessionNotes(at_seconds=NOW))
    real = history._put

    def full(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(history, "_put", full)
    assert not file.record(SessionNotes(at_seconds=NOW, problems=(problem(),)))
    assert "free disk space" in file.note
    monkeypatch.setattr(history, "_put", real)
    assert file.record(SessionNotes(at_seconds=NOW, problems=(problem(),)))
    assert file.note == ""


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database, certainly" * 500)


def cut_off(path: Path) -> None:
    LocalHistory(path).record(SessionNotes(at_seconds=NOW, problems=(problem(),)))
    path.write_bytes(path.read_bytes()[:5000])


def other_version(path: Path) -> None:
    LocalHistory(path).record(SessionNotes(at_seconds=NOW))
    with closing(sqlite3.connect(path)) as file:
        file.execute("PRAGMA user_version = 99")


def of_another_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE sessions (id INTEGER)")


def of_odd_values(path: Path) -> None:
    LocalHistory(path).record(SessionNotes(at_seconds=NOW))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO problems VALUES (x'ff', 'b', 'soon', 1, 1, 'c', 'd')")


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    (path.parent / "target").write_text("precious")
    path.symlink_to(path.parent / "target")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * history.LARGEST_BYTES)


BROKEN = (garbage, cut_off, other_version, of_another_program, of_odd_values, folder, link, pipe, huge)


@pytest.mark.parametrize("make", BROKEN, ids=lambda one: one.__name__)
def test_an_odd_file_costs_one_sentence_and_the_feature(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    make(path)
    file = LocalHistory(path)
    assert file.recall(NOW) == Remembered()
    assert str(path) in file.note and "\n" not in file.note
    assert not file.record(SessionNotes(at_seconds=NOW, problems=(problem(),)))
    if make is link:
        assert (tmp_path / "target").read_text() == "precious"


def test_a_folder_that_cannot_be_made_costs_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    file = LocalHistory(tmp_path / "file" / "one.sqlite")
    assert not file.record(SessionNotes(at_seconds=NOW))
    assert "cannot be" in file.note


def test_a_lock_of_another_process_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "LOCK_SECONDS", 0.0)
    path = tmp_path / "one.sqlite"
    file = LocalHistory(path)
    file.record(SessionNotes(at_seconds=NOW))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert not file.record(SessionNotes(at_seconds=NOW, problems=(problem(),)))
        assert "locked" in file.note
    assert file.record(SessionNotes(at_seconds=NOW, problems=(problem(),)))
    assert file.note == ""


_WRITER = """
import sys
from pathlib import Path
from cockpit.local_state.history import LocalHistory
from cockpit.model.remembered import SeenProblem, SessionNotes
file = LocalHistory(Path(sys.argv[1]))
for turn in range(30):
    name = f"{sys.argv[2]}-{turn}"
    seen = SeenProblem(subject_key=name, finding="x", first_seconds=1.0 + turn, last_seconds=1.0 + turn)
    while not file.record(SessionNotes(at_seconds=1.0 + turn, problems=(seen,))):
        assert "locked" in file.note, file.note
"""


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    both = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in ("a", "b")]
    assert [one.wait() for one in both] == [0, 0]
    kept = {one.subject_key for one in LocalHistory(path).recall(100.0).problems}
    assert kept == {f"{name}-{turn}" for name in ("a", "b") for turn in range(30)}


def test_secrets_and_control_codes_do_not_stay(tmp_path: Path) -> None:
    file = LocalHistory(tmp_path / "one.sqlite")
    seen = problem("\x1b[2Ja", sentence="pull failed: token=abc123 \x1b]0;x\x07")
    file.record(SessionNotes(at_seconds=NOW, problems=(seen,)))
    raw = file.path.read_bytes()
    assert b"abc123" not in raw and b"\x1b[" not in raw and b"\x1b]" not in raw


def test_contexts_have_files_of_their_own_and_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [history_path(tmp_path, "prod", f"https://{name}") for name in ("a", "b", "c")]
    assert len(set(paths)) == 3
    monkeypatch.setattr(history, "MOST_FILES", 2)
    for number, path in enumerate(paths):
        LocalHistory(path).record(SessionNotes(at_seconds=NOW))
        os.utime(path, (NOW + number, NOW + number))
    assert sorted(paths[0].parent.glob("*.sqlite")) == sorted(paths[1:])


TEXTS = st.text(max_size=30)
TIMES = st.floats(0, NOW)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.builds(
            SeenProblem,
            subject_key=TEXTS,
            finding=TEXTS,
            first_seconds=TIMES,
            last_seconds=TIMES,
            resolved_seconds=st.none() | TIMES,
            subject=TEXTS,
            sentence=TEXTS,
        ),
        max_size=5,
    ),
    st.frozensets(TEXTS, max_size=5),
)
def test_whatever_text_comes_is_remembered_or_told(
    problems: list[SeenProblem], nodes: frozenset[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = LocalHistory(Path(folder) / "one.sqlite")
        assert file.record(SessionNotes(at_seconds=NOW, problems=tuple(problems), nodes=nodes)), file.note
        again = file.recall(NOW)
        assert file.note == ""
        assert len(again.problems) <= len(problems)


def test_what_training_runs_reached_is_kept_once_each_and_bounded(tmp_path: Path) -> None:
    kept = LocalHistory(tmp_path / "h.sqlite")
    assert kept.trainings() == ()
    for number in range(3):
        assert kept.keep_training(f"uid-{number}", NOW + number, b'{"n": %d}' % number)
    assert kept.keep_training("uid-0", NOW + 9, b'{"n": "later"}')
    assert kept.trainings() == ('{"n": "later"}', '{"n": 2}', '{"n": 1}')
    assert LocalHistory(tmp_path / "h.sqlite").recall(NOW).problems == (), "the rest of the file is as it was"


def test_runs_of_long_ago_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_TRAININGS", 5)
    kept = LocalHistory(tmp_path / "h.sqlite")
    for number in range(9):
        kept.keep_training(f"uid-{number}", NOW + number, b"%d" % number)
    assert kept.trainings() == ("8", "7", "6", "5", "4")
