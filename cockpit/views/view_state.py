"""What the person asked a table to show: filter, order, namespace. And the filter's grammar.

Grammar: words apart by blanks, all of them must hold. `llm` is a substring anywhere in the row;
`state:running` a substring of one field, `state=running` the whole field; `gpus>4`, `duty<5%`, `age>=2h`,
`memory>40Gi` compare numbers; a leading `!` inverts a word; `"two words"` and `why:"two words"` quote
blanks. What is unknown is neither larger nor smaller than anything.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from cockpit.k8s.quantity import parse_quantity
from cockpit.model.duration import parse_duration
from cockpit.model.namespaces import EVERY, Namespaces


@dataclass(frozen=True, slots=True)
class ViewState:
    """`sort` is a column's id, "" for the view's own order; `namespaces` those whose rows are shown;
    `is_detail_folded`: a person folded the detail beside the rows away; `shown` and `hidden`: columns that a
    person wants before others, and does not want."""

    filter: str = ""
    sort: str = ""
    descending: bool = False
    namespaces: Namespaces = EVERY
    is_detail_folded: bool = False
    shown: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class Measure(Enum):
    """How a number typed into a filter is read for a column."""

    TEXT = "text"
    COUNT = "number"
    RATIO = "percent"
    BYTES = "bytes"
    SECONDS = "duration"


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a filter. `field` "" and `op` "" is free text; `number` is set for comparisons."""

    field: str
    op: str
    text: str
    number: float | None = None
    inverted: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter. `problem` is a sentence where the text was not understood; `terms` is then empty.
    `doubt` is one for the case that nothing matches: a word that was taken as text may have meant a field."""

    terms: tuple[Term, ...] = ()
    problem: str = ""
    doubt: str = ""


_WORD = re.compile(
    r"""(?P<not>!)?(?:(?P<field>[A-Za-z][A-Za-z0-9_-]*)(?P<op>>=|<=|!=|[:=<>]))?(?P<text>"[^"]*"|[^\s"]+)?""",
)
COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">": lambda have, want: have > want,
    "<": lambda have, want: have < want,
    ">=": lambda have, want: have >= want,
    "<=": lambda have, want: have <= want,
    "=": lambda have, want: have == want,
}


def parse_filter(text: str, fields: Mapping[str, Measure]) -> Filter:
    """A filter for a table with these fields. Never raises: a mistake is told in `problem`."""
    terms: list[Term] = []
    doubt = ""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _WORD.match(text, at)
        if match is None or match.end() == at:
            return Filter(
                problem=f"Filter: the quote at {text[at : at + 12]!r} is not closed; add a closing quote."
            )
        if match.end() < len(text) and not text[match.end()].isspace():
            word = text[at:].split(maxsplit=1)[0]
            return Filter(problem=f"Filter: {word!r} has a quote inside a word; quote the whole value.")
        at = match.end()
        one = _term(match, fields)
        if isinstance(one, str):
            return Filter(problem=one)
        if match["field"] and not one.field:
            doubt = doubt or _no_field(match["field"].lower(), fields)
        terms.append(one)
    return Filter(tuple(terms), doubt=doubt)


def _term(match: re.Match[str], fields: Mapping[str, Measure]) -> Term | str:
    field = (match["field"] or "").lower()
    op = match["op"] or ""
    raw = match["text"]
    inverted = match["not"] is not None
    if raw is None:
        what = f"after {match.group()!r} " if match.group() else ""
        return f"Filter: a value is missing {what}(write {match.group()}value)."
    value = raw.strip('"') if raw.startswith('"') else raw
    if field and field not in fields:
        if op == ":":
            # an image or a time holds a colon: not a field of this table, so plain text
            return Term("", "", f"{field}:{value}".casefold(), inverted=inverted)
        return _no_field(field, fields)
    if op == "!=":
        op, inverted = "=", not inverted
    measure = fields.get(field, Measure.TEXT)
    if not field or op == ":" or (op == "=" and measure is Measure.TEXT):
        return Term(field, op, value.casefold(), inverted=inverted)
    if measure is Measure.TEXT:
        return f"Filter: {field!r} is text and cannot be compared with {op}; write {field}:{value}."
    number = read_number(value, measure)
    if number is None:
        example = f"{field}{op}{_EXAMPLE[measure]}"
        return f"Filter: {value!r} is not a {measure.value} for {field!r}; write for example {example}."
    return Term(field, op, value.casefold(), number, inverted)


def _no_field(name: str, fields: Mapping[str, Measure]) -> str:
    return f"Filter: no field {name!r} here; fields are {', '.join(sorted(fields))}."


_EXAMPLE = {
    Measure.TEXT: "word",
    Measure.COUNT: "4",
    Measure.RATIO: "50%",
    Measure.BYTES: "40Gi",
    Measure.SECONDS: "2h",
}


def read_number(text: str, measure: Measure) -> float | None:
    """A number as a person types it, in base units: 50% or 50 is 0.5, 2h is 7200, 40Gi is bytes.

    None where it is not one.
    """
    try:
        if measure is Measure.RATIO:
            return parse_quantity(text.removesuffix("%")) / 100
        if measure is Measure.SECONDS:
            return parse_duration(text)
        return parse_quantity(text)
    except ValueError:
        return None
