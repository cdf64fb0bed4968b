"""Many objects of one kind with the same trouble as one row of *Now*: `200 queues`."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from cockpit.catalogue import row_of
from cockpit.gangs.sentence import counted
from cockpit.model.finding import Finding, Subject
from cockpit.model.store_reader import StoreReader
from cockpit.triage.judgement import qualified
from cockpit.triage.remedies import LIST

MANY: Final = 10
"""Rows of one kind of object with one cause that stand by themselves (own choice: half a screen)."""
FEW: Final = 5
"""To so few they have to fall before they stand by themselves again."""


class AlikeRows:
    """Which rows are one at the moment; kept between looks, so that they do not come and go."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store
        self._together: set[tuple[str, str, str]] = set()

    def joined(self, rows: Iterable[Finding]) -> list[Finding]:
        """The rows, with those of more than `MANY` objects of one kind and cause as one. What has no cause
        has words and a remedy for one object, and stays by itself."""
        shapes: dict[tuple[str, str, str], list[Finding]] = {}
        for row in rows:
            kind = (row.root or row.subject).kind
            shapes.setdefault((row.finding, row.cause, kind if row.cause else row.key), []).append(row)
        before = self._together
        self._together = {
            shape for shape, some in shapes.items() if len(some) > (FEW if shape in before else MANY)
        }
        found: list[Finding] = []
        for shape, some in shapes.items():
            found += [self._one(shape[2], some)] if shape in self._together else some
        return found

    def _one(self, kind: str, rows: list[Finding]) -> Finding:
        oldest = min(rows, key=lambda row: (row.since_seconds or 0.0, row.key))
        jobs = sum(row.others + (row.subject.kind == "job") for row in rows)
        tail = "" if kind == "job" or not jobs else f"; {counted(jobs, 'job')}"
        whole = replace(
            oldest,
            subject=Subject("alike", "", counted(len(rows), kind, _plural(kind))),
            root=None,
            sentence=row_of(oldest.cause).meaning + tail,
            words="",
            evidence=(),
            funnel=None,
            row=f"{oldest.cause}/{kind}",
            is_bad=any(row.is_bad for row in rows),
            gpus=sum(row.gpus for row in rows),
            since_seconds=min(
                (row.since_seconds for row in rows if row.since_seconds is not None), default=None
            ),
            remedies=(LIST,),
            others=sum(1 + row.others for row in rows) - 1,
            alike=tuple(rows),
        )
        return qualified(whole, self._store)


def _plural(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"
