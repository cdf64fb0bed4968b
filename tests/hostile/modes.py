"""Ways in which a metrics server may misbehave, as data. Nothing here knows how the cockpit reads answers."""

import gzip
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.hostile.truth import VICTIM, Row

ESCAPE = "OWNED\x1b]0;OWNED\x07\x1b[2J\x9b31m"
BIDI = "OWNED\u202egnp\u2066x\u200f"

ALL, REST, ANY, NONE = "all", "rest", "any", "none"
"""Cards whose numbers have to be right: all; all but the victim; any (each is right or not known); none."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What is done to a truthful answer, in this order: its rows, its tree, its text, its bytes, its head.

    `script` names a way of speaking that has no answer of its own (`tests.hostile.server`). `says` is a pattern
    that what is told on standard error has to match, "" where nothing has to be told.
    """

    name: str
    group: str
    numbers: str
    says: str = ""
    rows: Callable[[list[Row]], list[Any]] | None = None
    tree: Callable[[dict[str, Any]], Any] | None = None
    text: Callable[[str], str] | None = None
    body: Callable[[bytes], bytes] | None = None
    status: bytes = b"200 OK"
    heads: tuple[bytes, ...] = ()
    kind: bytes = b"application/json"
    length: bytes = b""
    script: str = ""
    only: str = ""
    """Only queries that contain this are answered so; the others truthfully."""


def each(change: Callable[[Row], Any]) -> Callable[[list[Row]], list[Any]]:
    """Every row changed."""
    return lambda rows: [change(row) for row in rows]


def victim(change: Callable[[Row], Any]) -> Callable[[list[Row]], list[Any]]:
    """The victim's rows changed."""
    return lambda rows: [change(row) if row["metric"].get("UUID") == VICTIM else row for row in rows]


def label(name: str, value: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, "metric": {**row["metric"], name: value}}


def value(of: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, "value": [row["value"][0], of]} if row["metric"] else row


def moment(of: Any) -> Callable[[Row], Row]:
    return lambda row: {**row, "value": [of, row["value"][1]]}


def result(of: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda tree: {**tree, "data": {**tree["data"], "result": of}}


def deep(levels: int, left: str = "[", right: str = "]") -> str:
    return left * levels + right * levels


def in_data(text: str) -> Callable[[str], str]:
    return lambda _: '{"status":"success","data":' + text + "}"


NOT_READ = r"cannot be read"
NOT_PROMETHEUS = r"not JSON|not Prometheus|nested too deeply|refuses"

SHAPES = [
    Mode("empty body", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: ""),
    Mode("null", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: "null"),
    Mode("a list", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: "[]"),
    Mode("an empty object", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: "{}"),
    Mode("a number", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: "7"),
    Mode("a string", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: '"up"'),
    Mode("data null", "shapes", NONE, NOT_PROMETHEUS, text=in_data("null")),
    Mode("data a list", "shapes", NONE, NOT_PROMETHEUS, text=in_data("[]")),
    Mode("data a string", "shapes", NONE, NOT_PROMETHEUS, text=in_data('"x"')),
    Mode("result null", "shapes", NONE, NOT_PROMETHEUS, tree=result(None)),
    Mode("result an object", "shapes", NONE, NOT_PROMETHEUS, tree=result({})),
    Mode("result a string", "shapes", NONE, NOT_PROMETHEUS, tree=result("x")),
    Mode("result empty", "shapes", NONE, "no GPU series", tree=result([]), only="__name__"),
    Mode("result of numbers", "shapes", NONE, NOT_READ, tree=result([1, 2, 3])),
    Mode("result of nulls", "shapes", NONE, NOT_READ, tree=result([None] * 50)),
    Mode("result of lists", "shapes", NONE, NOT_READ, tree=result([[], [[]]])),
    Mode("a scalar", "shapes", NONE, "a scalar where", tree=lambda _: {"status": "success", "data": {
        "resultType": "scalar", "result": [1, "2"]}}),
    Mode("a vector called matrix", "shapes", NONE, "a matrix where", text=lambda t: t.replace("vector", "matrix")),
    Mode("a type with escapes", "shapes", NONE, "where a vector", tree=lambda t: {**t, "data": {
        **t["data"], "resultType": ESCAPE + BIDI}}),
    Mode("matrices in a vector", "shapes", NONE, NOT_READ, rows=each(lambda r: {
        "metric": r["metric"], "values": [r["value"]]})),
    Mode("an error with 200", "shapes", NONE, "refuses: OWNED", tree=lambda _: {
        "status": "error", "errorType": ESCAPE, "error": ESCAPE + BIDI}),
    Mode("an error of a list", "shapes", NONE, "refuses", tree=lambda _: {"status": "error", "error": [1]}),
    Mode("no status", "shapes", ALL, tree=lambda t: {"data": t["data"]}),
    Mode("status a number", "shapes", NONE, NOT_PROMETHEUS, tree=lambda t: {**t, "status": 7}),
    Mode("garbage behind", "shapes", NONE, NOT_PROMETHEUS, text=lambda t: t + "\x1b[2Jx"),
    Mode("two documents", "shapes", NONE, NOT_PROMETHEUS, text=lambda t: t + t),
    Mode("cut in the middle", "shapes", NONE, NOT_PROMETHEUS, text=lambda t: t[: len(t) // 2]),
    Mode("single quotes", "shapes", NONE, NOT_PROMETHEUS, text=lambda t: t.replace('"', "'")),
    Mode("a bare NaN", "shapes", NONE, NOT_PROMETHEUS, text=lambda t: t.replace('"71.0"', "NaN"), only="__name__"),
    Mode("data twice", "shapes", NONE, "no GPU series", only="__name__",
         text=lambda t: t[:-1] + ',"data":{"resultType":"vector","result":[]}}'),
    Mode("a web page", "shapes", NONE, "web page", text=lambda _: f"<html>{ESCAPE}</html>", kind=b"text/html"),
    Mode("a web page called JSON", "shapes", NONE, "web page", text=lambda _: " \n<!doctype html>"),
    Mode("XML", "shapes", NONE, "web page", text=lambda _: "<?xml version='1.0'?><x/>", kind=b"text/xml"),
    Mode("YAML", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: "status: success\ndata: []\n"),
    Mode("exposition text", "shapes", NONE, NOT_PROMETHEUS, text=lambda _: "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 71\n"),
]  # fmt: skip

DEEP = 50_000
NESTING = [
    Mode("deep lists", "nesting", NONE, NOT_PROMETHEUS, text=lambda _: deep(DEEP)),
    Mode("deep lists that never close", "nesting", NONE, NOT_PROMETHEUS, text=lambda _: "[" * DEEP),
    Mode("deep objects", "nesting", NONE, NOT_PROMETHEUS, text=lambda _: deep(DEEP, '{"a":', "1}")),
    Mode("deep data", "nesting", NONE, NOT_PROMETHEUS, text=in_data(deep(DEEP))),
    Mode("deep result", "nesting", NONE, NOT_PROMETHEUS, text=in_data('{"result":' + deep(DEEP) + "}")),
    Mode("a deep row", "nesting", NONE, NOT_PROMETHEUS, text=in_data('{"result":[' + deep(DEEP) + "]}")),
    Mode("a deep label", "nesting", NONE, NOT_PROMETHEUS,
         text=lambda t: t.replace('"nvidia0"', deep(DEEP), 1), only="__name__"),
    Mode("a deep stranger", "nesting", NONE, NOT_PROMETHEUS, text=lambda t: '{"x":' + deep(DEEP) + "," + t[1:]),
    Mode("deep warnings", "nesting", NONE, NOT_PROMETHEUS, text=lambda t: t[:-1] + ',"warnings":' + deep(DEEP) + "}"),
    Mode("a deep 403", "nesting", NONE, "403", text=lambda _: deep(DEEP), status=b"403 Forbidden"),
    Mode("a deep 500", "nesting", NONE, "500", text=lambda _: deep(DEEP, '{"error":', "1}"), status=b"500 x"),
    Mode("a label a little deep", "nesting", REST, NOT_READ, rows=victim(label("device", [[[[["x"]]]]]))),
]  # fmt: skip

SIZES = [
    Mode("300 MiB of spaces", "sizes", NONE, "more than", script="spaces"),
    Mode("300 MiB of rows", "sizes", NONE, "more than", script="rows"),
    Mode("a body without an end", "sizes", NONE, "more than", script="endless chunks"),
    Mode("ten million zeros", "sizes", NONE, "cannot be read|not Prometheus", tree=lambda _: {},
         body=lambda _: b'{"status":"success","data":{"result":[' + b"0," * 5_000_000 + b"0]}}"),
    Mode("a million tiny rows", "sizes", NONE, "series",
         body=lambda _: b'{"data":{"result":[' + b'{"metric":0,"value":[0,""]},' * 1_000_000 + b"0]}}"),
    Mode("a row of a million labels", "sizes", REST, NOT_READ, only="__name__", rows=victim(
        lambda r: {**r, "metric": {**r["metric"], **{f"l{i}": "" for i in range(100_000)}}})),
    Mode("a gzip bomb", "sizes", NONE, "more than", heads=(b"Content-Encoding: gzip",),
         body=lambda _: gzip.compress(bytes(400 * 2**20), 9)),
    Mode("a deflate bomb", "sizes", NONE, "more than", heads=(b"Content-Encoding: deflate",),
         body=lambda _: zlib.compress(bytes(400 * 2**20), 9)),
    Mode("a 403 of 100 MiB", "sizes", NONE, "more than", script="spaces", status=b"403 Forbidden"),
    Mode("a label of 1 MB", "sizes", REST, NOT_READ, rows=victim(label("pod", "x" * 1_000_000)), only="__name__"),
    Mode("a label of 5 kB", "sizes", ALL, rows=victim(label("pod", "x" * 5_000)), only="__name__"),
    Mode("a label's name of 1 MB", "sizes", REST, NOT_READ, rows=victim(label("y" * 1_000_000, "x")), only="__name__"),
    Mode("a gpu of 5,000 digits", "sizes", ALL, rows=victim(label("gpu", "9" * 5_000)), only="__name__"),
    Mode("every number of 5,000 digits", "sizes", ALL, rows=each(
        lambda r: {**r, "metric": {**r["metric"], "gpu": "1" * 5_000, "device": "nvidia" + "2" * 5_000}}),
        only="__name__"),
    Mode("a value of 1 MB", "sizes", REST, NOT_READ, rows=victim(value("7" * 1_000_000)), only="__name__"),
    Mode("a time of 5,000 digits", "sizes", REST, NOT_READ, rows=victim(moment(10**4_000)), only="__name__"),
    Mode("thousands of series for one card", "sizes", ALL, only="__name__", rows=lambda rows: [
        *rows, *(label("x", str(i))(row) for i in range(500) for row in rows if row["metric"]["UUID"] == VICTIM)]),
    Mode("five thousand invented cards", "sizes", ALL, only="__name__", rows=lambda rows: [
        *rows, *({**rows[0], "metric": {**rows[0]["metric"], "UUID": f"X-{i}", "Hostname": f"n-{i % 50}"}}
                 for i in range(5_000 if rows else 0))]),
    Mode("a thousand warnings", "sizes", ALL, "partially.*: OWNED", only="__name__",
         tree=lambda t: {**t, "warnings": [ESCAPE + BIDI + str(i) for i in range(1_000)]}),
    Mode("a warning of 1 MB", "sizes", ALL, "partially.*: w", tree=lambda t: {**t, "warnings": ["w" * 1_000_000]}),
    Mode("an error of 1 MB", "sizes", NONE, "refuses", status=b"400 Bad Request",
         text=lambda _: json.dumps({"error": ESCAPE * 100_000})),
]  # fmt: skip

DRIPS = [
    Mode("silence", "drips", NONE, "did not answer within", script="silence"),
    Mode("a status line by drops", "drips", NONE, "did not answer within", script="drip head"),
    Mode("headers by drops", "drips", NONE, "did not answer within", script="drip headers"),
    Mode("headers without an end", "drips", NONE, "did not answer within|HTTP", script="endless headers"),
    Mode("a body by drops", "drips", NONE, "did not answer within", script="drip body"),
    Mode("chunks by drops", "drips", NONE, "did not answer within", script="drip chunks"),
    Mode("spaces by drops before the answer", "drips", NONE, "did not answer within", script="drip spaces"),
    Mode("a body that stops", "drips", NONE, "did not answer within", script="stop"),
    Mode("a storm of 100 Continue", "drips", NONE, "did not answer within|HTTP", script="storm"),
    Mode("102 by drops", "drips", NONE, "did not answer within", script="drip interim"),
    Mode("gzip by drops", "drips", NONE, "did not answer within", script="drip gzip"),
    Mode("the probe alone", "drips", NONE, "did not answer within", script="silence", only="__name__"),
    Mode("no answer to when", "drips", NONE, "did not answer within", script="silence", only="timestamp("),
    Mode("closed before the answer", "drips", NONE, "cannot be reached|cut", script="close"),
    Mode("reset before the answer", "drips", NONE, "cannot be reached|cut", script="reset"),
    Mode("reset in the body", "drips", NONE, "cannot be reached|cut|did not answer", script="reset body"),
    Mode("half-closed behind the head", "drips", NONE, "cannot be reached|cut|did not answer", script="half"),
    Mode("a TLS greeting by drops", "drips", NONE, "did not answer within|TLS|cannot be reached", script="tls drip"),
    Mode("no TLS behind https", "drips", NONE, "TLS|cannot be reached", script="tls plain"),
]  # fmt: skip


def there(where: bytes, status: bytes = b"302 Found") -> dict[str, Any]:
    return {"status": status, "heads": (b"Location: " + where,), "text": lambda _: ""}


REDIRECTS = [
    Mode("to itself", "redirects", NONE, "redirects \\(HTTP", **there(b"/")),
    Mode(
        "to another host",
        "redirects",
        NONE,
        "redirects \\(HTTP",
        **there(b"http://127.0.0.9:1/", b"301 Moved"),
    ),
    Mode("to a file", "redirects", NONE, "redirects \\(HTTP", **there(b"file:///etc/passwd", b"307 x")),
    Mode("to a script", "redirects", NONE, "redirects \\(HTTP", **there(b"javascript:alert(1)", b"308 x")),
    Mode("to an escape", "redirects", NONE, "elsewhere|HTTP", **there(b"/\x1b]0;OWNED\x07")),
    Mode("to nowhere", "redirects", NONE, "redirects \\(HTTP", status=b"303 See Other", text=lambda _: ""),
    Mode("to many", "redirects", NONE, "redirects \\(HTTP", status=b"300 Multiple Choices"),
    Mode(
        "not modified", "redirects", NONE, "redirects \\(HTTP", status=b"304 Not Modified", text=lambda _: ""
    ),
]

ENCODINGS = [
    Mode("gzip as it should be", "encodings", ALL, heads=(b"Content-Encoding: gzip",), body=gzip.compress),
    Mode("broken UTF-8 in a label", "encodings", REST, NOT_READ, only="__name__", rows=victim(label("pod", "BROKEN")),
         body=lambda b: b.replace(b"BROKEN", b"\xff\xfe\xc3(")),
    Mode("broken UTF-8 everywhere", "encodings", NONE, NOT_PROMETHEUS, body=lambda b: b"\xff" + b),
    Mode("UTF-16", "encodings", NONE, NOT_PROMETHEUS, body=lambda b: b.decode().encode("utf-16")),
    Mode("UTF-32", "encodings", NONE, NOT_PROMETHEUS, body=lambda b: b.decode().encode("utf-32")),
    Mode("a byte order mark", "encodings", NONE, NOT_PROMETHEUS, body=lambda b: b"\xef\xbb\xbf" + b),
    Mode("Latin-1", "encodings", REST, NOT_READ, only="__name__", rows=victim(label("pod", "ae")),
         body=lambda b: b.replace(b'"ae"', b'"\xe4"')),
    Mode("NUL bytes", "encodings", NONE, NOT_PROMETHEUS, body=lambda b: b.replace(b":", b":\x00")),
    Mode("escaped NULs in labels", "encodings", ALL, rows=victim(label("pod", "a\x00b"))),
    Mode("UTF-7 claimed", "encodings", ALL, kind=b"application/json; charset=utf-7"),
    Mode("gzip claimed", "encodings", NONE, "damaged|HTTP", heads=(b"Content-Encoding: gzip",)),
    Mode("deflate claimed", "encodings", NONE, "damaged|HTTP", heads=(b"Content-Encoding: deflate",)),
    Mode("brotli claimed", "encodings", NONE, "damaged|HTTP", heads=(b"Content-Encoding: br",)),
    Mode("zstd claimed", "encodings", NONE, "damaged|HTTP", heads=(b"Content-Encoding: zstd",)),
    Mode("an encoding of nobody", "encodings", ANY, heads=(b"Content-Encoding: x-\x1b[2J",)),
    Mode("gzip cut", "encodings", NONE, "damaged|HTTP|not", heads=(b"Content-Encoding: gzip",),
         body=lambda b: gzip.compress(b)[:-20]),
    Mode("gzip twice", "encodings", NONE, "", heads=(b"Content-Encoding: gzip, gzip",),
         body=lambda b: gzip.compress(gzip.compress(b))),
    Mode("raw control codes in a label", "encodings", NONE, NOT_PROMETHEUS, only="__name__",
         rows=victim(label("pod", "RAW")), body=lambda b: b.replace(b"RAW", b"\x1b]0;OWNED\x07")),
]  # fmt: skip


def odd_label(name: str, of: Any, numbers: str = REST, says: str = NOT_READ) -> Mode:
    return Mode(name, "labels", numbers, says, rows=victim(label("pod", of)), only="__name__")


def hostile_labels(text: str) -> Callable[[Row], Row]:
    """In every label that is shown, and in names of labels."""

    def change(row: Row) -> Row:
        more = {name: f"{text}{name}" for name in ("pod", "namespace", "container", "modelName", text)}
        return {**row, "metric": {**row["metric"], **more}}

    return change


LABELS = [
    odd_label("a list", ["a"]),
    odd_label("null", None),
    odd_label("a number", 7),
    odd_label("a truth", True),
    odd_label("an object", {"a": "b"}),
    odd_label("a number of 5,000 digits", 10**4_000),
    Mode("a list for a UUID", "labels", REST, NOT_READ, rows=victim(label("UUID", ["x"])), only="__name__"),
    Mode("a list for a name", "labels", REST, NOT_READ, rows=victim(label("__name__", ["x"])), only="__name__"),
    Mode("no labels", "labels", REST, NOT_READ, rows=victim(lambda r: {"value": r["value"]}), only="__name__"),
    Mode("labels in a list", "labels", REST, NOT_READ, rows=victim(lambda r: {**r, "metric": ["x"]}), only="__name__"),
    Mode("labels null", "labels", REST, NOT_READ, rows=victim(lambda r: {**r, "metric": None}), only="__name__"),
    Mode("empty labels", "labels", REST, rows=victim(lambda r: {**r, "metric": {}}), only="__name__"),
    Mode("no UUID", "labels", REST, rows=victim(
        lambda r: {**r, "metric": {k: v for k, v in r["metric"].items() if k != "UUID"}}), only="__name__"),
    Mode("empty texts", "labels", REST, rows=victim(
        lambda r: {**r, "metric": dict.fromkeys(r["metric"], "")}), only="__name__"),
    Mode("one UUID for all", "labels", ANY, rows=each(label("UUID", "same")), only="__name__"),
    Mode("an unknown host", "labels", REST, rows=victim(label("Hostname", "elsewhere")), only="__name__"),
    Mode("an escape for a host", "labels", REST, rows=victim(label("Hostname", ESCAPE)), only="__name__"),
    Mode("an escape for a UUID", "labels", REST, rows=victim(label("UUID", ESCAPE)), only="__name__"),
    Mode("bidi for a UUID", "labels", REST, rows=victim(label("UUID", BIDI)), only="__name__"),
    Mode("escapes in all that is shown", "labels", ALL, rows=each(hostile_labels(ESCAPE)), only="__name__"),
    Mode("bidi in all that is shown", "labels", ALL, rows=each(hostile_labels(BIDI)), only="__name__"),
    Mode("line feeds in all that is shown", "labels", ALL, rows=each(hostile_labels("a\r\nb\tc\x0b\u2028d")),
         only="__name__"),
    Mode("invisible letters", "labels", ALL, rows=each(hostile_labels("\u200b\ufeff\u2060\U000e0041\xad")),
         only="__name__"),
    Mode("markup", "labels", ALL, rows=each(hostile_labels("[red]x[/] [@click=app.exit]y[/]")), only="__name__"),
    Mode("a lone surrogate", "labels", NONE, NOT_PROMETHEUS, only="__name__", rows=victim(label("pod", "\ud800"))),
    Mode("emoji and wide letters", "labels", ALL, rows=each(hostile_labels("🚀漢字é")), only="__name__"),
    Mode("an index that is none", "labels", ALL, rows=victim(label("gpu", "-1.5e3")), only="__name__"),
    Mode("an index of other digits", "labels", ALL, rows=victim(label("gpu", "٣")), only="__name__"),
    Mode("all one index", "labels", ALL, rows=each(label("gpu", "0")), only="__name__"),
    Mode("a pod that does not exist", "labels", ALL, rows=each(label("exported_pod", "ghost")), only="__name__"),
    Mode("two names for a row", "labels", ALL, only="__name__",
         text=lambda t: t.replace('"gpu": "0"', '"gpu": "0", "gpu": "0"')),
]  # fmt: skip


def spoilt(name: str, of: Any, says: str = "") -> Mode:
    return Mode(f"value {name}", "values", REST, says, rows=victim(value(of)), only="__name__")


VALUES = [
    spoilt("NaN", "NaN"), spoilt("+Inf", "+Inf"), spoilt("-Inf", "-Inf"), spoilt("negative", "-5"),
    spoilt("1e308", "1e308"), spoilt("1e999", "1e999"), spoilt("in words", "seventy", NOT_READ),
    spoilt("empty", "", NOT_READ), spoilt("hexadecimal", "0x1F", NOT_READ), spoilt("with a line", "7_1", NOT_READ),
    spoilt("in wide digits", "\uff17\uff11", NOT_READ), spoilt("a number", 71.0, NOT_READ),
    spoilt("true", True, NOT_READ), spoilt("null", None, NOT_READ), spoilt("a list", ["71"], NOT_READ),
    spoilt("an escape", ESCAPE, NOT_READ), spoilt("954 TiB", str(954 * 2.0**40)), spoilt("ratio 2.5", "250"),
    Mode("three parts of a value", "values", REST, NOT_READ, only="__name__",
         rows=victim(lambda r: {**r, "value": [*r["value"], 3]})),
    Mode("no value", "values", REST, NOT_READ, only="__name__", rows=victim(lambda r: {"metric": r["metric"]})),
    Mode("used above total", "values", ANY, only="__name__", rows=lambda rows: [
        value("99999999")(r) if r["metric"]["__name__"].endswith("FB_USED") else r for r in rows]),
    Mode("two series that disagree", "values", ANY, only="__name__", rows=lambda rows: [
        *rows, *(label("instance", "other:9400")(value("12")(r)) for r in rows)]),
]  # fmt: skip

NOW = 1.79e9
TIMES = [
    Mode("a time in words", "times", NONE, NOT_READ, rows=each(moment("now"))),
    Mode("no time", "times", NONE, NOT_READ, rows=each(moment(None))),
    Mode("a time of 1e308", "times", ANY, rows=each(moment(1e308))),
    Mode("a negative time", "times", ANY, rows=each(moment(-1e12))),
    Mode("the time zero", "times", ANY, rows=each(moment(0))),
    Mode("a year ahead", "times", ANY, rows=each(lambda r: moment(r["value"][0] + 3e7)(r))),
    Mode("milliseconds", "times", ANY, rows=each(lambda r: moment(r["value"][0] * 1000)(r))),
    Mode("sampled a year ahead", "times", ANY, only="timestamp(", rows=each(value(str(NOW * 2)))),
    Mode("sampled in 1970", "times", ANY, only="timestamp(", rows=each(value("1"))),
    Mode("sampled before 1970", "times", ANY, only="timestamp(", rows=each(value("-1e9"))),
    Mode("sampled at NaN", "times", ANY, only="timestamp(", rows=each(value("NaN"))),
    Mode("sampled at infinity", "times", ANY, only="timestamp(", rows=each(value("+Inf"))),
    Mode("sampled at 1e308", "times", ANY, only="timestamp(", rows=each(value("1e308"))),
    Mode("sampled in words", "times", ANY, only="timestamp(", rows=each(value("lately"))),
    Mode("no answer when", "times", ANY, only="timestamp(", status=b"400 Bad Request",
         text=lambda _: '{"status":"error","error":"unknown function"}'),
    Mode("a list when", "times", ANY, only="timestamp(", text=lambda _: "[]"),
]  # fmt: skip


def refused(status: str, says: str, *heads: bytes, said: str = "") -> Mode:
    return Mode(status, "statuses", NONE, says, status=status.encode(), heads=heads,
                text=lambda _: json.dumps({"status": "error", "error": said}) if said else "")  # fmt: skip


STATUSES = [
    refused("204 No Content", "204"),
    Mode("206 Partial Content", "statuses", NONE, "206", status=b"206 Partial Content"),
    refused("401 Unauthorized", "credentials|401", b'WWW-Authenticate: Basic realm="\x1b[2J"'),
    refused("403 Forbidden", "403"),
    refused("403 with escapes", "403", said=ESCAPE + BIDI),
    refused("404 Not Found", "404"),
    refused("407 Proxy Authentication Required", "407"),
    refused("418 I'm a teapot", "418"),
    refused("429 Too Many Requests", "429|asks", b"Retry-After: 3600"),
    refused("429 until a date", "429|asks", b"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"),
    refused("429 for ever", "429|asks", b"Retry-After: " + b"9" * 5_000),
    refused("429 with a minus", "429|asks", b"Retry-After: -1"),
    refused("500 Internal Server Error", "500", said="\ud800"),
    refused("502 Bad Gateway", "502"),
    refused("503 Service Unavailable", "503|asks", b"Retry-After: \x1b[2J"),
    refused("504 Gateway Timeout", "504"),
    refused("599 \x1b]0;OWNED\x07\u202e", "599|HTTP"),
    refused("999 x", "999|HTTP"),
    refused(
        "101 Switching Protocols",
        "101|HTTP|cannot be reached|cut|did not",
        b"Upgrade: x",
        b"Connection: upgrade",
    ),
]

HEADS = [
    Mode("a status line of escapes", "heads", NONE, "HTTP", script="line escapes"),
    Mode("a status line of 1 MB", "heads", NONE, "HTTP", script="line giant"),
    Mode("a status of twenty digits", "heads", NONE, "HTTP", status=b"2" * 20 + b" OK"),
    Mode("no status", "heads", NONE, "HTTP", status=b""),
    Mode("HTTP/0.9", "heads", NONE, "HTTP", script="bare"),
    Mode("HTTP/9.9", "heads", ANY, script="version"),
    Mode("another protocol", "heads", NONE, "HTTP", script="ssh"),
    Mode("a header of 1 MB", "heads", NONE, "HTTP", heads=(b"X: " + b"x" * 1_000_000,)),
    Mode("ten thousand headers", "heads", ANY, heads=tuple(b"X-%d: y" % i for i in range(10_000))),
    Mode("escapes in a header", "heads", ANY, heads=(b"X-A: \x1b]0;OWNED\x07", b"Server: \xe2\x80\xae")),
    Mode("a header without a colon", "heads", NONE, "HTTP", heads=(b"OWNED \x1b[2J",)),
    Mode(
        "cookies without end", "heads", ANY, heads=tuple(b"Set-Cookie: c%d=\x1b[2J" % i for i in range(200))
    ),
    Mode("no content type", "heads", ALL, kind=b""),
    Mode("JSON called a web page", "heads", NONE, "web page", kind=b"text/html"),
    Mode("a content type of escapes", "heads", ANY, kind=b"application/\x1b[2J"),
    Mode("a length in words", "heads", NONE, "HTTP", length=b"many"),
    Mode("a negative length", "heads", NONE, "HTTP", length=b"-1"),
    Mode(
        "a length of 5,000 digits", "heads", NONE, "HTTP|cut|damaged|did not|more than", length=b"9" * 5_000
    ),
    Mode("a length that is too long", "heads", NONE, "damaged|cut|did not answer", script="too long"),
    Mode("a length that is too short", "heads", NONE, "not JSON|HTTP", length=b"50"),
    Mode("two lengths", "heads", NONE, "HTTP|not JSON|cut|damaged", heads=(b"Content-Length: 5",)),
    Mode("a length and chunks", "heads", NONE, "HTTP|damaged|cut", heads=(b"Transfer-Encoding: chunked",)),
    Mode("a chunk's size of escapes", "heads", NONE, "HTTP|damaged|cut", script="chunk escapes"),
    Mode("a chunk's size without end", "heads", NONE, "HTTP|damaged|cut|did not", script="chunk size"),
    Mode("trailers without end", "heads", ANY, script="trailers"),
]

MODES: tuple[Mode, ...] = (
    *SHAPES, *NESTING, *SIZES, *DRIPS, *REDIRECTS, *ENCODINGS, *LABELS, *VALUES, *TIMES, *STATUSES, *HEADS,
)  # fmt: skip
BY_KEY = {f"{one.group}-{number}": one for number, one in enumerate(MODES)}
"""By what stands in a URL."""
