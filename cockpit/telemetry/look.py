"""What somebody looks at now, as far as telemetry is concerned: it decides what is asked, and how often."""

import enum
from collections.abc import Callable
from dataclasses import dataclass

from cockpit.telemetry.past import Past


class Pace(enum.Enum):
    """How much the numbers matter now."""

    LIVE = "live"
    """A page of GPU numbers is open."""
    SLOW = "slow"
    """Only the sums in the header are in sight."""
    NONE = "none"
    """No number is in sight, or nobody is there: nothing is asked."""


@dataclass(frozen=True, slots=True)
class Look:
    """`nodes` are those on screen (empty: no node in particular), `details` those whose page is open, `pods`
    the uids of pods whose CPU and network are on screen, `past` whose last hour is drawn."""

    pace: Pace = Pace.LIVE
    nodes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    past: Past | None = None


EVERYTHING = Look()
"""The whole fleet at full pace: what a command of the command line wants."""

NOBODY = Look(Pace.NONE)

Looking = Callable[[], Look]


def everything() -> Look:
    return EVERYTHING
