"""Which of all that blocks a thing is told first, and what is told behind it. Pure."""

from collections.abc import Iterable, Sequence

import msgspec

from cockpit.catalogue import Permanence, is_story, lasts, yields
from cockpit.model.finding import Finding
from cockpit.model.sureness import Sureness

_SURE = (Sureness.PROVED, Sureness.SAID, Sureness.INFERRED, Sureness.UNKNOWN)


def judged(blockers: Sequence[Finding | None]) -> Finding | None:
    """The blocker that is told first, with the others behind it in `then`; None without any.

    What never passes comes before what passes when somebody acts, and that before what passes by itself; of
    equals what is proved before what is said and that before what is inferred; what says less than another
    (a column of the catalogue) and what names no cause comes last; a thing's own cause comes before what
    several do to each other.
    """
    found = list(_each_once(one for one in blockers if one is not None))
    if len(found) < 2:
        return found[0] if found else None
    ordered = sorted(found, key=lambda one: _rank(one, found))
    first, *others = ordered
    return msgspec.structs.replace(first, then=(*first.then, *others))


def _rank(one: Finding, among: list[Finding]) -> tuple[int, Permanence, bool, int]:
    says_less = any(other is not one and yields(one.cause, other.cause) for other in among)
    generality = 2 if not one.cause else 1 if says_less else 0
    return generality, lasts(one), is_story(one.cause), _SURE.index(one.sureness)


def _each_once(blockers: Iterable[Finding]) -> Iterable[Finding]:
    """Of blockers of one cause and the same words the first."""
    seen: set[tuple[str, str]] = set()
    for one in blockers:
        key = (one.cause, one.sentence)
        if key not in seen:
            seen.add(key)
            yield one
