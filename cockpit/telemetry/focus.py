"""What is on screen, as far as telemetry is concerned: it decides what is queried, and how often."""

import enum
from collections.abc import Callable
from dataclasses import dataclass

from cockpit.telemetry.history import Past


class RefreshPace(enum.Enum):
    """How much the numbers matter now."""

    LIVE = "live"
    """A page of GPU numbers is open."""
    SLOW = "slow"
    """Only the sums in the header are in sight."""
    NONE = "none"
    """No number is on screen, or the user is away: nothing is queried."""


@dataclass(frozen=True, slots=True)
class Focus:
    """`nodes` are those on screen (empty: no node in particular), `details` those whose page is open, `pods`
    the uids of pods whose CPU and network are on screen, `past` whose last hour is drawn."""

    pace: RefreshPace = RefreshPace.LIVE
    nodes: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    past: Past | None = None


EVERYTHING = Focus()
"""The whole fleet at full pace: what a command of the command line wants."""

NOBODY = Focus(RefreshPace.NONE)

Looking = Callable[[], Focus]


def everything() -> Focus:
    return EVERYTHING
