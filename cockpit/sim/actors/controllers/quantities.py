"""Quantities of Kubernetes as exact numbers, and back in the shortest form the API server would write."""

from collections.abc import Mapping
from decimal import Decimal

_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def parse_quantity(text: str) -> Decimal:
    """`500m`, `8`, `1.5Gi`, `1e3`. Raises ValueError for what is none."""
    number = text.rstrip("KMGTPEikmnu") if not text[-1:].isdigit() else text
    suffix = text[len(number) :]
    try:
        if suffix in _BINARY:
            return Decimal(number) * (1 << (10 * _BINARY[suffix]))
        return Decimal(number).scaleb(_DECIMAL[suffix])
    except (ArithmeticError, KeyError):
        raise ValueError(f"{text!r} is no quantity") from None


def format_quantity(resource: str, amount: Decimal) -> str:
    """Memory and storage in binary units, all else in decimal ones."""
    if resource.rpartition(".")[2] in ("memory", "storage", "ephemeral-storage"):
        for suffix, power in reversed(_BINARY.items()):
            unit = 1 << (10 * power)
            if amount and amount % unit == 0:
                return f"{int(amount // unit)}{suffix}"
    if amount == amount.to_integral_value():
        return str(int(amount))
    return f"{int((amount * 1000).to_integral_value(rounding='ROUND_CEILING'))}m"


def add_up(total: dict[str, Decimal], more: Mapping[str, Decimal]) -> None:
    """Add amounts by name to a sum of one's own."""
    for name, amount in more.items():
        total[name] = total.get(name, Decimal(0)) + amount
