"""Why a workload waits, as a value: the sentence beside what it was made from."""

from collections.abc import Mapping
from typing import NamedTuple

from cockpit.gangs.wording import say
from cockpit.model.sureness import Sureness

Fact = tuple[str, str]


class Told(NamedTuple):
    """One reason. `cause` is its row of the catalogue, "" where what Kueue said was not understood.

    `is_blocked` where waiting alone never helps; `missing` base units of `resource` in `flavor` are wanting.
    """

    sentence: str
    cause: str = ""
    is_blocked: bool = False
    sureness: Sureness = Sureness.SAID
    facts: tuple[Fact, ...] = ()
    missing: int | None = None
    flavor: str = ""
    resource: str = ""


def told(
    cause: str,
    text: str,
    values: Mapping[str, str],
    *,
    is_blocked: bool = False,
    sureness: Sureness = Sureness.SAID,
    missing: int | None = None,
) -> Told:
    """A reason whose sentence names `values`; they are its facts, whole, also where the sentence shortens."""
    facts = tuple((name, value) for name, value in values.items() if value)
    return Told(
        say(text, **values),
        cause,
        is_blocked,
        sureness,
        facts,
        missing,
        values.get("flavor", ""),
        values.get("resource", ""),
    )


def plain(text: str) -> str:
    """Foreign text that becomes a part of a pattern for `told`."""
    return text.replace("{", "(").replace("}", ")")
