"""The bench's fit table: every gang is measured, and the goal's one fits."""

from tests.bench import fitting


def test_every_gang_has_a_line() -> None:
    lines = fitting.table(400, 40, 1)
    assert len(lines) == 1 + len(fitting.gangs())
    assert " fits " in lines[1] and lines[1].rstrip().endswith(("met", "missed"))
    assert "misses 64" in lines[-1]
