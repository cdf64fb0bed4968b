"""Rules of faults read from plain data, with one sentence about the first thing that is wrong.

- match: {kind: pods, verb: [list, watch], user: viewer}  # patterns with * and ?; all must fit
  do: {status: {code: 429, retry_after: 2}}              # exactly one fault
  start: 30s                                             # from then on, since the script began
  last: 2m                                               # for so long
  skip: 1                                                # let so many pass first
  count: 5                                               # then so many at most
  chance: 0.5                                            # each with this probability
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from cockpit.errors import BadInput
from cockpit.sim.durations import seconds

Path = tuple[str | int, ...]
Settings = dict[str, Any]
MATCH = ("method", "path", "user", "verb", "kind", "namespace", "name")
FIELDS = ("match", "do", "start", "last", "skip", "count", "chance")


class BadFault(BadInput):
    """What is wrong with a rule; `path` leads to it from the list of rules."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        self.why = why
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        super().__init__(f"faults{where}: {why}")


class FaultRule(msgspec.Struct, frozen=True):
    """One rule. `match` names what must fit and the patterns for it; `settings` belong to `fault`."""

    fault: str
    settings: Settings
    match: tuple[tuple[str, tuple[str, ...]], ...] = ()
    start_seconds: float = 0.0
    last_seconds: float | None = None
    skip: int = 0
    count: int | None = None
    chance: float = 1.0

    @property
    def end_seconds(self) -> float:
        """When the rule ends, since the script began; the start where it does not end."""
        return self.start_seconds + (self.last_seconds or 0.0)


Read = Callable[[Any, Path], Any]


def _number(least: int, most: int, what: str) -> Read:
    def read(value: Any, path: Path) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise BadFault(path, f"{value!r} is no {what}; give a whole number from {least} to {most}.")
        return value

    return read


def _share(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise BadFault(path, f"{value!r} is no share; give a number above 0 and up to 1.")
    return float(value)


def _duration(value: Any, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadFault(path, f"{value!r} is no duration; write 90, 90s or 2m30s.")
    try:
        return seconds(value)
    except ValueError as error:
        raise BadFault(path, f"{error}.") from None


def _text(value: Any, path: Path) -> str:
    if not isinstance(value, str) or not value:
        raise BadFault(path, f"{value!r} is no text; give a word or a sentence.")
    return value


def _flag(value: Any, path: Path) -> bool:
    if not isinstance(value, bool):
        raise BadFault(path, f"{value!r} is not true or false.")
    return value


_COUNT = _number(0, 1_000_000_000, "count")
FAULTS: dict[str, dict[str, Read]] = {
    "status": {
        "code": _number(400, 599, "HTTP status of a failure"),
        "reason": _text,
        "message": _text,
        "retry_after": _number(0, 86_400, "number of seconds"),
    },
    "delay": {"seconds": _duration},
    "cut": {"after_bytes": _COUNT, "after_events": _COUNT, "orderly": _flag},
    "gone": {"after_events": _COUNT},
    "drop": {},
    "lose_answer": {},
    "log_in_page": {},
    "expire_token": {},
}
"""The faults and their settings; the first may stand alone: `status: 503` is `status: {code: 503}`."""


def read_rules(faults: Sequence[Mapping[str, Any]]) -> tuple[FaultRule, ...]:
    """Rules from the `faults` of a scenario. Raises BadFault for the first thing that is wrong."""
    if not isinstance(faults, Sequence) or isinstance(faults, str):
        raise BadFault((), f"{faults!r} is no list of rules; begin each with a dash.")
    return tuple(_rule(item, (number,)) for number, item in enumerate(faults))


def _mapping(value: Any, path: Path, known: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadFault(path, f"{value!r} has no fields; give some of {', '.join(known)}.")
    for name in value:
        if name not in known:
            raise BadFault((*path, str(name)), f"no such field; known are {', '.join(known)}.")
    return value


def _rule(item: Any, path: Path) -> FaultRule:
    given = _mapping(item, path, FIELDS)
    if "do" not in given:
        raise BadFault((*path, "do"), f"missing; say what happens, one of {', '.join(FAULTS)}.")
    fault, settings = _do(given["do"], (*path, "do"))
    match = _match(given.get("match") or {}, (*path, "match"))
    if fault == "gone":
        if not any(word == "verb" for word, _ in match):
            match = (*match, ("verb", ("watch",)))
        elif ("verb", ("watch",)) not in match:
            raise BadFault(
                (*path, "match", "verb"), f"{fault} happens to watches only; give watch or leave it out."
            )
    if fault == "expire_token" and not any(word == "user" for word, _ in match):
        raise BadFault((*path, "match", "user"), "missing; name the user whose token runs out.")

    def read(word: str, how: Read, default: Any) -> Any:
        return how(given[word], (*path, word)) if word in given else default

    return FaultRule(
        fault,
        settings,
        match,
        read("start", _duration, 0.0),
        read("last", _duration, None),
        read("skip", _COUNT, 0),
        read("count", _number(1, 1_000_000_000, "count"), None),
        read("chance", _share, 1.0),
    )


def _match(value: Any, path: Path) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = []
    for word, patterns in _mapping(value, path, MATCH).items():
        several = patterns if isinstance(patterns, list | tuple) else [patterns]
        if not several:
            raise BadFault((*path, word), "an empty list fits nothing; leave the field out for all.")
        found.append((word, tuple(_text(one, (*path, word)) for one in several)))
    return tuple(found)


def _do(value: Any, path: Path) -> tuple[str, Settings]:
    given = _mapping(value, path, tuple(FAULTS))
    if len(given) != 1:
        raise BadFault(path, f"{len(given)} faults at once; give exactly one of {', '.join(FAULTS)}.")
    fault, settings = next(iter(given.items()))
    known = FAULTS[fault]
    path = (*path, fault)
    if not known:
        if settings is not True and settings is not None and settings != {}:
            raise BadFault(path, f"{settings!r} says nothing here; write {fault}: true.")
        return fault, {}
    main = next(iter(known))
    if not isinstance(settings, Mapping):
        settings = {} if settings is None else {main: settings}
    read = {
        word: known[word](one, (*path, word)) for word, one in _mapping(settings, path, tuple(known)).items()
    }
    if fault == "cut" and {"after_bytes", "after_events"} <= set(read):
        raise BadFault(path, "after_bytes and after_events exclude each other; give one.")
    if fault not in ("cut", "gone") and main not in read:
        raise BadFault((*path, main), f"missing; {fault} needs it.")
    return fault, read
