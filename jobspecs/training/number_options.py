"""What a number on the command line has to be; the sentence that argparse writes where it is not."""

import argparse
import math
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """A whole number of that size or more."""

    def integer(text: str) -> int:
        if not text.isascii() or not text.removeprefix("-").isdigit():
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number: give one of {least} or more")
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is too small: give {least} or more")
        return int(text)

    return integer


def more_than_zero(text: str) -> float:
    """A number above 0."""
    number = _number(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is too small: give more than 0")
    return number


def not_negative(text: str) -> float:
    """A number of 0 or more."""
    number = _number(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is too small: give 0 or more")
    return number


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return number
