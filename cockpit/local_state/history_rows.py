"""What stands in a row of the history: checked as anything from outside when read, cleaned when written."""

import sqlite3
from typing import Any, Final

from cockpit.sanitise import SENTENCE, clean

LONGEST_NAME: Final = 600


def text(value: Any, limit: int = SENTENCE) -> str:
    """Raises ValueError for what is no text."""
    if not isinstance(value, str):
        raise ValueError(f"no text: {type(value).__name__}")
    return clean(value, limit)


def number(value: Any) -> float:
    """Raises ValueError for what is no number, or none that a time or an amount can be."""
    if not isinstance(value, int | float) or not abs(value) <= 1e15:
        raise ValueError(f"no number: {type(value).__name__}")
    return value


def some(value: Any) -> float | None:
    """A number that may be missing."""
    return None if value is None else number(value)


def count(value: Any) -> int | None:
    """A whole number that may be missing."""
    return None if value is None else int(number(value))


def kept(value: str, limit: int = LONGEST_NAME) -> str:
    """A name as it is written."""
    return clean(value, limit).encode("utf-8", "replace").decode()


def keep_newest(file: sqlite3.Connection, table: str, order: str, most: int) -> None:
    """Of more than `most` rows those go that are first by `order`."""
    found = file.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    if found <= most:
        return
    bound = file.execute(
        f"SELECT {order} FROM {table} ORDER BY {order} LIMIT 1 OFFSET ?", (found - most,)
    ).fetchone()[0]
    file.execute(f"DELETE FROM {table} WHERE {order} < ?", (bound,))
