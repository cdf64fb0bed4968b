"""Rows of an instant query whose labels stay as they came: bytes that are only taken apart when they are new.

The API's shape: prometheus.io/docs/prometheus/latest/querying/api/#instant-vectors.
"""

from collections.abc import Iterable
from typing import Any, TypedDict

import msgspec

from cockpit.telemetry.sample import Sample, from_prometheus


class Row(msgspec.Struct, frozen=True, gc=False):
    """`metric` is the JSON object of the labels, `value` the time (epoch seconds) and the value as text."""

    metric: msgspec.Raw
    value: tuple[float, str]


class _Data(TypedDict):
    result: list[Row]


class _Answer(TypedDict):
    data: _Data


_READ = msgspec.json.Decoder(_Answer)


def answer(body: bytes) -> Any:
    """The tree of an answer down to its rows. Raises msgspec.DecodeError for what is no JSON."""
    try:
        return _READ.decode(body)
    except msgspec.ValidationError:
        tree = msgspec.json.decode(body)
        data = tree.get("data") if isinstance(tree, dict) else None
        result = data.get("result") if isinstance(data, dict) else None
        if not isinstance(result, list):
            return tree
        # some row has another shape: the others count
        return {"data": {"result": [_row(one) for one in from_prometheus(result)]}}


def _row(one: Sample) -> Row:
    labels = msgspec.json.encode(one.labels)
    return Row(msgspec.Raw(labels), (one.sampled_seconds or 0.0, repr(one.value)))


def samples(rows: Iterable[Row]) -> list[Sample]:
    """The same, taken apart; rows whose labels or values cannot be read are left out."""
    found: list[Sample] = []
    for row in rows:
        try:
            labels = msgspec.json.decode(row.metric, type=dict[str, str])
            found.append(Sample(labels.get("__name__", ""), labels, float(row.value[1]), row.value[0]))
        except (msgspec.DecodeError, ValueError):
            continue
    return found
