"""The part of PromQL that the cockpit asks, read into a tree (prometheus/promql/parser/generated_parser.y).

Selectors with matchers, `rate` of a range, `timestamp`, `label_replace`, `vector`, `sum`, `count`, `max` with
`by`, a comparison with a number, `or`. Anything else is refused as Prometheus refuses what it cannot read.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Final

import msgspec

_DEEPEST: Final = 64
_LONGEST: Final = 1 << 16
NAME: Final = "__name__"
AGGREGATIONS: Final = ("sum", "count", "max")
COMPARISONS: Final = ("==", "!=", ">=", "<=", ">", "<")

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<duration>\d+(?:ms|[smhdwy])(?:\d+(?:ms|[smhdwy]))*)
  | (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
  | (?P<word>[a-zA-Z_:][a-zA-Z0-9_:]*)
  | (?P<mark>=~|!~|==|!=|>=|<=|[-+*/%^(){}\[\],=<>@])
    )""",
    re.VERBOSE,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'"}
_UNITS: Final = {
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
    "w": 604_800.0,
    "y": 31_536_000.0,
}


class BadQuery(Exception):
    """What is wrong with a query or with a parameter; Prometheus' `bad_data`."""


class Matcher(msgspec.Struct, frozen=True):
    """One condition of a selector."""

    label: str
    operator: str  # one of = != =~ !~
    value: str
    pattern: re.Pattern[str] | None = None

    def matches(self, value: str) -> bool:
        """Whether a label's value is meant; a label that is not there has the value ""."""
        is_it = value == self.value if self.pattern is None else self.pattern.fullmatch(value) is not None
        return is_it == (self.operator in ("=", "=~"))


class Selector(msgspec.Struct, frozen=True, dict=True):
    """Series, and of how many seconds where a range of them is meant."""

    matchers: tuple[Matcher, ...]
    range_seconds: float = 0.0

    def may_have(self, label: str, value: str) -> bool:
        """Whether a series with this value of the label may be meant."""
        return all(one.matches(value) for one in self.matchers if one.label == label)

    @cached_property
    def names(self) -> "MeantNames":
        """The metrics that are meant."""
        return MeantNames(self)


class MeantNames:
    """Contains the names that a selector means."""

    def __init__(self, selector: Selector) -> None:
        self._selector = selector
        self._known: dict[str, bool] = {}
        self._any: dict[tuple[str, ...], bool] = {}

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self._known:
            self._known[name] = self._selector.may_have(NAME, name)
        return self._known[name]

    def has_any(self, names: tuple[str, ...]) -> bool:
        """Whether some of these are meant."""
        if names not in self._any:
            self._any[names] = any(name in self for name in names)
        return self._any[names]


class FunctionCall(msgspec.Struct, frozen=True):
    """A function of a vector; `words` are its other arguments."""

    function: str
    of: "Expr"
    words: tuple[str, ...] = ()


class Aggregation(msgspec.Struct, frozen=True):
    """One of `AGGREGATIONS` by labels."""

    function: str
    by: tuple[str, ...]
    of: "Expr"


class Compared(msgspec.Struct, frozen=True):
    """What of a vector compares so with a number."""

    of: "Expr"
    operator: str
    number: float


class Either(msgspec.Struct, frozen=True):
    """`or` of vectors, in their order."""

    parts: tuple["Expr", ...]


class Constant(msgspec.Struct, frozen=True):
    """`vector(NUMBER)`."""

    number: float


Expr = Selector | FunctionCall | Aggregation | Compared | Either | Constant


def parse(text: str) -> Expr:
    """The tree of a query. Raises BadQuery."""
    if not text.strip():
        raise BadQuery("unknown position: parse error: no expression found in input")
    if len(text) > _LONGEST:
        raise BadQuery(f"the query is longer than {_LONGEST} characters")
    reader = _Reader(text)
    found = reader.expression()
    if reader.kind:
        raise reader.unexpected()
    if isinstance(found, Selector) and found.range_seconds:
        raise BadQuery(reader.says('invalid expression type "range vector" for range query'))
    return found


def duration_seconds(text: str) -> float:
    """`90s`, `1h30m`. Raises ValueError."""
    parts = re.findall(r"(\d+)(ms|[smhdwy])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(text)
    return sum(int(number) * _UNITS[unit] for number, unit in parts)


class _Reader:
    """Reads tokens from left to right; `kind` "" is the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._next = 0
        self._depth = 0
        self.kind = self.token = ""
        self._take()

    def says(self, what: str) -> str:
        before = self._text[: self._at]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return f"{line}:{column}: parse error: {what}"

    def unexpected(self) -> BadQuery:
        seen = f"unexpected {self.token!r}" if self.kind else "unexpected end of input"
        return BadQuery(self.says(f"{seen}; it is not of what the cockpit asks"))

    def _take(self) -> str:
        had = self.token
        found = _TOKEN.match(self._text, self._next)
        if found is None:
            self._at = len(self._text) - len(self._text[self._next :].lstrip())
            if self._at < len(self._text):
                raise BadQuery(self.says(f"unexpected character: {self._text[self._at]!r}"))
            self.kind = self.token = ""
            return had
        self.kind = str(found.lastgroup)
        self.token = found[self.kind]
        self._at, self._next = found.start(self.kind), found.end()
        return had

    def _expect(self, token: str) -> None:
        if self.token != token or self.kind == "string":
            raise self.unexpected()
        self._take()

    def _has(self, token: str) -> bool:
        if self.token == token and self.kind != "string":
            self._take()
            return True
        return False

    def expression(self) -> Expr:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadQuery(self.says("the query is nested too deeply"))
        parts = [self._compared()]
        while self._has("or"):
            parts.append(self._compared())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _compared(self) -> Expr:
        found = self._primary()
        if self.kind == "mark" and self.token in COMPARISONS:
            operator = self._take()
            return Compared(found, operator, self._number())
        return found

    def _primary(self) -> Expr:
        if self._has("("):
            found = self.expression()
            self._expect(")")
            return found
        if self.token == "{":
            return self._selector("")
        if self.kind != "word":
            raise self.unexpected()
        at, word = self._at, self._take()
        if word in AGGREGATIONS and self.token in ("(", "by"):
            return self._aggregation(word)
        if self.token != "(":
            return self._selector(word)
        makers: dict[str, Callable[[], Expr]] = {
            "vector": self._vector,
            "rate": self._rate,
            "timestamp": lambda: FunctionCall("timestamp", self.expression()),
            "label_replace": self._label_replace,
        }
        make = makers.get(word)
        if make is None:
            self._at = at
            raise BadQuery(self.says(f'unknown function with name "{word}"'))
        self._expect("(")
        made = make()
        self._expect(")")
        return made

    def _aggregation(self, function: str) -> Aggregation:
        by: list[str] = []
        if self._has("by"):
            self._expect("(")
            while self.kind == "word":
                by.append(self._take())
                if not self._has(","):
                    break
            self._expect(")")
        self._expect("(")
        of = self.expression()
        self._expect(")")
        return Aggregation(function, tuple(by), of)

    def _vector(self) -> Constant:
        return Constant(self._number())

    def _rate(self) -> FunctionCall:
        of = self.expression()
        if not isinstance(of, Selector) or not of.range_seconds:
            raise BadQuery(self.says('expected type range vector in call to function "rate"'))
        return FunctionCall("rate", of)

    def _label_replace(self) -> FunctionCall:
        of = self.expression()
        words = []
        for _ in range(4):
            self._expect(",")
            words.append(self._string())
        _pattern(words[3])
        return FunctionCall("label_replace", of, tuple(words))

    def _selector(self, name: str) -> Selector:
        matchers = [Matcher(NAME, "=", name)] if name else []
        if self._has("{"):
            while not self._has("}"):
                if self.kind != "word":
                    raise self.unexpected()
                label = self._take()
                if self.token not in ("=", "!=", "=~", "!~"):
                    raise self.unexpected()
                operator, value = self._take(), self._string()
                pattern = _pattern(value) if "~" in operator else None
                matchers.append(Matcher(label, operator, value, pattern))
                if self.token != "}":
                    self._expect(",")
        if all(one.matches("") for one in matchers):
            raise BadQuery(self.says("vector selector must contain at least one non-empty matcher"))
        seconds = 0.0
        if self._has("["):
            if self.kind != "duration":
                raise self.unexpected()
            seconds = duration_seconds(self._take())
            self._expect("]")
        return Selector(tuple(matchers), seconds)

    def _number(self) -> float:
        if self.kind != "number":
            raise self.unexpected()
        return float(self._take())

    def _string(self) -> str:
        if self.kind != "string":
            raise self.unexpected()
        return re.sub(r"\\(.)", lambda one: _ESCAPES.get(one[1], one[0]), self._take()[1:-1])


def _pattern(text: str) -> re.Pattern[str]:
    """As RE2 reads it, but for what the two read differently. Raises BadQuery."""
    if re.search(r"\(\?(?![a-zA-Z:]|P<)|\\\d", text):
        raise BadQuery(f"error parsing regexp: invalid or unsupported Perl syntax: `{text}`")
    try:
        return re.compile(text, re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadQuery(f"error parsing regexp: {error}: `{text}`") from None
