"""The local history: a small SQLite file for each context, 0600, bounded in rows and bytes.

It holds what a later session cannot see for itself: since when a problem is there, who acknowledged it, when
a session was open last, which nodes there were, how long jobs waited and ran, how pools
grew. No method raises: a file that cannot be used costs a sentence in `note` and the feature. Methods block
(a disk, a lock of another process): call them in a thread.
"""

import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from cockpit.errors import BadInput
from cockpit.local_state import history_rows as rows
from cockpit.local_state import pool_history
from cockpit.local_state.paths import make_private_folder
from cockpit.mask import mask_text
from cockpit.model.remembered import (
    Acknowledgement,
    Growth,
    LoadSample,
    PastRun,
    PoolSample,
    ProblemKey,
    Reclaim,
    Remembered,
    SeenProblem,
    SessionNotes,
)

_APPLICATION: Final = 0x67637068  # "gcph"
VERSION: Final = 2
PAGE_BYTES: Final = 4096
LARGEST_BYTES: Final = 8 * 1024 * 1024
MOST_FILES: Final = 64
LOCK_SECONDS = 2.0
ALIVE_SECONDS: Final = 90.0
"""A session that was alive this recently is still open."""
KEPT_SECONDS: Final = 14 * 86_400.0
MOST_ROWS: Final = {
    "problems": 5_000,
    "sessions": 200,
    "acknowledgements": 1_000,
    "samples": 1_500,
    "runs": 4_000,
}
MOST_NODES: Final = 20_000

_TABLES: Final = """
CREATE TABLE problems (
  subject_key TEXT NOT NULL, finding TEXT NOT NULL, first REAL NOT NULL, last REAL NOT NULL, resolved REAL,
  subject TEXT NOT NULL, sentence TEXT NOT NULL, PRIMARY KEY (subject_key, finding)) WITHOUT ROWID;
CREATE TABLE sessions (id INTEGER PRIMARY KEY, started REAL NOT NULL, alive REAL NOT NULL);
CREATE TABLE acknowledgements (
  subject_key TEXT NOT NULL, finding TEXT NOT NULL, made REAL NOT NULL, until REAL, note TEXT NOT NULL,
  who TEXT NOT NULL, is_bad INTEGER NOT NULL, gpus INTEGER NOT NULL, cause TEXT NOT NULL,
  PRIMARY KEY (subject_key, finding)) WITHOUT ROWID;
CREATE TABLE nodes (name TEXT PRIMARY KEY, seen REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE samples (
  minute INTEGER PRIMARY KEY, at REAL NOT NULL, wanted INTEGER, allocated INTEGER, free INTEGER,
  queued INTEGER);
"""
_RUNS: Final = """
CREATE TABLE runs (
  uid TEXT PRIMARY KEY, shape TEXT NOT NULL, members INTEGER NOT NULL, gpus INTEGER NOT NULL,
  submitted REAL NOT NULL, started REAL, ran REAL) WITHOUT ROWID;
"""
"""Since version 2."""
_TRAININGS: Final = (
    "CREATE TABLE IF NOT EXISTS trainings (uid TEXT PRIMARY KEY, at REAL NOT NULL, record TEXT NOT NULL)"
)
"""Made when it is first needed: a file of a former cockpit gets it, too, and that one passes over it."""
MOST_TRAININGS: Final = 500
LONGEST_TRAINING: Final = 2_048
_PUT_PROBLEM: Final = """
INSERT INTO problems VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (subject_key, finding) DO UPDATE SET
  first = CASE WHEN problems.resolved IS NOT NULL AND excluded.first >= problems.resolved
          THEN excluded.first ELSE min(problems.first, excluded.first) END,
  last = max(problems.last, excluded.last), resolved = excluded.resolved,
  subject = excluded.subject, sentence = excluded.sentence
"""

T = TypeVar("T")


def history_path(folder: Path, context: str, server: str) -> Path:
    """The file of one cluster under the state folder: a context of the same name elsewhere is another."""
    digest = hashlib.sha256(f"{context}\0{server}".encode("utf-8", "replace")).hexdigest()[:16]
    return folder / "history" / f"{digest}.sqlite"


class _UnusableError(Exception):
    """The file is no history of this version; its text says what it is and what helps."""


class LocalHistory:
    """The history of one context. `note` is a sentence once it could not be used, "" while all is well."""

    def __init__(self, path: Path, *, largest_bytes: int = LARGEST_BYTES) -> None:
        self.path = path
        self.note = ""
        self._largest_bytes = largest_bytes
        self._is_off = False
        self._session: int | None = None

    @property
    def may_recover(self) -> bool:
        """False once a fault is there to stay."""
        return not self._is_off

    def recall(self, now_seconds: float) -> Remembered:
        """What former sessions left; nothing where the file cannot be used."""
        return self._use(lambda file: _remembered(file, now_seconds, self._session)) or Remembered()

    def record(self, notes: SessionNotes) -> bool:
        """Remember these, and that this session is alive; False where that could not be."""

        def write(file: sqlite3.Connection) -> bool:
            if self._session is None:
                row = file.execute(
                    "INSERT INTO sessions (started, alive) VALUES (?, ?)", (notes.at_seconds,) * 2
                )
                session = row.lastrowid
            else:
                session = self._session
                file.execute("UPDATE sessions SET alive = ? WHERE id = ?", (notes.at_seconds, session))
            _put(file, notes)
            _prune(file, notes.at_seconds)
            file.execute("COMMIT")
            self._session = session
            return True

        return self._use(write) or False

    def keep_training(self, uid: str, at_seconds: float, record: bytes) -> bool:
        """Remember what a training run reached; it replaces what was kept of that uid before."""

        def write(file: sqlite3.Connection) -> bool:
            file.execute(_TRAININGS)
            row = (rows.kept(uid), at_seconds, record.decode("utf-8", "replace")[:LONGEST_TRAINING])
            file.execute("INSERT OR REPLACE INTO trainings VALUES (?, ?, ?)", row)
            rows.keep_newest(file, "trainings", "at", MOST_TRAININGS)
            file.execute("COMMIT")
            return True

        return self._use(write) or False

    def trainings(self) -> tuple[str, ...]:
        """What was kept of training runs, the newest first."""

        def read(file: sqlite3.Connection) -> tuple[str, ...]:
            file.execute(_TRAININGS)
            found = file.execute("SELECT record FROM trainings ORDER BY at DESC")
            return tuple(rows.text(row[0], LONGEST_TRAINING) for row in found)

        return self._use(read) or ()

    def put_growth(self, growth: Growth) -> bool:
        """Remember how long a growth took; one of the same pool and moment is replaced."""
        return self._use(partial(pool_history.put_growth, growth=growth)) or False

    def growths(self, pool_key: str = "") -> tuple[Growth, ...]:
        """Growths of that pool, or of all pools, the newest first."""
        return self._use(partial(pool_history.growths, pool_key=pool_key)) or ()

    def put_reclaim(self, reclaim: Reclaim) -> bool:
        """Store the reclaimed nodes."""
        return self._use(partial(pool_history.put_reclaim, reclaim=reclaim)) or False

    def reclaims(self, pool_key: str = "") -> tuple[Reclaim, ...]:
        """What was reclaimed of that pool, or of all pools, the newest first."""
        return self._use(partial(pool_history.reclaims, pool_key=pool_key)) or ()

    def put_pool_samples(self, samples: Sequence[PoolSample]) -> bool:
        """Remember how pools stood, once for each pool and `SAMPLE_SECONDS`."""
        return self._use(partial(pool_history.put_samples, samples=samples)) or False

    def pool_samples(self, pool_key: str, since_seconds: float = 0.0) -> tuple[PoolSample, ...]:
        """How that pool stood since then, the oldest first."""
        read = partial(pool_history.samples, pool_key=pool_key, since_seconds=since_seconds)
        return self._use(read) or ()

    def _use(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """What `work` answers, in one transaction; None with a sentence in `note` where it failed.

        A lock, or a disk that is full, may be gone the next time; any other fault is there to stay.
        """
        if self._is_off:
            return None
        try:
            try:
                answer = self._within(work)
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_FULL:
                    raise
                self._within(_halve)
                answer = self._within(work)
        except (sqlite3.Error, OSError, ValueError, OverflowError, BadInput, _UnusableError) as error:
            self._is_off = _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL)
            self.note = f"the local history {self.path} {_why(error)}"
            return None
        self.note = ""
        return answer

    def _within(self, work: Callable[[sqlite3.Connection], T]) -> T:
        self._make_file()
        with closing(sqlite3.connect(self.path, timeout=LOCK_SECONDS, isolation_level=None)) as file:
            file.execute(f"PRAGMA max_page_count = {max(16, self._largest_bytes // PAGE_BYTES)}")
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute("BEGIN IMMEDIATE")
            _check(file)
            answer = work(file)
            if file.in_transaction:
                file.execute("COMMIT")
            return answer

    def _make_file(self) -> None:
        """The file is plain and ours alone before SQLite opens it; its journal gets the same mode."""
        make_private_folder(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        is_new = not self.path.exists()
        handle = os.open(self.path, flags, 0o600)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise _UnusableError("is not a plain file; move it away")
            if found.st_size > 2 * self._largest_bytes:
                raise _UnusableError(f"is larger than {2 * self._largest_bytes} bytes; move it away")
            os.fchmod(handle, 0o600)
        finally:
            os.close(handle)
        if is_new:
            _forget_old_files(self.path)


def _forget_old_files(path: Path) -> None:
    """Delete the least recently used of more than `MOST_FILES` histories."""

    def used(one: Path) -> float:
        with suppress(OSError):
            return one.stat().st_mtime
        return 0.0

    found = sorted(path.parent.glob("*.sqlite"), key=used, reverse=True)
    for one in found[MOST_FILES:]:
        if one != path:
            with suppress(OSError):
                one.unlink()


def _code(error: BaseException) -> int:
    """SQLite's primary result code, 0 where it told none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _why(error: BaseException) -> str:
    if isinstance(error, _UnusableError):
        return str(error)
    if isinstance(error, BadInput):
        return f"cannot be used: {error.sentence}"
    code = _code(error)
    if code == sqlite3.SQLITE_BUSY:
        return "is locked by another process: nothing was remembered this time"
    if code == sqlite3.SQLITE_FULL:
        return "cannot grow: free disk space"
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, ValueError):
        return "is damaged: delete it to begin a new one"
    if isinstance(error, OSError):
        return f"cannot be used ({error.strerror}): ages and acknowledgements last for this session only"
    return f"cannot be used ({type(error).__name__}): ages and acknowledgements last for this session only"


def _check(file: sqlite3.Connection) -> None:
    """A new file becomes a history; one of another program or version is left alone."""
    application = file.execute("PRAGMA application_id").fetchone()[0]
    version = file.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) == (_APPLICATION, VERSION):
        return
    if (application, version) == (_APPLICATION, 1):
        file.execute(_RUNS)
        file.execute(f"PRAGMA user_version = {VERSION}")
        return
    if application == _APPLICATION:
        raise _UnusableError(f"has version {version}, not {VERSION}: move it away to begin a new one")
    if application or version or file.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise _UnusableError("belongs to another program: move it away")
    for statement in (_TABLES + _RUNS).split(";"):
        file.execute(statement)
    file.execute(f"PRAGMA application_id = {_APPLICATION}")
    file.execute(f"PRAGMA user_version = {VERSION}")


# ---- reading


def _remembered(file: sqlite3.Connection, now_seconds: float, own: int | None) -> Remembered:
    alive = rows.some(file.execute("SELECT max(alive) FROM sessions WHERE id IS NOT ?", (own,)).fetchone()[0])
    is_left = alive is not None and now_seconds - alive > ALIVE_SECONDS
    nodes = frozenset(rows.text(row[0], rows.LONGEST_NAME) for row in file.execute("SELECT name FROM nodes"))
    return Remembered(
        left_seconds=alive if is_left else None,
        problems=tuple(
            SeenProblem(
                subject_key=rows.text(row[0], rows.LONGEST_NAME),
                finding=rows.text(row[1], rows.LONGEST_NAME),
                first_seconds=rows.number(row[2]),
                last_seconds=rows.number(row[3]),
                resolved_seconds=rows.some(row[4]),
                subject=rows.text(row[5], rows.LONGEST_NAME),
                sentence=rows.text(row[6]),
            )
            for row in file.execute("SELECT * FROM problems ORDER BY last")
        ),
        acknowledgements=tuple(
            Acknowledgement(
                subject_key=rows.text(row[0], rows.LONGEST_NAME),
                finding=rows.text(row[1], rows.LONGEST_NAME),
                made_seconds=rows.number(row[2]),
                until_seconds=rows.some(row[3]),
                note=rows.text(row[4]),
                who=rows.text(row[5], rows.LONGEST_NAME),
                is_bad=bool(rows.number(row[6])),
                gpus=int(rows.number(row[7])),
                cause=rows.text(row[8], rows.LONGEST_NAME),
            )
            for row in file.execute("SELECT * FROM acknowledgements")
        ),
        nodes=nodes or None,
        samples=tuple(
            LoadSample(rows.number(row[0]), *(rows.count(item) for item in row[1:]))
            for row in file.execute("SELECT at, wanted, allocated, free, queued FROM samples ORDER BY minute")
        ),
        runs=tuple(_run(row) for row in file.execute("SELECT * FROM runs ORDER BY submitted")),
    )


def _run(row: tuple[Any, ...]) -> PastRun:
    return PastRun(
        uid=rows.text(row[0], rows.LONGEST_NAME),
        shape=rows.text(row[1], rows.LONGEST_NAME),
        members=int(rows.number(row[2])),
        gpus=int(rows.number(row[3])),
        submitted_seconds=rows.number(row[4]),
        started_seconds=rows.some(row[5]),
        ran_seconds=rows.some(row[6]),
    )


# ---- writing


def _put(file: sqlite3.Connection, notes: SessionNotes) -> None:
    file.executemany(
        _PUT_PROBLEM,
        (
            (
                *map(rows.kept, problem.key),
                problem.first_seconds,
                problem.last_seconds,
                problem.resolved_seconds,
                rows.kept(problem.subject),
                mask_text(rows.kept(problem.sentence)),
            )
            for problem in notes.problems
        ),
    )
    drop: Iterable[ProblemKey] = (tuple(map(rows.kept, key)) for key in notes.taken_back)  # type: ignore[misc]
    file.executemany("DELETE FROM acknowledgements WHERE subject_key = ? AND finding = ?", drop)
    file.executemany(
        "INSERT OR REPLACE INTO acknowledgements VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                *map(rows.kept, item.key),
                item.made_seconds,
                item.until_seconds,
                mask_text(rows.kept(item.note)),
                rows.kept(item.who),
                int(item.is_bad),
                item.gpus,
                rows.kept(item.cause),
            )
            for item in notes.acknowledged
        ),
    )
    if notes.nodes is not None:
        file.execute("DELETE FROM nodes")
        is_whole = len(notes.nodes) <= MOST_NODES  # some of them would be no answer to which came
        seen = ((rows.kept(name), notes.at_seconds) for name in (sorted(notes.nodes) if is_whole else ()))
        file.executemany("INSERT OR IGNORE INTO nodes VALUES (?, ?)", seen)
    file.executemany(
        "INSERT OR REPLACE INTO samples VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                *(int(sample.at_seconds // 60), sample.at_seconds),
                *(sample.wanted_gpus, sample.allocated_gpus, sample.free_gpus, sample.queued_jobs),
            )
            for sample in notes.samples
        ),
    )
    file.executemany(
        "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                *(rows.kept(run.uid), rows.kept(run.shape), run.members, run.gpus),
                *(run.submitted_seconds, run.started_seconds, run.ran_seconds),
            )
            for run in notes.runs
        ),
    )


_AGE: Final = {
    "problems": "last",
    "sessions": "alive",
    "acknowledgements": "made",
    "samples": "minute",
    "runs": "submitted",
}


def _prune(file: sqlite3.Connection, now_seconds: float) -> None:
    """Old rows go, and of too many the oldest."""
    old = (now_seconds - KEPT_SECONDS,)
    file.execute("DELETE FROM problems WHERE last < ?", old)
    file.execute("DELETE FROM runs WHERE submitted < ?", old)
    file.execute("DELETE FROM acknowledgements WHERE until < ?", (now_seconds,))
    for table, most in MOST_ROWS.items():
        rows.keep_newest(file, table, _AGE[table], most)


def _halve(file: sqlite3.Connection) -> None:
    """Room in a file that may not grow: the older half of what is only looked back at goes."""
    file.execute("DELETE FROM nodes")
    for table in ("problems", "samples", "runs"):
        count = file.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        rows.keep_newest(file, table, _AGE[table], count // 2 + 1)
    pool_history.halve(file)
