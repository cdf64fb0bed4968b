"""What a group of rows tells is what a walk over all its members comes to."""

from collections.abc import Iterable
from random import Random

import pytest

from cockpit.model.finding import Finding, Subject
from cockpit.triage.roots import Membership, RootGroups

POOL, QUEUE, NODE = Subject("pool", "", "a100"), Subject("queue", "", "research"), Subject("node", "", "n1")
JOBS = tuple(Subject("job", "team", f"j{number}") for number in range(12))


def key_of(subject: Subject) -> str:
    return f"job.batch/{subject.key}" if subject.kind == "job" else subject.key


def drawn(rng: Random, subject: Subject) -> Finding:
    roots: tuple[Subject | None, ...] = (None, POOL, QUEUE, NODE, *JOBS[:3])
    root = rng.choice(roots) if subject.kind == "job" else None
    return Finding(
        subject=subject,
        root=None if root == subject else root,
        sentence=f"waits {rng.randrange(3)}",
        since_seconds=rng.choice((None, 10.0, 20.0, 30.0, 40.0)),
        gpus=rng.randrange(9),
        is_bad=rng.random() < 0.3,
        row=key_of(subject),
    )


def walked(rows: dict[str, Finding]) -> dict[Subject, tuple[object, ...]]:
    """Every root with its rows, found by a walk: those behind a job stand where that one stands."""
    home: dict[Subject, Subject] = {one.subject: one.root or one.subject for one in rows.values()}

    def last(root: Subject) -> Subject:
        seen = [root]
        while (further := home.get(seen[-1], seen[-1])) != seen[-1]:
            if further in seen:
                return min(seen[seen.index(further) :])
            seen.append(further)
        return seen[-1]

    members: dict[Subject, list[Finding]] = {}
    for row in rows.values():
        members.setdefault(last(row.root or row.subject), []).append(row)
    return {root: _told(root, some) for root, some in members.items()}


def _told(root: Subject, some: list[Finding]) -> tuple[object, ...]:
    own = [row for row in some if row.subject == root and row.root is None]
    first = min(own or some, key=lambda row: (row.since_seconds or 0.0, row.row))
    ages = [row.since_seconds for row in some if row.since_seconds is not None]
    others = [row for row in some if row is not first]
    gpus = max(first.gpus, sum(row.gpus for row in others)) if own else sum(row.gpus for row in some)
    since = first.since_seconds if own else min(ages, default=None)
    jobs = sum(row.subject.kind == "job" for row in others)
    return (first.row, jobs, gpus, any(row.is_bad for row in some), since)


def judges_all(_keys: Iterable[str]) -> bool:
    return False


@pytest.mark.parametrize("seed", range(5))
def test_groups_tell_what_a_walk_over_their_members_comes_to(seed: int) -> None:
    rng = Random(seed)
    rows: dict[str, Finding] = {}
    asked: list[str] = []

    def put(key: str) -> None:
        row = rows[key]
        member = Membership((row.root or row.subject, ""), row.since_seconds, row.gpus, row.is_bad)
        groups.put(key, member, row, is_job=row.subject.kind == "job")

    def refresh(key: str) -> None:
        asked.append(key)
        put(key)

    groups = RootGroups(refresh, judges_all)
    for _ in range(400):
        subject = rng.choice((*JOBS, NODE))
        key = key_of(subject)
        if rng.random() < 0.3:
            rows.pop(key, None)
            groups.drop(key)
        else:
            rows[key] = drawn(rng, subject)
            put(key)
        told = sorted((row.row, row.others, row.gpus, row.is_bad, row.since_seconds) for row in groups.told())
        assert told == sorted(walked(rows).values(), key=lambda one: str(one[0]))
    assert asked, "the finding of most rows is made again only once it tells of its group"


def test_a_row_that_comes_to_many_is_told_without_a_look_at_them() -> None:
    """One member is judged again once the one that told of all has gone, however many there are."""
    asked: list[str] = []

    def member(number: int) -> Membership:
        return Membership((POOL, ""), float(number), 1, True)

    def refresh(key: str) -> None:
        asked.append(key)
        number = int(key.rpartition("j")[2])
        found = Finding(subject=Subject("job", "t", f"j{number}"), row=key, root=POOL, since_seconds=number)
        groups.put(key, member(number), found, is_job=True)

    groups = RootGroups(refresh, judges_all)
    for number in range(2_000):
        groups.put(f"pod/t/j{number}", member(number), is_job=True)
    assert [(row.row, row.others) for row in groups.told()] == [("pod/t/j0", 1_999)]
    groups.drop("pod/t/j0")
    assert [(row.row, row.others) for row in groups.told()] == [("pod/t/j1", 1_998)]
    assert asked == ["pod/t/j0", "pod/t/j1"]


@pytest.mark.parametrize("then", [NODE, None], ids=["another root", "no trouble"])
@pytest.mark.parametrize("has_time", [True, False], ids=["with time", "without time"])
def test_rows_that_leave_their_root_together_are_judged_only_as_far_as_there_is_time(
    then: Subject | None, has_time: bool
) -> None:
    asked: list[str] = []
    later: list[str] = []
    now_at: Subject | None = POOL

    def refresh(key: str) -> None:
        asked.append(key)
        number = int(key.rpartition("j")[2])
        if now_at is None:
            groups.drop(key)
            return
        found = Finding(subject=Subject("job", "t", f"j{number}"), row=key, root=now_at, since_seconds=number)
        groups.put(key, Membership((now_at, ""), float(number), 1, True), found, is_job=True)

    def put_off(keys: Iterable[str]) -> bool:
        if not has_time:
            later.extend(keys)
        return not has_time

    groups = RootGroups(refresh, put_off)
    for number in range(2_000):
        groups.put(f"pod/t/j{number}", Membership((POOL, ""), float(number), 1, True), is_job=True)
    assert [(row.root, row.others) for row in groups.told()] == [(POOL, 1_999)]
    now_at = then
    asked.clear()
    refresh("pod/t/j0")
    assert [(row.root, row.others) for row in groups.told()] == ([(then, 1_999)] if then else [])
    assert len(asked) >= 2_000 if has_time else len(asked) <= 8
    assert {*later, *asked} == {f"pod/t/j{number}" for number in range(2_000)}
