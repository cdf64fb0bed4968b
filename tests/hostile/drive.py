"""Every mode through the code behind `cockpit get`, in this one process; prints a JSON object a mode.

`python -m tests.hostile.drive KUBECONFIG PORT PORT-OF-SIZES [KEY ...]`; run under a limit of memory.
"""

import asyncio
import json
import random
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands import attached as attached_module
from cockpit.commands.attached import attached
from cockpit.commands.get import NEEDS, _lines
from cockpit.errors import CockpitError
from cockpit.model.metrics_server import MetricsServer
from cockpit.views.view_state import ViewState
from tests.hostile.modes import BY_KEY

PATIENCE_SECONDS = 30.0
SHORT_PATIENCE_SECONDS = 0.3
"""For a whole answer; the short one where none ever comes."""
LONGEST_SECONDS = 60.0
AT_ONCE = 4
"""Attachments that read small answers at the same time: most of their time is waiting for quiet lists."""
KINDS = ("nodes", "gpus", "jobs")


def memory_kib(name: str) -> int:
    """What this process holds now (VmRSS), or held at most (VmHWM).

    Not `ru_maxrss`: that goes through exec, and begins with the size of whoever started us.
    """
    with open("/proc/self/status") as file:
        return int(re.search(rf"{name}:\s+(\d+)", file.read())[1])  # type: ignore[index]


async def one(kubeconfig: str, ports: Sequence[int], key: str) -> dict[str, Any]:
    """What `get` prints of each kind, and its notes."""
    mode = BY_KEY.get(key)
    scheme = "https" if mode is not None and mode.script.startswith("tls") else "http"
    is_endless = mode is not None and "did not answer" in mode.says
    port = ports[key.startswith("sizes")]
    options = AttachOptions(
        kubeconfig=kubeconfig,
        prometheus=MetricsServer(f"{scheme}://127.0.0.1:{port}/{key}"),
        patience_seconds=SHORT_PATIENCE_SECONDS if is_endless else PATIENCE_SECONDS,
    )
    clock, began = SystemClock(), time.monotonic()
    found: dict[str, Any] = {"key": key}
    try:
        async with asyncio.timeout(LONGEST_SECONDS), attached(options, clock) as one_live:
            kinds = tuple(dict.fromkeys(kind for name in KINDS for kind in NEEDS[name]))
            found["notes"] = await one_live.settle(kinds, 30.0, with_gpus=True)
            for kind in KINDS:
                for output in ("table", "json"):
                    lines = _lines(kind, output, one_live.attachment, ViewState(), clock.now())
                    text = "\n".join(lines)
                    found[f"{kind} {output}"] = text if len(text) < 2_000_000 else digest(kind, output, text)
            found["faults"] = dict(one_live.attachment.faults)
        found["left"] = time.monotonic() - began

    except (CockpitError, TimeoutError) as error:
        found["error"] = repr(error)
    return found


def digest(kind: str, output: str, text: str) -> str:
    """Of a very long print: what is about the estate's own cards."""
    if output == "table":
        return "\n".join(line for line in text.split("\n") if "gpu-" in line)
    tree = json.loads(text)
    own = ("gpu-0", "gpu-1")
    tree["items"] = [one for one in tree["items"] if one.get("node", one.get("name")) in own]
    return json.dumps(tree, ensure_ascii=False)


async def main(kubeconfig: str, ports: Sequence[int], keys: list[str]) -> None:
    attached_module.TELEMETRY_SECONDS = PATIENCE_SECONDS
    await one(kubeconfig, ports, "truth")  # what is imported and kept once is no growth
    before = memory_kib("VmRSS")
    random.Random(1).shuffle(keys)
    pending = [key for key in keys if not key.startswith("sizes")]

    async def drive_pending() -> None:
        while pending:
            print(json.dumps(await one(kubeconfig, ports, pending.pop())), flush=True)

    for key in keys:  # the large one after another: the peak of memory is that of one attachment
        if key.startswith("sizes"):
            print(json.dumps(await one(kubeconfig, ports, key)), flush=True)
    await asyncio.gather(*(drive_pending() for _ in range(AT_ONCE)))
    print(json.dumps({
        "grown_kib": memory_kib("VmRSS") - before,
        "peak_kib": memory_kib("VmHWM") - before,
        "cpu_seconds": time.process_time(),
    }), flush=True)  # fmt: skip


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], [int(one) for one in sys.argv[2:4]], sys.argv[4:] or list(BY_KEY)))
