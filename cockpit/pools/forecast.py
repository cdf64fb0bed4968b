"""What more machines of a pool would cost and how long they usually take, as far as this host knows."""

from typing import NamedTuple

from cockpit.model.pool import Pool
from cockpit.model.price import Prices
from cockpit.model.remembered import Growth
from cockpit.pools.price import node_hourly
from cockpit.pools.usual import Usual, usual

GPUS_UP = "GPUs up"
READY = "ready"
"""Steps of the ladder: a machine with GPUs has come once they can be used."""


class PoolExperience(NamedTuple):
    """What machines cost, and growths that are over, the newest first."""

    prices: Prices = Prices()
    growths: tuple[Growth, ...] = ()


class Forecast(NamedTuple):
    """Of so many more nodes. None is not known."""

    hourly: float | None
    money: str  # the same with its currency, "" where it is not known
    usual: Usual | None

    @property
    def minutes(self) -> str:
        """`about 9 min`, "" where it is not known."""
        if self.usual is None:
            return ""
        seconds = self.usual.seconds
        return f"about {max(1, round(seconds / 60))} min" if seconds >= 60 else f"about {round(seconds)} s"

    @property
    def short(self) -> tuple[str, ...]:
        """`about 9 min`, `$64 an hour`; what is not known is left out."""
        return tuple(one for one in (self.minutes, f"{self.money} an hour" if self.money else "") if one)


def forecast(pool: Pool, nodes: int, known: PoolExperience, *, has_gpus: bool = True) -> Forecast:
    """For `nodes` more of the pool."""
    each = node_hourly(pool, known.prices)
    hourly = None if each is None else each * nodes
    step = GPUS_UP if has_gpus else READY
    return Forecast(
        hourly,
        "" if hourly is None else known.prices.money(hourly),
        usual(known.growths, pool.key, pool.machine, step),
    )


def cost_line(pool: Pool, nodes: int, found: Forecast, known: PoolExperience) -> str:
    """What it costs, or why that is not known."""
    if found.hourly is None:
        if len({kind.machine for kind in pool.kinds}) > 1:
            return "cost not known: which of its machine types comes is up to the owner"
        return f"cost not known: the setting prices has no price for {pool.machine or 'its machine type'}"
    each = known.prices.money(found.hourly / nodes)
    return f"costs {found.money} an hour more" + (f", {each} a node" if nodes > 1 else "")


def time_line(pool: Pool, found: Forecast) -> str:
    """How long it usually takes, and what that rests on."""
    if found.usual is None:
        return "expected time not known: this host has not seen this pool grow"
    count = found.usual.growths
    whose = "of this pool" if found.usual.is_of_pool else f"of pools of {pool.machine}"
    seen = f"{count} growth{'s' * (count != 1)} {whose}"
    return f"usually there in {found.minutes.removeprefix('about ')}, from {seen}"
