"""Commands of clouds that are shipped: what a configuration names by one word."""

import tomllib
from functools import cache
from pathlib import Path

import msgspec

from cockpit.model.reach import Commands


@cache  # read where a configuration names one: not while the cockpit starts
def profiles() -> dict[str, Commands]:
    """By the word of the configuration."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Commands])
