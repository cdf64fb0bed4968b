"""Readers of a log who do not read: the log goes on, and little is kept for them."""

from pathlib import Path

from cockpit.sim.actors.kubelet import logfile
from cockpit.sim.actors.kubelet.logfile import LogFile

LINE = b"x" * 10_000


async def test_a_follower_who_does_not_read_loses_the_oldest_lines(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    later = log.follow(0.0)
    count = 3 * logfile._UNREAD_BYTES // len(LINE)
    for at in range(count):
        log.write(1000.0 + at, "stdout", LINE)
    log.close()
    kept = [line.at async for line in later]
    assert kept[-1] == 1000.0 + count - 1
    assert len(kept) * len(LINE) <= logfile._UNREAD_BYTES
    assert kept == [1000.0 + at for at in range(count - len(kept), count)]


async def test_a_follower_who_reads_loses_nothing(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log")
    later = log.follow(0.0)
    told = []
    for at in range(1000):
        log.write(1000.0 + at, "stdout", LINE)
        told.append((await anext(later)).at)
    assert told == [1000.0 + at for at in range(1000)]
    log.close()


def test_lines_are_read_when_they_are_asked_for_and_later_ones_are_left_out(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "x.log", rotate_bytes=50_000)
    for at in range(8):
        log.write(1000.0 + at, "stdout", LINE)
    found = iter(log.lines(since=0.0, tail=None, now=0.0))
    first = next(found)
    for at in range(8, 40):  # the files that were asked for are gone by now
        log.write(1000.0 + at, "stdout", LINE)
    assert [first.at, *(line.at for line in found)] == [1000.0 + at for at in range(8)]
    log.close()
