"""What controllers of pod templates share: a template's hash, and shares of a number of pods."""

import json
import math

from cockpit.sim.port import Tree

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def scaled(value: int | str, total: int, *, rounds_up: bool) -> int:
    """An IntOrString of a total: `25%` of it, or the number."""
    if isinstance(value, str):
        if not value.endswith("%"):
            return int(value)
        part = int(value[:-1]) * total / 100
        return math.ceil(part) if rounds_up else math.floor(part)
    return value


def template_hash(template: Tree) -> str:
    """A short name for a template: FNV-1a of its JSON in letters that spell nothing."""
    value = 2166136261
    for byte in json.dumps([template, 0], sort_keys=True).encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(value))
