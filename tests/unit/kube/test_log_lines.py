"""Logs as bytes: stamps taken off, lines cut, and attempts that go on where the last one was broken off."""

import random
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.kube.log_lines import (
    LONGEST_LINE_CHARACTERS,
    MOST_IN_A_SECOND,
    Cutter,
    LogPiece,
    Resume,
    split_stamp,
)
from cockpit.kube.logs import LINE_BYTES
from tests.reliability.figures import Tell

NANO = 1_000_000_000
BEGUN = 1_790_000_000


def stamp(at_nanoseconds: int) -> str:
    moment = datetime.fromtimestamp(at_nanoseconds // NANO, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_nanoseconds % NANO:09d}Z"


@pytest.mark.parametrize(
    ("line", "at", "rest"),
    [
        (b"2026-09-21T14:13:20.000000001Z hello", BEGUN * NANO + 1, b"hello"),
        (b"2026-09-21T16:13:20.5+02:00 hello", BEGUN * NANO + NANO // 2, b"hello"),
        (b"2026-09-21T14:13:20Z ", BEGUN * NANO, b""),
        (b"2026-09-21T14:13:20.1Z  two blanks", BEGUN * NANO + NANO // 10, b" two blanks"),
        (b"2026-13-41T14:13:20.1Z no day", 0, b"2026-13-41T14:13:20.1Z no day"),
        (b"no stamp", 0, b"no stamp"),
        (b"", 0, b""),
    ],
)
def test_stamps(line: bytes, at: int, rest: bytes) -> None:
    assert split_stamp(line) == (at, rest)


def cut(data: bytes, size: int) -> list[LogPiece]:
    cutter = Cutter()
    out = [one for at in range(0, len(data), size) for one in cutter.feed(data[at : at + size])]
    return out + cutter.end()


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.text(max_size=20).map(lambda t: t.encode("utf-8", "replace")), max_size=8), st.integers(1, 40)
)
def test_any_chunks_give_the_same_lines(parts: list[bytes], size: int) -> None:
    data = b"\n".join(b"2026-09-21T14:13:20.1Z " + part for part in parts)
    assert cut(data, size) == cut(data, max(1, len(data)))


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=400), st.integers(1, 60))
def test_junk_leaves_no_control_character(data: bytes, size: int) -> None:
    for one in cut(data, size):
        assert not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in one.text)


def test_a_line_of_ten_megabytes_is_told_in_pieces_and_bounded() -> None:
    data = b"2026-09-21T14:13:20.1Z " + b"x" * (10 << 20) + b"\n2026-09-21T14:13:21.1Z next\n"
    told = cut(data, 8_000)
    assert told[-1] == LogPiece(BEGUN * NANO + NANO + NANO // 10, "next")
    pieces, remark = told[:-2], told[-2]
    assert [one.is_further for one in pieces] == [False] + [True] * (len(pieces) - 1)
    assert {one.at_nanoseconds for one in pieces} == {BEGUN * NANO + NANO // 10}
    assert max(len(one.text) for one in pieces) <= LINE_BYTES
    shown = sum(len(one.text) for one in pieces)
    assert LONGEST_LINE_CHARACTERS - LINE_BYTES < shown <= LONGEST_LINE_CHARACTERS
    assert (
        remark.is_further
        and remark.text == f"... {(10 << 20) - shown:,} more bytes of this line are not shown"
    )


def test_what_is_unfinished_is_held_until_the_end() -> None:
    cutter = Cutter()
    assert cutter.feed(b"2026-09-21T14:13:20.1Z half") == []
    assert cutter.feed(b" and half\nrest") == [LogPiece(BEGUN * NANO + NANO // 10, "half and half")]
    assert [one.text for one in cutter.end()] == ["rest"]
    assert cutter.end() == []


# ---- going on after a break

Lines = list[tuple[int, str]]


def attempt(resume: Resume, log: Lines, until: int) -> list[tuple[int, str]]:
    """What a server tells from `since_time` on, whole seconds as it takes them, up to line `until`."""
    resume.begin()
    since = datetime.fromisoformat(resume.since_time).timestamp() * NANO if resume.since_time else 0
    found = []
    for at, text in log[:until]:
        if at >= since and resume.take(LogPiece(at, text)):
            found.append((at, text))
    return found


def random_log(rng: random.Random) -> Lines:
    at, found = BEGUN * NANO, []
    for _ in range(rng.randrange(41)):
        at += rng.choice((0, 1, 200_000_000, NANO, 3 * NANO))
        found.append((at, rng.choice(("a", "b", "step 1"))))
    return found


@pytest.mark.row(46, "lines twice or lost, in 1,000 logs that break in random places", most=0)
def test_no_line_twice_and_none_lost_however_often_it_breaks(figure: Tell) -> None:
    rng, wrong = random.Random(46), 0
    for _ in range(1_000):
        log = random_log(rng)
        resume, found = Resume(), Lines()
        for until in [*sorted(rng.randrange(41) for _ in range(rng.randrange(7))), len(log)]:
            found += attempt(resume, log, until)
            assert not resume.has_gap
        wrong += (Counter(found) - Counter(log)).total() + (Counter(log) - Counter(found)).total()
        assert found == log
    figure("lines twice or lost, in 1,000 logs that break in random places", wrong)


def test_a_log_that_was_rotated_meanwhile_has_a_gap() -> None:
    log: Lines = [(BEGUN * NANO + n * NANO, f"line {n}") for n in range(10)]
    resume = Resume()
    assert attempt(resume, log, 4) == log[:4]
    resume.begin()
    assert resume.take(LogPiece(*log[7])) and resume.has_gap


def test_a_quiet_attempt_has_no_gap() -> None:
    resume = Resume()
    attempt(resume, [(BEGUN * NANO, "one")], 1)
    assert attempt(resume, [(BEGUN * NANO, "one")], 1) == []
    assert not resume.has_gap


def test_a_second_of_very_many_lines_goes_on_by_time() -> None:
    log: Lines = [(BEGUN * NANO + n, "x") for n in range(MOST_IN_A_SECOND + 50)]
    resume = Resume()
    assert len(attempt(resume, log, len(log) - 10)) == len(log) - 10
    assert attempt(resume, log, len(log)) == log[-10:]
    assert not resume.has_gap


def test_further_pieces_share_the_fate_of_their_line() -> None:
    resume = Resume()
    attempt(resume, [(BEGUN * NANO, "long")], 1)
    assert resume.take(LogPiece(BEGUN * NANO, "er", True))
    resume.begin()
    assert not resume.take(LogPiece(BEGUN * NANO, "long")) and not resume.take(
        LogPiece(BEGUN * NANO, "er", True)
    )
    assert resume.take(LogPiece(BEGUN * NANO + 5, "new")) and resume.take(
        LogPiece(BEGUN * NANO + 5, "er", True)
    )


@given(st.lists(st.sampled_from((3, 70_000, 140_000, 200_000)), min_size=1, max_size=4), st.data())
@settings(deadline=None, max_examples=60)
def test_a_break_inside_a_long_line_loses_and_repeats_no_piece(
    lengths: list[int], data: st.DataObject
) -> None:
    lines = [chr(97 + at) * length for at, length in enumerate(lengths)]
    log = "".join(f"{stamp(BEGUN * NANO + at)} {text}\n" for at, text in enumerate(lines)).encode()
    resume, found = Resume(), []
    for until in [*sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4))), len(log)]:
        resume.begin()
        found += [piece for piece in Cutter().feed(log[:until]) if resume.take(piece)]
    assert "".join(piece.text for piece in found) == "".join(lines)


def test_lines_without_a_stamp_are_taken_as_they_come() -> None:
    resume = Resume()
    resume.begin()
    assert resume.take(LogPiece(0, "a")) and resume.take(LogPiece(0, "a"))
    assert resume.since_time == "" and resume.newest_nanoseconds == 0
