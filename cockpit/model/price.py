"""What machines cost: a table by machine type that the user writes; the cockpit asks no cloud for prices."""

import math

import msgspec

from cockpit.sanitise import clean


class MachinePrice(msgspec.Struct, frozen=True, kw_only=True):
    """Money for one machine. `billed_seconds` is what the provider counts by: 1 or 60."""

    hourly: float
    spot_hourly: float | None = None
    billed_seconds: float = 1.0


class Prices(msgspec.Struct, frozen=True, kw_only=True):
    """The setting `prices`. Where it does not name a machine type, its price is unknown, which is None."""

    currency: str = "$"
    machines: tuple[tuple[str, MachinePrice], ...] = ()

    def hourly(self, machine: str, *, is_spot: bool = False) -> float | None:
        """Money for one machine of that type and hour; None where the table does not say."""
        found = dict(self.machines).get(machine)
        if found is None:
            return None
        return found.spot_hourly if is_spot else found.hourly

    def cost(self, machine: str, nodes: int, seconds: float, *, is_spot: bool = False) -> float | None:
        """Cost of these machines over that time, each billed up to the next whole second or minute."""
        hourly = self.hourly(machine, is_spot=is_spot)
        if hourly is None:
            return None
        unit = dict(self.machines)[machine].billed_seconds
        return nodes * hourly * math.ceil(max(0.0, seconds) / unit) * unit / 3_600

    def money(self, amount: float) -> str:
        """`$64`, `$0.42`, `1,280 EUR`: two places below ten, whole numbers from a hundred on."""
        size = abs(amount)
        places = 2 if size < 10 and round(size, 2) % 1 else 1 if size < 100 and round(size, 1) % 1 else 0
        number = f"{size:,.{places}f}"
        sign = "-" if amount < 0 else ""
        if self.currency.isalpha():
            return f"{sign}{number} {self.currency}"
        return f"{sign}{self.currency}{number}"


def is_currency(text: str) -> bool:
    """True for a sign or a code of at most four characters."""
    return 0 < len(text) <= 4 and text == clean(text) and not any(item.isspace() for item in text)
