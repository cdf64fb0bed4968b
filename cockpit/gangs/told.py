"""Why a workload or a group of pods waits, as a value: the sentence beside what it was made from."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from cockpit.catalogue.cause import Cause
from cockpit.gangs.wording import say
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.sureness import Sureness

Fact = tuple[str, str]


class Told(NamedTuple):
    """One reason. `cause` is its row of the catalogue, "" where what the engine said was not understood.

    `is_blocked` where waiting alone never helps; `missing` base units of `resource` in `flavor` are wanting.
    `message` holds the engine's own words, said since `since_seconds`.
    """

    sentence: str
    cause: str = ""
    is_blocked: bool = False
    sureness: Sureness = Sureness.SAID
    facts: tuple[Fact, ...] = ()
    missing: int | None = None
    flavor: str = ""
    resource: str = ""
    message: str = ""
    since_seconds: float | None = None


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


def members_missing(group: PodGroup, pods: Iterable[Pod]) -> Told | None:
    """That members of the group were not made yet; None where all that it waits for are there."""
    there = sum(1 for pod in pods if not pod.is_finished)
    if group.min_member is None or there >= group.min_member:
        return None
    facts = (("some", str(there)), ("all", str(group.min_member)), ("group", group.name))
    return Told(f"its group has {there} of {group.min_member} pods", Cause.GANG_MEMBERS_MISSING, facts=facts)
