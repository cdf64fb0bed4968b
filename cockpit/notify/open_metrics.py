"""Findings as OpenMetrics: a file that is replaced in one step, or a port."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from cockpit.local_state.paths import write_whole
from cockpit.notify.outbox import Items

TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LONGEST_HEAD: Final = 8192
_HEAD_SECONDS: Final = 10.0


def metrics_text(items: Items, context: str, at_seconds: float) -> str:
    """The findings as metrics; times are epoch seconds."""
    counts = Counter(
        (item["finding"], item["cause"] or "unknown", _severity(item), "acknowledged" if known else "open")
        for item, known in items.values()
    )
    lines = ["# HELP gpu_cockpit_findings Findings that need a human.", "# TYPE gpu_cockpit_findings gauge"]
    for (finding, cause, severity, state), count in sorted(counts.items()):
        labels = {
            "cluster": context,
            "finding": finding,
            "cause": cause,
            "severity": severity,
            "state": state,
        }
        lines.append(f"gpu_cockpit_findings{_labels(labels.items())} {count}")
    lines += ["# HELP gpu_cockpit_finding_gpus GPUs at stake.", "# TYPE gpu_cockpit_finding_gpus gauge"]
    for item, _known in items.values():
        labels = {"cluster": context, "finding": item["finding"], "subject": item["subject"]}
        lines.append(f"gpu_cockpit_finding_gpus{_labels(labels.items())} {item['gpus']}")
    lines += [
        "# HELP gpu_cockpit_findings_looked_seconds When findings were last looked at.",
        "# TYPE gpu_cockpit_findings_looked_seconds gauge",
        "# UNIT gpu_cockpit_findings_looked_seconds seconds",
        f"gpu_cockpit_findings_looked_seconds{_labels([('cluster', context)])} {at_seconds:.3f}",
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def _severity(item: Mapping[str, Any]) -> str:
    return "critical" if item["is_bad"] else "warning"


def _labels(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def write_metrics(path: Path, text: str) -> None:
    """Replace the file in one step, readable for a collector. Raises OSError."""
    write_whole(path, text.encode(), 0o644)


async def serve_metrics(host: str, port: int, text: Callable[[], str]) -> asyncio.Server:
    """Answer `GET /metrics` on that address. Raises OSError where it is taken."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            words = head.split(b" ", 2)
            is_known = words[0] == b"GET" and words[1].partition(b"?")[0] == b"/metrics"
            body = text().encode() if is_known else b"see /metrics\n"
            status, kind = ("200 OK", TYPE) if is_known else ("404 Not Found", "text/plain")
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, TimeoutError, ValueError, IndexError, EOFError, asyncio.LimitOverrunError):
            pass  # a caller that left or sent no request
        finally:
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=_LONGEST_HEAD)
