"""The pools' part of the local history: growths, what was reclaimed, and how pools stood.

The tables are made when they are first needed: a file of a former cockpit gets them, too, and that one passes
over them. Each function works in the transaction of its caller.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from cockpit.local_state import history_rows as rows
from cockpit.model.remembered import Growth, PoolSample, Reclaim

MOST_GROWTHS: Final = 2_000
MOST_RECLAIMS: Final = 2_000
MOST_SAMPLES: Final = 30_000
SAMPLE_SECONDS: Final = 120.0
SAMPLES_KEPT_SECONDS: Final = 86_400.0
LONGEST_STAGES: Final = 1_024

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS growths (pool TEXT NOT NULL, asked REAL NOT NULL, machine TEXT NOT NULL,"
    " nodes INTEGER NOT NULL, stages TEXT NOT NULL, PRIMARY KEY (pool, asked)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS reclaims (pool TEXT NOT NULL, what TEXT NOT NULL, at REAL NOT NULL,"
    " gpu_hours REAL, PRIMARY KEY (pool, what, at)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS pool_samples (pool TEXT NOT NULL, slot INTEGER NOT NULL, at REAL NOT NULL,"
    " nodes INTEGER, gpus INTEGER, demand INTEGER, allocated INTEGER, PRIMARY KEY (pool, slot))"
    " WITHOUT ROWID",
)
_AGE: Final = {"growths": "asked", "reclaims": "at", "pool_samples": "at"}


def _make(file: sqlite3.Connection) -> None:
    for statement in _TABLES:
        file.execute(statement)


def put_growth(file: sqlite3.Connection, growth: Growth) -> bool:
    """Keep one growth; of too many the oldest go."""
    _make(file)
    stages = msgspec.json.encode([(rows.kept(step, 40), seconds) for step, seconds in growth.stages])
    if len(stages) > LONGEST_STAGES:
        return False
    row = (rows.kept(growth.pool_key), growth.asked_seconds, rows.kept(growth.machine_type))
    file.execute(
        "INSERT OR REPLACE INTO growths VALUES (?, ?, ?, ?, ?)", (*row, growth.nodes, stages.decode())
    )
    rows.keep_newest(file, "growths", "asked", MOST_GROWTHS)
    return True


def growths(file: sqlite3.Connection, pool_key: str) -> tuple[Growth, ...]:
    """Of that pool, or of all pools without one; the newest first."""
    _make(file)
    found = file.execute(
        "SELECT pool, machine, asked, nodes, stages FROM growths WHERE ? IN (pool, '') ORDER BY asked DESC",
        (rows.kept(pool_key),),
    )
    return tuple(
        Growth(
            pool_key=rows.text(row[0], rows.LONGEST_NAME),
            machine_type=rows.text(row[1], rows.LONGEST_NAME),
            asked_seconds=rows.number(row[2]),
            nodes=int(rows.number(row[3])),
            stages=_stages(row[4]),
        )
        for row in found
    )


def _stages(value: Any) -> tuple[tuple[str, float], ...]:
    try:
        found = msgspec.json.decode(rows.text(value, LONGEST_STAGES), type=list[tuple[str, float]])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    return tuple((rows.text(step, 40), rows.number(seconds)) for step, seconds in found)


def put_reclaim(file: sqlite3.Connection, reclaim: Reclaim) -> bool:
    """Keep the reclaimed nodes; drop the oldest of too many."""
    _make(file)
    row = (rows.kept(reclaim.pool_key), rows.kept(reclaim.what), reclaim.at_seconds, reclaim.gpu_hours)
    file.execute("INSERT OR REPLACE INTO reclaims VALUES (?, ?, ?, ?)", row)
    rows.keep_newest(file, "reclaims", "at", MOST_RECLAIMS)
    return True


def reclaims(file: sqlite3.Connection, pool_key: str) -> tuple[Reclaim, ...]:
    """Of that pool, or of all pools without one; the newest first."""
    _make(file)
    found = file.execute(
        "SELECT pool, what, at, gpu_hours FROM reclaims WHERE ? IN (pool, '') ORDER BY at DESC",
        (rows.kept(pool_key),),
    )
    return tuple(
        Reclaim(
            pool_key=rows.text(row[0], rows.LONGEST_NAME),
            what=rows.text(row[1], rows.LONGEST_NAME),
            at_seconds=rows.number(row[2]),
            gpu_hours=rows.some(row[3]),
        )
        for row in found
    )


def put_samples(file: sqlite3.Connection, samples: Sequence[PoolSample]) -> bool:
    """Keep how pools stood, the last of a slot; those older than a day and of too many the oldest go."""
    if not samples:
        return True
    _make(file)
    file.executemany(
        "INSERT OR REPLACE INTO pool_samples VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                *(rows.kept(sample.pool_key), int(sample.at_seconds // SAMPLE_SECONDS), sample.at_seconds),
                *(sample.nodes, sample.gpus, sample.demand_gpus, sample.allocated_gpus),
            )
            for sample in samples
        ),
    )
    newest = max(sample.at_seconds for sample in samples)
    file.execute("DELETE FROM pool_samples WHERE at < ?", (newest - SAMPLES_KEPT_SECONDS,))
    rows.keep_newest(file, "pool_samples", "at", MOST_SAMPLES)
    return True


def samples(file: sqlite3.Connection, pool_key: str, since_seconds: float) -> tuple[PoolSample, ...]:
    """How that pool stood since then, the oldest first."""
    _make(file)
    found = file.execute(
        "SELECT at, nodes, gpus, demand, allocated FROM pool_samples WHERE pool = ?"
        " AND at >= ? ORDER BY slot",
        (rows.kept(pool_key), since_seconds),
    )
    return tuple(
        PoolSample(pool_key, rows.number(row[0]), *(rows.count(item) for item in row[1:])) for row in found
    )


def halve(file: sqlite3.Connection) -> None:
    """The older half goes, where there is anything."""
    _make(file)
    for table, order in _AGE.items():
        found = file.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        rows.keep_newest(file, table, order, found // 2 + 1)
