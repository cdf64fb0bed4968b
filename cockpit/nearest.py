"""The names nearest to one that is not known: a sentence names a few of them, never three hundred."""

from collections.abc import Iterable
from difflib import SequenceMatcher

from cockpit.sanitise import clean

MOST_NAMES = 5
MOST_LISTED = 8
"""Names listed where none is alike."""
LONGEST_NAME = 120
_SIMILAR = 0.5
"""Share of letters in common (difflib) from which a name is worth naming."""


def nearest(wanted: str, known: Iterable[str], most: int = MOST_NAMES) -> tuple[str, ...]:
    """At most `most` of the known names, the most alike first; () where none is alike.

    A name that holds the wanted one is alike, and one whose last part is: names of clouds begin alike.
    """
    plain = wanted.casefold()
    matcher = SequenceMatcher(b=plain, autojunk=False)
    ranked: list[tuple[float, str]] = []
    for name in dict.fromkeys(known):
        low = name.casefold()
        if plain and plain in low:
            ranked.append((1.0 + len(plain) / len(low), name))
            continue
        best = 0.0
        for part in {low, _last_part(low)}:
            matcher.set_seq1(part)
            if matcher.real_quick_ratio() >= _SIMILAR and matcher.quick_ratio() >= _SIMILAR:
                best = max(best, matcher.ratio())
        if best >= _SIMILAR:
            ranked.append((best, name))
    ranked.sort(key=lambda pair: (-pair[0], pair[1]))
    return tuple(name for _, name in ranked[:most])


def nearest_words(wanted: str, known: Iterable[str], word: str = "available") -> str:
    """`did you mean a, b?`; where none is alike `available: a, b, c and 9 more`, by `word`."""
    names = sorted(dict.fromkeys(known))
    if not names:
        return f"{word}: none"
    if alike := nearest(wanted, names):
        return f"did you mean {_listed(alike)}?"
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return f"{word}: {_listed(names[:MOST_LISTED])}{more}"


def _last_part(name: str) -> str:
    """What follows the last separator: the part by which names that begin alike differ."""
    for separator in ("/", "_", ":", "@"):
        name = name.rpartition(separator)[2] or name
    return name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(clean(name, LONGEST_NAME) for name in names)
