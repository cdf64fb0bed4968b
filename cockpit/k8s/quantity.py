"""Quantities of Kubernetes: what the API server accepts, how it rounds, and how it writes them.

Source: apimachinery pkg/api/resource/quantity.go (v0.36).
"""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Any

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_FORM = re.compile(
    r"(?=.)([+-]?)0*([0-9]*)(?:\.([0-9]*))?(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?"
)
_NANO = Decimal("1e-9")
_MOST = Decimal(2**63 - 1)
_EXACT = Context(prec=1000)
_MOST_LETTERS, _MOST_POWER = 400, 300
"""Longer or larger is no amount of anything, and would be worked out digit by digit."""
_REMEMBERED = 4096
"""A cluster says the same few amounts over and over."""
_FAST_DIGITS = 18
"""Digits that always fit an int64: such texts stay as they were written where they are canonical."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount in base units. `form` is how it is written: decimal, binary or exponent."""

    amount: Decimal = Decimal(0)
    form: str = "decimal"

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum, in the form of the first that is not zero."""
        return Quantity(self.amount + other.amount, self.form if self.amount else other.form)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.amount - other.amount, self.form if self.amount else other.form)

    def __lt__(self, other: "Quantity") -> bool:
        """By amount, in any form."""
        return self.amount < other.amount

    def __bool__(self) -> bool:
        """False for zero."""
        return bool(self.amount)

    def rounded_up(self, unit: Decimal) -> "Quantity":
        """No finer than `unit`, away from zero."""
        return Quantity(_no_finer(self.amount, unit), self.form)

    def __str__(self) -> str:
        """The canonical text: no fraction, the largest suffix that loses nothing (`500m`, `1Gi`, `2k`)."""
        if not self.amount:
            return "0"
        # A fraction of a binary unit keeps what it is by a decimal suffix: 1.1Ki is 1126400m.
        is_whole = self.amount == self.amount.to_integral_value()
        if self.form == "binary" and is_whole and abs(self.amount) >= 1024:
            return _written(int(self.amount), 1024, ("", *_BINARY))
        number = int(_no_finer(self.amount, _NANO).scaleb(9, _EXACT))
        power = -9
        while number % 1000 == 0 and (self.form == "exponent" or power < 18):
            number, power = number // 1000, power + 3
        if self.form == "exponent":
            return f"{number}e{power}" if power else str(number)
        return f"{number}{_SUFFIX[power]}"


def _written(number: int, base: int, suffixes: tuple[str, ...]) -> str:
    step = 0
    while number % base == 0 and step < len(suffixes) - 1:
        number, step = number // base, step + 1
    return f"{number}{suffixes[step]}"


def _no_finer(amount: Decimal, unit: Decimal) -> Decimal:
    if amount == amount.to_integral_value():
        return amount
    return amount.quantize(unit, ROUND_UP, _EXACT)


def quantity(value: object) -> Quantity:
    """A quantity from its JSON, a text or a number. Raises ValueError for what the API server refuses.

    Blanks around it are dropped, a text without a digit ("Gi") is zero, finer than a billionth is rounded up,
    and a binary amount ends at 2**63 - 1: all as the server has it.
    """
    text = value if isinstance(value, str) else str(value)
    if len(text) > _MOST_LETTERS:
        raise _refused(text)
    return _parsed(text)


@lru_cache(maxsize=_REMEMBERED)
def _parsed(text: str) -> Quantity:
    found = _FORM.fullmatch(text.strip(" "))
    if found is None:
        raise _refused(text)
    sign, whole_digits, fraction, suffix = found[1], found[2] or "0", found[3] or "0", found[4] or ""
    number = Decimal(f"{whole_digits}.{fraction}")
    if suffix in _BINARY:
        amount = min(_no_finer(_EXACT.multiply(number, Decimal(1 << _BINARY[suffix])), _NANO), _MOST)
        form = "decimal" if 0 < amount < 1 else "binary"
    else:
        power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
        if power < -_MOST_POWER or len(whole_digits) + power > _MOST_POWER:
            raise ValueError(f"{text!r} is beyond what a quantity can be: give a smaller number")
        amount = _no_finer(_EXACT.scaleb(number, Decimal(power)), _NANO)
        form = "decimal" if suffix in _DECIMAL else "exponent"
    return Quantity(-amount if sign == "-" else amount, form)


def _refused(text: str) -> ValueError:
    told = text[:_MOST_LETTERS]
    return ValueError(f"{told!r} is not a valid quantity: give a number with a suffix such as m, k, Mi or Gi")


@lru_cache(maxsize=_REMEMBERED)
def _canonical(text: str) -> str:
    parsed = _parsed(text)
    text = text.strip(" ")
    return text if parsed and _is_kept(text) else str(parsed)


def canonical(value: object) -> str:
    """The same quantity as the API server writes it. Raises ValueError like `quantity`.

    A short text that is as good as canonical stays as it was written: "+1", "5." and "00012" do.
    """
    text = value if isinstance(value, str) else str(value)
    if len(text) > _MOST_LETTERS:
        raise _refused(text)
    return _canonical(text)


def _is_kept(text: str) -> bool:
    found = _FORM.fullmatch(text)
    assert found is not None
    digits, fraction, suffix = found[2] or "0", found[3] or "", found[4] or ""
    if suffix in _BINARY:
        room = 15 - len(digits) - int(_BINARY[suffix] * 3 / 10) - 1
        return not fraction and room >= 0 and int(digits) % 8 != 0
    power = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])
    scale = power - len(fraction)
    both = digits + fraction
    if len(both) > _FAST_DIGITS or scale < -9:
        return False
    return scale % 3 == 0 and not both.endswith("000") and not both.startswith("0")


@lru_cache(maxsize=_REMEMBERED)
def parse_quantity(text: str) -> float:
    """The number in base units that a person wrote: "500m" is 0.5, "16Gi" is 17179869184.0.

    Raises ValueError like `quantity`, and for a unit without a number, which the API server reads as zero.
    """
    number = float(quantity(text).amount)
    if math.isinf(number) or not any(item.isdigit() for item in text):
        raise _refused(text)
    return number


@lru_cache(maxsize=_REMEMBERED)
def whole(text: str) -> int:
    """Whole base units (bytes, devices), rounded up as the scheduler counts. Raises ValueError."""
    return int(quantity(text).amount.to_integral_value(ROUND_UP))


@lru_cache(maxsize=_REMEMBERED)
def millicores(text: str) -> int:
    """CPU in thousandths of a core, rounded up: "0.5" and "500m" are both 500. Raises ValueError."""
    return int(_EXACT.scaleb(quantity(text).amount, Decimal(3)).to_integral_value(ROUND_UP))


def base_units(resource: str, value: object) -> int:
    """What the scheduler counts of a resource: cpu in millicores, all others whole. Raises ValueError."""
    text = value if isinstance(value, str) else str(value)
    return millicores(text) if resource == "cpu" else whole(text)


def amounts_of(resources: Any) -> dict[str, int]:
    """A resource list in base units (cpu in millicores) by name; what is not a valid quantity is left out."""
    found: dict[str, int] = {}
    if isinstance(resources, dict):
        for name, value in resources.items():
            try:
                found[name] = base_units(name, value)
            except ValueError:
                continue
    return found
