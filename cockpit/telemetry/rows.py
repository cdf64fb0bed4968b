"""What a Prometheus answers, decoded once and typed. Rows of another shape are counted and left out.

Labels of an instant query's rows may stay as they came: bytes that are only taken apart when they are new.
Sizes are bounded before anything is made of them: a body of some MiB could unfold to gigabytes.
The API's shape: prometheus.io/docs/prometheus/latest/querying/api/#instant-vectors.
"""

from collections import deque
from collections.abc import Iterable
from itertools import chain
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec

from cockpit.sanitise import clean
from cockpit.telemetry.sample import LONGEST_LABEL, Sample

R = TypeVar("R")

MOST_ROWS = 150_000
"""One quantity of 20,000 cards, cut into seven instances each, is less."""
MOST_ODD_PARTS = 1_000_000
"""Commas of an answer that is read row by row: as many parts may have to be held."""
LARGEST_LABELS_BYTES = 16 * 1024
LONGEST_NUMBER = 64
MOST_WARNINGS = 100
_SAID = 300


class Row(msgspec.Struct, frozen=True, gc=False):
    """`metric` is the JSON object of the labels, `value` the time (epoch seconds) and the value as text."""

    metric: msgspec.Raw
    value: tuple[float, Annotated[str, msgspec.Meta(max_length=LONGEST_NUMBER)]]


class Matrix(msgspec.Struct, frozen=True, gc=False):
    """As `Row`, with a value for each step."""

    metric: msgspec.Raw
    values: list[tuple[float, Annotated[str, msgspec.Meta(max_length=LONGEST_NUMBER)]]]


class Found(NamedTuple, Generic[R]):
    """Rows that can be read, how many cannot, and what the server warns of and remarks, cleaned."""

    rows: list[R]
    odd: int
    warnings: tuple[str, ...]
    infos: tuple[str, ...] = ()


class Unreadable(Exception):
    """An answer that is none; `sentence` goes on behind the server's name."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class _Data(msgspec.Struct, Generic[R]):
    result: R
    resultType: str = ""  # noqa: N815 - the API's name


class _Answer(msgspec.Struct, Generic[R]):
    data: _Data[R] | None = None
    status: str = ""
    error: Any = None
    warnings: Any = None
    infos: Any = None


_NOT_JSON = "answers in something that is not JSON; check the URL."
_NOT_PROMETHEUS = "answers in a form that is not Prometheus'; check the URL."
_LABELS = msgspec.json.Decoder(dict[str, str])
_VECTOR, _MATRIX = msgspec.json.Decoder(_Answer[list[Row]]), msgspec.json.Decoder(_Answer[list[Matrix]])
_PARTS = msgspec.json.Decoder(_Answer[list[msgspec.Raw]])
_ROW, _MATRIX_ROW = msgspec.json.Decoder(Row), msgspec.json.Decoder(Matrix)
_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def vector(body: bytes | bytearray) -> Found[Row]:
    """Rows of an instant query, labels as they came. Raises Unreadable."""
    found = _found(body, "vector", _VECTOR, _ROW)
    if _are_numbers([row.value[1] for row in found.rows]):
        return found
    good = [row for row in found.rows if _is_number(row.value[1])]
    return Found(good, found.odd + len(found.rows) - len(good), found.warnings, found.infos)


def vector_trees(body: bytes | bytearray) -> Found[dict[str, Any]]:
    """Rows of an instant query with labels taken apart, cleaned and in bounds. Raises Unreadable."""
    found = vector(body)
    return _with_labels(found, [(row.metric, "value", row.value) for row in found.rows])


def matrix_trees(body: bytes | bytearray) -> Found[dict[str, Any]]:
    """The same of a range query. Raises Unreadable."""
    found = _found(body, "matrix", _MATRIX, _MATRIX_ROW)
    return _with_labels(found, [(row.metric, "values", row.values) for row in found.rows])


def _with_labels(found: Found[Any], rows: list[tuple[msgspec.Raw, str, Any]]) -> Found[dict[str, Any]]:
    trees: list[dict[str, Any]] = []
    for metric, name, value in rows:
        try:
            trees.append({"metric": labels_of(metric), name: value})
        except ValueError:
            continue
    return Found(trees, found.odd + len(rows) - len(trees), found.warnings, found.infos)


def labels_of(raw: bytes | msgspec.Raw) -> dict[str, str]:
    """Labels as texts that a terminal may be given. Raises ValueError where they are no texts or too long."""
    raw = bytes(raw)
    if len(raw) > LARGEST_LABELS_BYTES:
        raise ValueError("labels of one series are longer than any exporter's")
    labels = _LABELS.decode(raw)
    # without escapes JSON holds no control codes, so there is nothing to clean in ASCII, but for the length
    if raw.isascii() and b"\\" not in raw and b"\x7f" not in raw and _longest(labels) <= LONGEST_LABEL:
        return labels
    return {clean(name, LONGEST_LABEL): clean(value, LONGEST_LABEL) for name, value in labels.items()}


def _longest(labels: dict[str, str]) -> int:
    return max(map(len, chain(labels, labels.values())), default=0)


def samples(rows: Iterable[Row]) -> list[Sample]:
    """Rows taken apart; those whose labels or values cannot be read are left out."""
    found: list[Sample] = []
    for row in rows:
        try:
            labels = labels_of(row.metric)
            found.append(Sample(labels.get("__name__", ""), labels, float(row.value[1]), row.value[0]))
        except ValueError:
            continue
    return found


def _are_numbers(texts: list[str]) -> bool:
    """Whether each `_is_number`: told without a call for each of 100,000."""
    try:
        deque(map(float, texts), maxlen=0)
    except ValueError:
        return False
    together = "".join(texts)
    return together.isascii() and "_" not in together


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and "_" not in text


def _found(
    body: bytes | bytearray,
    kind: str,
    whole: "msgspec.json.Decoder[_Answer[list[R]]]",
    single: "msgspec.json.Decoder[R]",
) -> Found[R]:
    if body.count(b"{") > 2 * MOST_ROWS:
        raise Unreadable(f"answers with more than {MOST_ROWS} series; record fewer GPU series.")
    try:
        answer = whole.decode(body)
    except _ERRORS:
        return _row_by_row(body, kind, single)
    return Found(_result(answer, kind), 0, _texts(answer.warnings), _texts(answer.infos))


def _row_by_row(body: bytes | bytearray, kind: str, single: "msgspec.json.Decoder[R]") -> Found[R]:
    """The rows that have their shape, where not all have."""
    if body.count(b",") > MOST_ODD_PARTS:
        raise Unreadable("answers with rows that cannot be read, too many to sort them out; check the URL.")
    try:
        answer = _PARTS.decode(body)
    except msgspec.ValidationError:
        raise Unreadable(_NOT_PROMETHEUS) from None
    except RecursionError:
        raise Unreadable("answers in JSON that is nested too deeply to be read; check the URL.") from None
    except _ERRORS:
        raise Unreadable(_NOT_JSON) from None
    parts = _result(answer, kind)
    rows: list[R] = []
    for part in parts:
        try:
            rows.append(single.decode(part))
        except _ERRORS:
            continue
    return Found(rows, len(parts) - len(rows), _texts(answer.warnings), _texts(answer.infos))


def _result(answer: _Answer[list[R]], kind: str) -> list[R]:
    if answer.status == "error":
        said = clean(answer.error, _SAID) if isinstance(answer.error, str) else ""
        raise Unreadable(f"refuses: {said or 'no reason given'}")
    if answer.data is None:
        raise Unreadable(_NOT_PROMETHEUS)
    told = answer.data.resultType
    if told and told != kind:
        raise Unreadable(f"answers with a {clean(told, 40)} where a {kind} was expected; check the URL.")
    return answer.data.result


def _texts(warnings: Any) -> tuple[str, ...]:
    if not isinstance(warnings, list):
        return ()
    return tuple(clean(item, _SAID) for item in warnings[:MOST_WARNINGS] if isinstance(item, str))
