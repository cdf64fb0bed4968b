"""What clouds and owners of pools say no by: one table (`failure_classes.toml`) for what we asked ourselves
(reads, writes), and for what whoever makes the machines was told, in a status, a condition or an event."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from cockpit.pools.owner import FailureClass


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One class; its columns are explained in the file."""

    kind: str
    patterns: tuple[str, ...] = ()
    status: int | None = None
    asked: tuple[str, str] | None = None
    told: tuple[str, str] | None = None

    def fits(self, text: str) -> bool:
        """Whether a code and a text are of this class."""
        expression = "|".join(self.patterns)
        if self.status is not None:  # of an answer: not the same number of nodes or cores
            code = r"(?:code|status|error|http)\W{0,3}(?:code\W{0,3})?"
            expression += rf"|^{self.status}\b|{code}{self.status}\b"
        return re.search(expression, text, re.IGNORECASE) is not None


@cache  # read when the first failure is classed: not while the cockpit starts
def _rows() -> list[_Row]:
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)["row"], list[_Row])


class Classed(NamedTuple):
    """What a code and a text mean, with a sentence and a remedy for people. `said` are the words it was read
    from, the code where there are none."""

    kind: FailureClass
    sentence: str
    remedy: str
    said: str = ""

    @property
    def whole(self) -> str:
        """Sentence, remedy and the own words of whoever said no in one."""
        more = f" ({self.said})" if self.said else ""
        return f"{self.sentence}; {self.remedy}{more}"


def classed(code: str, said: str, *, who: str = "") -> Classed:
    """The class of a failure by its code and its text; OTHER where nobody knows them. `who` is the cloud that
    answered so to us, "" where it did to whoever makes the machines."""
    text = f"{code} {said}"
    for row in _rows():
        words = row.asked if who else row.told
        if words is not None and row.fits(text):
            sentence, remedy = (part.format(who=who) for part in words)
            return Classed(FailureClass[row.kind.upper()], sentence, remedy, said or code)
    raise AssertionError("the last row fits everything")
