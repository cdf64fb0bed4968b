"""Quantities as the API server computes and prints them (apimachinery: api/resource)."""

import re
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

import msgspec

_FORM = re.compile(r"^([+-]?(?:\d+\.?\d*|\.\d+))(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?$")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_NANO = Decimal("1e-9")
_MILLI = Decimal("1e-3")
_MOST_POWER = 300
_EXACT = Context(prec=1000)


class Quantity(msgspec.Struct, frozen=True):
    """An amount in base units. `form` is how it is printed: decimal, binary, or exponent."""

    amount: Decimal = Decimal(0)
    form: str = "decimal"

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum, in the form of the first that is not zero."""
        return Quantity(self.amount + other.amount, self.form if self.amount else other.form)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.amount - other.amount, self.form if self.amount else other.form)

    def __str__(self) -> str:
        """The canonical text: `500m`, `1Gi`, `2k`."""
        amount = self.amount
        if not amount:
            return "0"
        whole = amount == amount.to_integral_value()
        if self.form == "binary" and abs(amount) >= 1024 and whole:
            number, power = int(amount), 0
            while number % 1024 == 0 and power < len(_BINARY) - 1:
                number //= 1024
                power += 1
            return f"{number}{_BINARY[power]}"
        power = -9
        number = int(amount.scaleb(9).to_integral_value(ROUND_CEILING))
        while number % 1000 == 0 and power < 18:
            number //= 1000
            power += 3
        if self.form == "exponent":
            return f"{number}e{power}" if power else str(number)
        return f"{number}{_SUFFIX[power]}"


def quantity(value: Any) -> Quantity:
    """A quantity from its JSON: a text, or a number. Raises ValueError for what is none."""
    match = _FORM.match(str(value))
    if match is None:
        raise ValueError(f"{value!r} is no quantity: give a number with a suffix such as m, k, Mi or Gi.")
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix in _BINARY[1:]:
        amount = _EXACT.multiply(number, Decimal(1 << 10 * _BINARY.index(suffix)))
        return Quantity(_no_finer(amount, _NANO), "binary")
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    if abs(power) > _MOST_POWER:
        raise ValueError(f"{value!r} is beyond what a quantity can be: give a smaller exponent.")
    amount = _no_finer(_EXACT.scaleb(number, Decimal(power)), _NANO)
    return Quantity(amount, "decimal" if suffix in _DECIMAL else "exponent")


def _no_finer(amount: Decimal, unit: Decimal) -> Decimal:
    """Rounded up to whole units."""
    if amount == amount.to_integral_value():
        return amount
    return amount.quantize(unit, ROUND_CEILING, _EXACT)


Amounts = dict[str, Quantity]


def amounts(tree: Any) -> Amounts:
    """A resource list from its JSON, rounded up to thousandths as the API server's defaults round it.

    What is no quantity is left out: the kind's own check names it.
    """
    found: Amounts = {}
    for name, value in (tree or {}).items():
        try:
            one = quantity(value)
        except ValueError:
            continue
        found[name] = Quantity(_no_finer(one.amount, _MILLI), one.form)
    return found


def add_to(total: Amounts, more: Amounts) -> None:
    """Add by name into a sum of one's own."""
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to(total: Amounts, least: Amounts) -> None:
    """Raise each to at least what the other has."""
    for name, amount in least.items():
        if name not in total or amount.amount > total[name].amount:
            total[name] = amount
