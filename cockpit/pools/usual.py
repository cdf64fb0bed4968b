"""How long machines of a pool usually take, learnt from growths that are over."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import NamedTuple

from cockpit.model.remembered import Growth
from cockpit.pools.ladder import Rung, Usually

MOST = 30
"""Of the newest growths: a pool gets slower or faster over the months."""


class Usual(NamedTuple):
    """The median of so many growths. `is_of_pool` False: of other pools with the same machine type."""

    seconds: float
    growths: int
    is_of_pool: bool


def usual(growths: Iterable[Growth], pool_key: str, machine_type: str, step: str) -> Usual | None:
    """Seconds from *asked* to that step; None where nobody saw one get there. `growths`: newest first."""
    known = [(one, seconds) for one in growths if (seconds := one.seconds_to(step)) is not None]
    own = [seconds for one, seconds in known if one.pool_key == pool_key][:MOST]
    if own:
        return Usual(median(own), len(own), is_of_pool=True)
    alike = [seconds for one, seconds in known if machine_type and one.machine_type == machine_type][:MOST]
    return Usual(median(alike), len(alike), is_of_pool=False) if alike else None


def usual_wait(growths: Sequence[Growth], pool_key: str, machine_type: str) -> Usual | None:
    """Seconds from *asked* until a machine is used; where nobody saw that, until its GPUs are up."""
    return usual(growths, pool_key, machine_type, Rung.USED) or usual(
        growths, pool_key, machine_type, Rung.GPUS_UP
    )


def usual_between(
    growths: Iterable[Growth], pool_key: str, machine_type: str, steps: tuple[str, str]
) -> Usual | None:
    """The same from one step to a later one."""
    shifted = (
        Growth(
            pool_key=one.pool_key,
            asked_seconds=one.asked_seconds,
            machine_type=one.machine_type,
            stages=(("between", later - earlier),),
        )
        for one in growths
        if (later := one.seconds_to(steps[1])) is not None
        and (earlier := 0.0 if steps[0] == "asked" else one.seconds_to(steps[0])) is not None
        and later >= earlier
    )
    return usual(shifted, pool_key, machine_type, "between")


def usually_of(growths: Sequence[Growth], pool_key: str, machine_type: str) -> Usually:
    """Answers how long machines of that pool usually take from one step to a later one."""

    def usually(earlier: Rung, later: Rung) -> float | None:
        found = usual_between(growths, pool_key, machine_type, (earlier, later))
        return None if found is None else found.seconds

    return usually
