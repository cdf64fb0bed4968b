"""Whose hands the remedy of a case is in: `hands.txt`, a line for each row of the catalogue."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.triage.case import Case

FILE = Path(__file__).parent / "hands.txt"
NOBODY = "nobody"
HANDS = ("user", "admin", NOBODY)


class Hands(NamedTuple):
    """`whose` is of HANDS; `why` is the remedy, or why nobody's change starts it."""

    whose: str
    why: str

    @property
    def is_somebody(self) -> bool:
        """True where an offer is due."""
        return self.whose != NOBODY


@cache
def all_hands() -> dict[str, Hands]:
    """By row, and by script (`volume-not-mounted-configmap-not-there`) where one differs from its row."""
    found = {}
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            name, whose, why = line.split(maxsplit=2)
            found[name] = Hands(whose, why)
    return found


def hands_of(case: Case) -> Hands:
    """Those of the row that is the right answer, which a script's own line goes before."""
    known = all_hands()
    return known.get(case.file.recorded.script) or known[case.file.top]
