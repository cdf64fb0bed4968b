"""Quantities: `500m`, `1.5Gi`, `2e3`, and the one way in which the server writes each."""

import re
from fractions import Fraction
from functools import lru_cache

REGEXP = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
MUST_MATCH = f"quantities must match the regular expression '{REGEXP}'"
"""What the server says of anything else."""

_SYNTAX = re.compile(
    r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?"
)
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SIGN = {exponent: suffix for suffix, exponent in _DECIMAL.items()}


_REMEMBERED = 4096
"""An estate says the same few amounts over and over."""


@lru_cache(_REMEMBERED)
def parsed(text: str) -> tuple[Fraction, str]:
    """The value, and how it was written: "binary", "decimal" or "exponent".

    Raises ValueError with the server's sentence for anything else.
    """
    found = _SYNTAX.fullmatch(text)
    if found is None:
        raise ValueError(MUST_MATCH)
    sign, digits, suffix = found[1], found[2], found[3] or ""
    value = Fraction(digits if digits[0] != "." else f"0{digits}") * (-1 if sign == "-" else 1)
    if suffix in _BINARY:
        return value * 2 ** _BINARY[suffix], "binary"
    if suffix in _DECIMAL:
        return value * Fraction(10) ** _DECIMAL[suffix], "decimal"
    return value * Fraction(10) ** int(suffix[1:]), "exponent"


@lru_cache(_REMEMBERED)
def canonical(text: str) -> str:
    """The same quantity as the server writes it: no fraction, the largest suffix that loses nothing."""
    value, form = parsed(text)
    # Fractions keep what they are by a decimal suffix: 1.1Ki is 1126400m.
    if form == "binary" and abs(value) >= 1024 and value.denominator == 1:
        return _binary(value)
    return _decimal(value, "exponent" if form == "exponent" else "decimal")


def _rounded(value: Fraction) -> int:
    """Away from zero, as the server rounds what is too fine for it."""
    whole = -(-abs(value).numerator // abs(value).denominator)
    return whole if value >= 0 else -whole


def _binary(value: Fraction) -> str:
    whole = value.numerator
    suffix = ""
    for name in _BINARY:
        if whole % 1024:
            break
        whole, suffix = whole // 1024, name
    return f"{whole}{suffix}"


def _decimal(value: Fraction, form: str) -> str:
    nano = _rounded(value * 10**9)
    if nano == 0:
        return "0"
    exponent = -9
    while nano % 1000 == 0 and (form == "exponent" or exponent < 18):
        nano, exponent = nano // 1000, exponent + 3
    if form == "exponent":
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_SIGN[exponent]}"
