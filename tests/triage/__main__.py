"""`python -m tests.triage` writes the table of rows, cases and results, and takes off the list what is right.

`record` plays scripts anew: those named by `--scripts`, or a draw by `--seed` of what real components answer.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

from cockpit.catalogue import by_cause
from tests.real import commit, seed_of
from tests.triage import company, judge, offer_plays, recorder, table
from tests.triage.bed_walls import WALLS as BED_WALLS
from tests.triage.bed_walls import can_stand
from tests.triage.case import CASES, Case, read_cases, report_case, write_case
from tests.triage.fresh import fresh
from tests.triage.half_known import all_claims
from tests.triage.night import night
from tests.triage.offer_plays import OfferPlay, last_of_each, played_embedded, played_on_beds
from tests.triage.recorder import Asked
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS, Script
from tests.triage.walls import second_walls
from tests.triage.world import watched_view_of

TABLE = Path(__file__).parent / "RESULTS.md"
OFFERS = Path(__file__).parent / "OFFERS.md"
LISTED = Path(__file__).parent / "not_right.txt"
"""Cases that the engine does not get right yet. It only shrinks, but for cases that are new."""


def listed() -> set[str]:
    """The cases on the list."""
    return set(LISTED.read_text().split())


def wrong(found: Sequence[judge.Judgement]) -> set[str]:
    """The cases that are not right."""
    return {one.case.name for one in found if not one.is_right}


def seed_of_commit() -> int:
    """A number that every commit has another one of."""
    return int(seed_of(commit()) if commit() else "0", 16)


def _lines(names: set[str]) -> str:
    return "".join(f"{name}\n" for name in sorted(names))


def drawn(seed: int, count: int, generations: Sequence[str] = ("",)) -> list[Asked]:
    """`count` plays of scripts that are recorded from components: each script about as often as any other,
    a fifth of the plays with a second cause, those of engines in one of these generations."""
    rng = random.Random(seed)
    real = sorted((one for one in SCRIPTS.values() if one.source), key=lambda one: one.name)
    double = [one for one in real if one.can_second]
    plays: list[tuple[Script, bool]] = []
    while double and len(plays) < count // 5:
        plays += [(one, True) for one in rng.sample(double, min(len(double), count // 5 - len(plays)))]
    while len(plays) < count:
        plays += [(one, False) for one in rng.sample(real, min(len(real), count - len(plays)))]
    return [
        Asked(
            one,
            rng.randrange(1000, 1_000_000),
            second,
            rng.choice(generations) if one.has_generations else generations[0],
        )
        for one, second in plays
    ]


def _list_new(names: set[str]) -> None:
    """Put those of these new cases on the list that the engine does not get right."""
    LISTED.write_text(_lines({*listed(), *wrong(judge.judged(read_cases())) & names}))


def _take(place: Path, top: str) -> int:
    if place.is_dir():
        found = read_cases(place)
    else:
        found = [report_case(json.loads(place.read_bytes()), top, place.stem)]
    for one in found:
        write_case(one)
    _list_new({one.name for one in found})
    return 0


def _record(given: argparse.Namespace) -> int:
    if given.scripts:
        chosen = [
            one for name, one in SCRIPTS.items() if any(name.startswith(each) for each in given.scripts)
        ]
        asked = [
            Asked(one, given.seed, given.second, given.generations[0])
            for one in chosen
            if one.can_second or not given.second
        ]
    else:
        asked = drawn(given.seed, given.count, given.generations)
    where = given.to or Path(tempfile.mkdtemp(prefix="gpu-cockpit-triage-"))
    where.mkdir(parents=True, exist_ok=True)

    def keep(case: Case) -> None:
        write_case(case, where)

    asked = [one for one in asked if not (where / one.name).exists()]
    failed = recorder.record(asked, keep)
    for line in failed:
        print(line)
    if where.resolve() == CASES:
        _list_new({one.name for one in asked})
        return 1 if failed else 0
    fresh, committed = judge.judged(read_cases(where)), judge.judged(read_cases())
    print(f"seed {given.seed}, in {where}")
    print(f"committed: {judge.figures(committed)}")
    print(f"fresh:     {judge.figures(fresh)}")
    for one in fresh:
        if not one.is_right:
            print(f"  {one.line()}")
    # What the committed corpus does not reach yet cannot be asked of a fresh one.
    held = judge.reaches_bars(committed)
    return 1 if failed or (held and not judge.reaches_bars(fresh)) else 0


def _fresh(seed: int, count: int) -> int:
    found = judge.judged(fresh(seed, count))
    print(f"seed {seed}: {judge.figures(found)}")
    for one in found:
        if not one.is_right:
            print(f"  {one.line()}")
    return 0 if judge.reaches_bars(found) else 1


def _absence() -> int:
    count, found = all_claims(read_cases())
    print(*found, f"{count} cells, {len(found)} of them claim what they cannot know", sep="\n")
    return 1 if found else 0


def _company(seed: int, count: int, *, is_kept: bool) -> int:
    drawn_ = company.situations(seed, count)
    bare = {one.bare.name: one.bare for one in drawn_}
    alone = [company.answer(company.alone(one)) for one in bare.values()]
    found = [company.answer(one) for one in drawn_]
    print(f"seed {seed}, alone:      {company.figures(alone)}")
    print(f"seed {seed}, in company: {company.figures(found)}")
    for one in found:
        if one.misses():
            print(f"  {one.line()}")
    if is_kept:
        TABLE.write_text(table.with_company(TABLE.read_text(), seed, company.figures(found)))
    return 0 if company.reaches_bar(found) else 1


def _nights(first: int, seeds: int, terminals: int) -> int:
    from tests.triage.night_terminal import SIZES, complaints_seen

    wrong_nights = 0
    for seed in range(first, first + seeds):
        one = night(seed)
        complaints = one.complaints()
        wrong_nights += bool(complaints)
        objects = sum(len(trees) for trees in one.case.objects.values())
        print(
            f"night {seed}: {len(one.incidents) + len(one.measured)} incidents among {objects} objects, "
            f"{len(complaints)} wrong"
        )
        for text in complaints:
            print(f"  {text}")
    for seed in range(first, first + terminals):
        size = SIZES[seed % len(SIZES)]
        complaints = complaints_seen(seed, size)
        wrong_nights += bool(complaints)
        print(f"night {seed} in a terminal of {size[0]}x{size[1]}: {len(complaints)} wrong")
        for text in complaints:
            print(f"  {text}")
    return 1 if wrong_nights else 0


def _offers(given: argparse.Namespace) -> int:
    """Offers done, of real components on beds and of fixtures embedded: half of them behind a second wall."""
    assert ALL
    rng = random.Random(given.seed)
    found: list[OfferPlay] = []
    with given.results.open("a") if given.results else nullcontext() as kept:
        for one in _played(given, rng):
            found.append(one)
            if kept is not None:
                print(json.dumps(asdict(one)), file=kept, flush=True)
    for one in found:
        if not one.is_started:
            print(f"  {one.line()}")
    print(f"seed {given.seed}: {offer_plays.figures(found)}")
    if given.keep:
        if given.results:
            found = last_of_each(OfferPlay(**json.loads(line)) for line in given.results.open())
        OFFERS.write_text(offer_plays.page(found, str(given.seed)))
    return 0 if all(one.is_started for one in found if one.is_applied) else 1


def _played(given: argparse.Namespace, rng: random.Random) -> Iterator[OfferPlay]:
    if "bed" in given.where:
        yield from played_on_beds(_asked_on_beds(given, rng))
    if "embedded" in given.where:
        cases = [*fresh(given.seed, FRESH), *(one for one in read_cases() if not one.file.recorded.is_real)]
        walled = list(second_walls(read_cases()))
        plays = [("", one) for one in cases] + rng.sample(walled, min(len(walled), len(cases)))
        rng.shuffle(plays)
        plays = [one for one in plays if one[1].name.startswith(tuple(given.scripts) or "")]
        for wall, case in plays[: given.count or None]:
            yield from played_embedded([case], wall)


def _asked_on_beds(given: argparse.Namespace, rng: random.Random) -> list[tuple[Asked, str]]:
    """Each script as it is, and behind walls that are drawn for it."""
    real = [one for one in SCRIPTS.values() if one.source and one.source in (given.engines or [one.source])]
    real = [one for one in real if one.name.startswith(tuple(given.scripts) or "")]
    found: list[tuple[Asked, str]] = []
    for one in sorted(real, key=lambda each: each.name):
        walls = [wall for wall in BED_WALLS if can_stand(wall, one)]
        for wall in ("", *rng.sample(walls, min(given.walls, len(walls)))):
            has_second = not wall and one.can_second and rng.random() < SECOND_SHARE
            generation = rng.choice(given.generations) if one.has_generations else given.generations[0]
            found.append((Asked(one, rng.randrange(1000, 1_000_000), has_second, generation), wall))
    rng.shuffle(found)
    return found[: given.count or None]


FRESH = 60
SECOND_SHARE = 0.2
"""Of the plays that can have a second cause."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.triage")
    parser.add_argument("--table", type=Path, default=TABLE, help="where the table is written")
    commands = parser.add_subparsers(dest="command")
    asked = commands.add_parser("record", help="play scripts and keep what came of them")
    asked.add_argument("--seed", type=int, default=seed_of_commit(), help="by default drawn from the commit")
    asked.add_argument("--count", type=int, default=60, help="fresh cases from real components")
    asked.add_argument("--generations", nargs="+", default=[""], help="of the engines: newer, older")
    asked.add_argument("--to", type=Path, help="the folder to write to; by default a new one in /tmp")
    asked.add_argument(
        "--second", action="store_true", help="with --scripts: those that have a second cause, with it"
    )
    asked.add_argument("--scripts", nargs="+", default=[], help="those whose names begin so, not a draw")
    new = commands.add_parser("fresh", help="judge fixtures of a new seed, with other names: nothing is kept")
    new.add_argument("--seed", type=int, default=seed_of_commit(), help="by default drawn from the commit")
    new.add_argument("--count", type=int, default=60)
    beside = commands.add_parser("company", help="judge each cause beside three drawn neighbours")
    beside.add_argument("--seed", type=int, default=seed_of_commit(), help="by default drawn from the commit")
    beside.add_argument("--count", type=int, default=200)
    beside.add_argument("--keep", action="store_true", help="write the figures to RESULTS.md")
    commands.add_parser("absence", help="each case with each of its lists denied, in part, polled, stale")
    nights = commands.add_parser("nightshift", help="what Now says of nights with many incidents")
    nights.add_argument("--seed", type=int, default=seed_of_commit() % 1_000_000, help="the first of them")
    nights.add_argument("--seeds", type=int, default=20)
    nights.add_argument("--terminals", type=int, default=2, help="so many of them walked in a terminal, too")
    offered = commands.add_parser("offers", help="do every offer of each case, and see the job start")
    offered.add_argument(
        "--seed", type=int, default=seed_of_commit(), help="by default drawn from the commit"
    )
    offered.add_argument("--count", type=int, default=0, help="number of plays in each place (default: all)")
    offered.add_argument("--walls", type=int, default=1, help="second walls of each script (default: 1)")
    offered.add_argument("--engines", nargs="+", default=[], help="whose scripts are played on beds")
    offered.add_argument("--scripts", nargs="+", default=[], help="those whose names begin so")
    offered.add_argument("--results", type=Path, help="file to which a line a play is added; --keep reads it")
    offered.add_argument("--generations", nargs="+", default=[""], help="of the engines: newer, older")
    offered.add_argument("--where", nargs="+", default=["bed", "embedded"], choices=["bed", "embedded"])
    offered.add_argument("--keep", action="store_true", help="write what came of it to OFFERS.md")
    took = commands.add_parser("take", help="take cases that were recorded elsewhere into the corpus")
    took.add_argument("place", type=Path, help="a folder of cases, or a file of cockpit why --report")
    took.add_argument("--top", default="", help="of a report: the row that was the cause in truth")
    return parser


def _write_table(given: argparse.Namespace) -> int:
    """Judge the committed cases, write the table, and take what is right off the list."""
    found = judge.judged(read_cases())
    watched = judge.judged(read_cases(), watched_view_of)
    before = given.table.read_text() if given.table.exists() else ""
    given.table.write_text(table.page(found, watched, table.company_of(before)))
    LISTED.write_text(_lines(listed() & wrong(found)))
    for name in sorted(wrong(found) - listed()):
        print(f"no longer right: {name}")
    print(judge.figures(found))
    print(judge.offer_figures(found))
    return 0


COMMANDS: dict[str | None, Callable[[argparse.Namespace], int]] = {
    None: _write_table,
    "record": _record,
    "fresh": lambda given: _fresh(given.seed, given.count),
    "company": lambda given: _company(given.seed, given.count, is_kept=given.keep),
    "absence": lambda _: _absence(),
    "offers": _offers,
    "nightshift": lambda given: _nights(given.seed, given.seeds, given.terminals),
    "take": lambda given: _take(given.place, given.top),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """0, or 1 where scripts came to nothing, or fresh cases miss the bars that the committed ones reach."""
    parser = _parser()
    given = parser.parse_args(arguments)
    assert ALL
    if given.command == "take" and not given.place.is_dir() and given.top not in by_cause():
        parser.error(f"--top {given.top!r}: give the row of the catalogue that was the cause, such as taint")
    return COMMANDS[given.command](given)


if __name__ == "__main__":
    sys.exit(main())
