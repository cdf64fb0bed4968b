"""Whether what `get` printed of a mode may be printed: written without a look at how it came about."""

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from tests.hostile.modes import ALL, BY_KEY, NONE, REST
from tests.hostile.truth import CARDS_EACH, NODES, RIGHT, VICTIM, uuid

BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
CARDS = {uuid(node, index) for node in NODES for index in range(CARDS_EACH)}


def is_obeyed(text: str) -> bool:
    """True where a terminal would do something else than show it."""
    return any(one in BIDI or unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in text)


def texts(tree: Any) -> Iterator[str]:
    """Every text of a tree, names too."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for one in tree:
            yield from texts(one)
    elif isinstance(tree, dict):
        for name, one in tree.items():
            yield name
            yield from texts(one)


def numbers(card: dict[str, Any]) -> dict[str, float]:
    """The readings of a card that are numbers."""
    return {name: card[name] for name in RIGHT if isinstance(card.get(name), int | float)}


def is_right(card: dict[str, Any]) -> bool:
    """Every reading is there and true."""
    found = numbers(card)
    return all(abs(found.get(name, -1.0) - of) <= of * 1e-6 for name, of in RIGHT.items())


def faults(found: dict[str, Any]) -> list[str]:
    """What is wrong with one mode's prints, nothing where all is well."""
    mode = BY_KEY[found["key"]]
    if "error" in found:
        return [f"ended: {found['error']}"]
    wrong = [f"internal error: {one}" for one in found["faults"].values()]
    notes = "\n".join(found["notes"])
    if mode.says and not re.search(mode.says, notes):
        wrong.append(f"says {notes[:200]!r}, not {mode.says!r}")
    odd = [note for note in found["notes"] if is_obeyed(note) or len(note) > 4_200]
    wrong += [f"a note with control codes, or too long: {note[:80]!r}" for note in odd]
    for name, text in found.items():
        if name.endswith("table") and is_obeyed(text.replace("\n", "")):
            wrong.append(f"control codes in {name}")
        if name.endswith("json") and any(is_obeyed(one) for one in texts(json.loads(text))):
            wrong.append(f"control codes in {name}")
    return wrong + list(_numbers(found, mode.numbers))


def _numbers(found: dict[str, Any], wanted: str) -> Iterator[str]:
    items = json.loads(found["gpus json"])["items"]
    nodes = json.loads(found["nodes json"])["items"]
    cards = {one["uuid"]: one for one in items}
    every = [*items, *(card for node in nodes for card in node["gpus"])]
    zero = {card["uuid"] for card in every if any(not of for of in numbers(card).values())}
    if zero:
        yield f"0 for an unknown of {sorted(zero)[:3]}"
    if re.search(r"(?<![\d.,])0 ?%", found["gpus table"] + found["nodes table"] + found["jobs table"]):
        yield "0% in a table"
    own = [cards[one] for one in CARDS & cards.keys() if wanted != REST or one != VICTIM]
    if wanted == NONE:
        known = [card["uuid"] for card in every if numbers(card)]
        if known:
            yield f"numbers of {known[:3]} although nothing can be known"
    elif wanted in (ALL, REST):
        missing = CARDS - cards.keys() - ({VICTIM} if wanted == REST else set())
        bad = [card["uuid"] for card in own if not is_right(card)]
        if missing or bad:
            yield f"missing {sorted(missing)[:3]}, wrong {bad[:3]}"
