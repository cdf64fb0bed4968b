"""`/api/v1/query` and `/api/v1/query_range` of the HTTP API, and their errors (web/api/v1/api.go)."""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from cockpit.clock import Clock
from cockpit.sim.prometheus.evaluate import Evaluation, Labels, Target, Unanswerable
from cockpit.sim.prometheus.promql import BadQuery, duration_seconds, parse

if TYPE_CHECKING:
    from aiohttp import web

PATH = "/prometheus"
MOST_POINTS = 11_000
MOST_SAMPLES = 500_000
_TURN_SECONDS = 0.01


class QueryApi:
    """Answers from `targets` by a clock: the cluster's."""

    def __init__(self, targets: Sequence[Target], clock: Clock) -> None:
        self._targets = targets
        self._clock = clock

    def add_to(self, app: "web.Application") -> None:
        """Serve it below `PATH`; whatever else a Prometheus serves is not found."""
        for name, answer in (("query", self.query), ("query_range", self.query_range)):
            for add in (app.router.add_get, app.router.add_post):
                add(f"{PATH}/api/v1/{name}", _handler(answer))

    async def query(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """`data` of an instant query. Raises BadQuery, Unanswerable."""
        now = self._clock.now()
        at = _time(asked, "time", now)
        expr = _expr(asked)
        found = Evaluation(self._targets, now).at(expr, at)
        rows = [{"metric": dict(labels), "value": [at, written(value)]} for labels, value in found]
        return {"resultType": "vector", "result": rows}

    async def query_range(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """`data` of a range query. Raises BadQuery, Unanswerable."""
        start, end = _time(asked, "start"), _time(asked, "end")
        if end < start:
            raise BadQuery('invalid parameter "end": end timestamp must not be before start time')
        step = _step(asked)
        if (end - start) / step > MOST_POINTS:
            raise BadQuery(
                "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query "
                "resolution (?step=XX)"
            )
        expr, evaluation = _expr(asked), Evaluation(self._targets, self._clock.now())
        series: dict[Labels, list[tuple[float, str]]] = {}
        loop, samples = asyncio.get_running_loop(), 0
        turn = loop.time()
        for place in range(math.floor((end - start) / step + 1e-9) + 1):
            at = start + place * step
            for labels, value in evaluation.at(expr, at):
                series.setdefault(labels, []).append((at, written(value)))
                samples += 1
            if samples > MOST_SAMPLES:
                raise Unanswerable(
                    "query processing would load too many samples into memory in query execution"
                )
            if loop.time() - turn > _TURN_SECONDS:  # the cluster lives in the same loop
                await asyncio.sleep(0)
                turn = loop.time()
        rows = [{"metric": dict(labels), "values": points} for labels, points in series.items()]
        return {"resultType": "matrix", "result": rows}


def _handler(answer: Callable[[Mapping[str, str]], Any]) -> Callable[["web.Request"], Any]:
    async def handle(request: "web.Request") -> "web.Response":
        from aiohttp import web

        asked = {**request.query}
        if request.method == "POST":
            asked |= {key: text for key, text in (await request.post()).items() if isinstance(text, str)}
        try:
            tree: dict[str, Any] = {"status": "success", "data": await answer(asked)}
            status = 200
        except BadQuery as error:
            tree, status = {"status": "error", "errorType": "bad_data", "error": str(error)}, 400
        except Unanswerable as error:
            tree, status = {"status": "error", "errorType": "execution", "error": str(error)}, 422
        return web.Response(status=status, body=msgspec.json.encode(tree), content_type="application/json")

    return handle


def _expr(asked: Mapping[str, str]) -> Any:
    try:
        return parse(asked.get("query", ""))
    except BadQuery as error:
        raise BadQuery(f'invalid parameter "query": {error}') from None


def _time(asked: Mapping[str, str], name: str, default: float | None = None) -> float:
    text = asked.get(name, "")
    if not text and default is not None:
        return round(default, 3)
    try:
        found = float(text)
    except ValueError:
        try:
            found = datetime.fromisoformat(text).timestamp()
        except (ValueError, OverflowError):
            found = math.nan
    if not math.isfinite(found) or abs(found) > 1e11:
        raise BadQuery(f'invalid parameter "{name}": cannot parse "{text}" to a valid timestamp')
    return round(found, 3)


def _step(asked: Mapping[str, str]) -> float:
    text = asked.get("step", "")
    try:
        found = float(text)
    except ValueError:
        try:
            found = duration_seconds(text)
        except ValueError:
            found = math.nan
    if not math.isfinite(found):
        raise BadQuery(f'invalid parameter "step": cannot parse "{text}" to a valid duration')
    if found <= 0:
        raise BadQuery(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted. '
            "Try a positive integer"
        )
    return found


def written(value: float) -> str:
    """A value as Prometheus writes it: the shortest digits, never an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(float(value))
    return format(Decimal(text), "f").removesuffix(".0") if "e" in text else text.removesuffix(".0")
