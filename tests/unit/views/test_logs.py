"""The logs page's views: which lines pass, what is kept, how a line is written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.jobs.run_log import container_of
from cockpit.model.log import LogLine, LogSource
from cockpit.model.pod import Pod
from cockpit.views.log_book import (
    LogBook,
    clock_text,
    looks_bad,
    sources_of,
    summary,
    tail_lines,
)
from cockpit.views.log_filter import parse_log_filter, parse_ranks

LAUNCHER = LogSource("u-l", "ns", "llm-launcher-x", "launcher", is_leader=True)
WORKERS = tuple(LogSource(f"u-{n}", "ns", f"llm-worker-{n}", f"worker {n}", rank=n) for n in range(12))


def line(text: str, source: LogSource = LAUNCHER, at: int = 0, *, is_note: bool = False) -> LogLine:
    return LogLine(source, text, at, is_note)


@pytest.mark.parametrize(
    ("text", "passing"),
    [
        ("", [0, 1, 2, 3]),
        ("loss", [0, 1]),
        ("loss !nan", [0]),
        ("Loss", []),
        ("step [0-9]+", [0, 1]),
        ('"step 1 "', [0]),
        ('!"step 1 "', [1, 2, 3]),
        ("rank:0", [2]),
        ("rank:0,3-11", [2, 3]),
        ("rank:launcher", [0, 1]),
        ("rank:worker nccl", [2, 3]),
        ("!rank:launcher !rank:0", [3]),
        ("loss|NCCL", [0, 1, 2, 3]),
        ("loss nccl", []),
    ],
)
def test_what_passes(text: str, passing: list[int]) -> None:
    lines = [
        line("step 1 loss 2.3"),
        line("step 22 loss NaN"),
        line("NCCL INFO ring", WORKERS[0]),
        line("NCCL INFO ring", WORKERS[7]),
    ]
    wanted = parse_log_filter(text)
    assert [at for at, one in enumerate(lines) if wanted.passes(one)] == passing
    assert wanted.is_empty is (text == "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(", "'(' is not a regular expression"),
        ("*", "'*' is not a regular expression"),
        ('"open', "cannot be read; quote"),
        ("rank:x3,4-", "names no rank"),
        ("rank:9-2", "runs backwards; write rank:2-9"),
        ("rank:99999999", "is beyond 1000000"),
        ("x" * 501, "of 501 characters is too long"),
    ],
)
def test_mistakes_are_told(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_log_filter(text)
    assert said in caught.value.sentence and caught.value.sentence.startswith("Filter: ")


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=40))
def test_any_filter_is_read_or_told_in_one_sentence(text: str) -> None:
    try:
        wanted = parse_log_filter(text)
    except BadInput as error:
        assert "\n" not in error.sentence or "\n" in text
        return
    wanted.passes(line("step 1 loss 2.3"))


@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_a_span_of_ranks_holds_both_its_ends(low: int, more: int) -> None:
    ranks = parse_ranks(f"{low}-{low + more}")
    for rank, holds in ((low, True), (low + more, True), (low + more + 1, False), (low - 1, False)):
        assert ranks.holds(LogSource("u", "n", "p", f"r {rank}", rank=rank)) is holds


def test_notes_pass_with_their_member() -> None:
    note = line("lines may be missing", WORKERS[1], is_note=True)
    assert parse_log_filter("loss").passes(note)
    assert not parse_log_filter("loss rank:0").passes(note)


def test_the_book_is_a_ring_of_lines_and_characters() -> None:
    book = LogBook(most_lines=5, most_characters=100)
    assert len(book.add(line(f"{n}") for n in range(8))) == 8
    assert (len(book), book.dropped) == (5, 3)
    book.add([line("x" * 60)])
    assert [one.split()[-1][:1] for one in book.shown()] == ["4", "5", "6", "7", "x"]
    book.add([line("y" * 90)])
    assert (len(book), book.characters) == (1, 90)
    book.add([line("z" * 500)])
    assert (len(book), book.characters) == (1, 500), "the newest line stays, however long"
    book.clear()
    assert (len(book), book.dropped, book.characters) == (0, 0, 0)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(0, 60), max_size=60), st.integers(1, 10), st.integers(1, 120))
def test_bounds_hold_whatever_comes(lengths: list[int], most_lines: int, most_characters: int) -> None:
    book = LogBook(most_lines=most_lines, most_characters=most_characters)
    for length in lengths:
        book.add([line("x" * length)])
        assert len(book) <= most_lines
        assert book.characters <= most_characters or len(book) == 1
    assert len(book) + book.dropped == len(lengths)
    assert book.characters == sum(len(one) for one in book.shown()) - len(book) * len(book.drawn(line("")))


def test_how_lines_are_written() -> None:
    book = LogBook()
    assert book.drawn(line("epoch 1")) == "launcher  epoch 1"
    assert not book.name([LAUNCHER])
    assert book.name(WORKERS)
    assert book.drawn(line("epoch 1")) == "launcher   epoch 1"
    long = LogSource("u", "ns", "p", "a-member-with-a-very-long-name")
    assert book.name([long])
    assert book.drawn(line("x", long)) == "a-member-with-a-ver…  x"
    assert book.drawn(line("gone", WORKERS[3], is_note=True)) == f"{'worker 3':<20}  -- gone --"
    book.has_times = True
    at = 1_790_000_000 * 1_000_000_000 + 42_000_000
    assert book.drawn(line("x", at=at)) == f"14:13:20.042 {'launcher':<20}  x"
    assert clock_text(line("x")) == "··:··:··.···"


def test_a_filter_shows_what_it_hid_once_it_is_gone() -> None:
    book = LogBook()
    book.filter = parse_log_filter("loss")
    assert book.add([line("loss 1"), line("other")]) == ["launcher  loss 1"]
    book.filter = parse_log_filter("")
    assert len(book.shown()) == 2


def pod(name: str, **more: object) -> Pod:
    return Pod(uid=f"u-{name}", name=name, namespace="ns", **more)  # type: ignore[arg-type]


def test_one_source_for_each_member() -> None:
    members = [
        pod("l-x", role="launcher", containers="main"),
        pod("w-3", role="worker", rank=3, containers="istio-proxy,main,metrics"),
        pod("bare-0"),
    ]
    found = sources_of(members)
    assert [(one.label, one.container, one.rank, one.is_leader) for one in found] == [
        ("launcher", "", None, True),
        ("worker 3", "main", 3, False),
        ("bare-0", "", None, False),
    ]
    assert [one.container for one in sources_of(members, "metrics")] == ["", "metrics", ""]
    assert container_of(pod("p", containers="istio-proxy,vault-agent")) == "istio-proxy"


def test_hundreds_of_members_share_what_is_read_at_first() -> None:
    assert [tail_lines(n) for n in (0, 1, 20, 200, 5_000)] == [1_000, 1_000, 1_000, 100, 20]


def test_the_line_above_the_log() -> None:
    book = LogBook(most_lines=2)
    book.add(line(f"{n}") for n in range(3))
    said = summary(
        members=3, book=book, shown=1, how_far="last 20 lines each", is_following=False,
        troubles=(("worker 1", "No log yet"), ("worker 2", "No log yet")),
    )  # fmt: skip
    assert [text for text, _ in said] == [
        "3 members",
        "paused, f follows",
        "1 of 2 lines shown, 1 older dropped",
        "last 20 lines each",
        "worker 1 and 1 more: No log yet",
    ]
    ended = summary(members=1, book=book, shown=2, how_far="all", is_following=None, troubles=())
    assert [text for text, _ in ended] == ["1 member", "2 lines, 1 older dropped", "all"]


@pytest.mark.parametrize(
    ("text", "is_bad"),
    [("RuntimeError: x", True), ("loss 1", False), ("no errors so far", False), ("ERROR x", True)],
)
def test_failures_stand_out(text: str, is_bad: bool) -> None:
    assert looks_bad(text) is is_bad
