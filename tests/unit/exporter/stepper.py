"""The exporter's parts on the library that LD_LIBRARY_PATH names, moved by lines of JSON on the input."""

import gc
import http.client
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from cockpit_exporter.agent import Agent, AgentSettings
from cockpit_exporter.collector import CollectorPace
from cockpit_exporter.driver import Nvml
from cockpit_exporter.web import PageCollector, Server
from prometheus_client.exposition import generate_latest

_SERVERS: list[Server] = []


class _Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def _lent() -> int:
    import pynvml

    function = getattr(pynvml.nvmlLib, "standin_samples_lent", None)
    return int(function()) if function is not None else 0


def _counts() -> dict[str, int]:
    gc.collect()
    return {
        "objects": len(gc.get_objects()),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "lent": _lent(),
    }


def _answer(agent: Agent, clock: _Clock, order: dict[str, Any]) -> dict[str, Any]:
    match order["do"]:
        case "step":
            clock.seconds += order["advance"]
            agent.collector.step()
        case "xid":
            agent.xids.step()
        case "kubelet":
            clock.seconds += order.get("advance", 0.0)
            return {"wait": agent.kubelet.step() if agent.kubelet else None, "page": _page(agent)}
        case "slices":
            if agent.slices is not None:
                agent.slices.step()
        case "rounds":
            for _ in range(order["count"]):
                clock.seconds += order["advance"]
                agent.collector.step()
                if agent.kubelet is not None:
                    agent.kubelet.step()
                _scraped(agent)
            return _counts()
        case "counts":
            return _counts()
        case "close":
            agent.collector.close()
        case "advance":
            clock.seconds += order["seconds"]
    return {
        "page": _page(agent),
        "exit": agent.exit_status,
        "health": agent.health(),
        "xid": agent.xids.state,
        "snapshot": agent.collector.snapshot.reason,
    }


def _scraped(agent: Agent) -> None:
    """One scrape over HTTP; the server stays for the next ones."""
    if not _SERVERS:
        _SERVERS.append(Server("127.0.0.1", 0, agent.page, agent.health))
        threading.Thread(target=_SERVERS[0].serve_forever, daemon=True).start()
    connection = http.client.HTTPConnection("127.0.0.1", _SERVERS[0].server_port, timeout=30)
    connection.request("GET", "/metrics")
    assert b"cockpit_gpu_power_watts" in connection.getresponse().read()
    connection.close()


def _page(agent: Agent) -> str:
    return generate_latest(PageCollector(agent.page)).decode()


def main() -> None:
    told = json.loads(sys.argv[1])
    settings = AgentSettings(
        node=told.get("node", "node-7"),
        pace=CollectorPace(5.0, told.get("deadline", 0.25), 60.0, told.get("deadline", 0.25)),
        dcgm_names=told.get("dcgm_names", ""),
        pod_resources=told.get("pod_resources", ""),
        slices_url=told.get("slices_url", ""),
        pod_logs=told.get("pod_logs", ""),
        proc=Path(told.get("proc", "/nowhere")),
        version="0",
    )
    clock = _Clock()
    agent = Agent(settings, Nvml(), clock)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(agent, clock, json.loads(line))) + "\n")
        sys.stdout.flush()
    os._exit(0)  # calls may hang on


if __name__ == "__main__":
    main()
