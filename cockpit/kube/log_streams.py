"""Standard output and standard error apart: where the server and the node can tell them.

Source: Kubernetes 1.36 pkg/apis/core/validation (ValidatePodLogOptions) and pkg/kubelet/server: `stream` came
with 1.32 behind the gate PodLogsQuerySplitStreams (alpha, off) of both. Older servers overlook the parameter
and would tell everything, so the version is asked first. With a stream `tailLines` is refused.
"""

import re
from typing import Any

from cockpit.errors import Refused
from cockpit.kube.resource import PODS
from cockpit.kube.session import ApiSession
from cockpit.model.log import LogSource

STREAMS = {"stdout": "Stdout", "stderr": "Stderr"}
"""As a person writes it, and as the API does."""
GATE = "PodLogsQuerySplitStreams"
_FIRST = (1, 32)


async def refuse_unsplit(session: ApiSession, source: LogSource) -> None:
    """Raises Refused with one sentence where this server, or the node of that pod, tells both streams only
    together; NoConnection without an answer. What else may be wrong with the log is told when it is read."""
    version = _version(await _json(session, "/version"))
    if version is not None and version < _FIRST:
        raise Refused(
            f"this server is {version[0]}.{version[1]}: separate stdout and stderr need "
            f"{_FIRST[0]}.{_FIRST[1]}; filter by text instead"
        )
    query = [("stream", STREAMS["stderr"]), ("limitBytes", "1"), ("sinceSeconds", "1")]
    query += [("container", source.container)] if source.container else []
    path = PODS.path(source.namespace, source.pod, "log")
    answer = await session.request("GET", path, query=query, accept="*/*")
    if answer.ok:
        return
    said = answer.message()
    if GATE in said or (answer.status == 422 and "stream" in said):
        raise Refused(
            f"this cluster serves stdout and stderr only together (feature gate {GATE} is off); "
            "filter by text instead"
        )


async def _json(session: ApiSession, path: str) -> Any:
    answer = await session.request("GET", path)
    return answer.json() if answer.ok else None


def _version(tree: Any) -> tuple[int, int] | None:
    """(major, minor), None where the server does not say it in numbers (`32+` of some vendors is 32)."""
    if not isinstance(tree, dict):
        return None
    parts = [re.match(r"\d{1,4}", str(tree.get(name, ""))) for name in ("major", "minor")]
    numbers = [int(part.group()) for part in parts if part is not None]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None
