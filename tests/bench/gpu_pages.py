"""`python -m tests.bench.gpu_pages --port N --nodes N`: pages of many dcgm-exporters, from one process.

A page has the default counters of dcgm-exporter 4.6.0 (NVIDIA/dcgm-exporter etc/default-counters.csv) with
its labels (internal/pkg/rendermetrics/render_metrics.go); every card reads something else at every scrape,
so that a refresh finds nothing unchanged. `/targets` is for Prometheus' HTTP discovery.
"""

import argparse
from itertools import count

from aiohttp import web

GPUS_EACH = 8
ALLOCATED_OF_TEN = 8
"""Of ten nodes so many are held by a pod that has all their cards."""

_DEV, _PROF = "DCGM_FI_DEV_", "DCGM_FI_PROF_"


def node_name(number: int) -> str:
    return f"gpu-{number:05d}"


def pod_name(number: int) -> str:
    """The pod on a node, "" for none."""
    return f"llm-pretrain-{number // 16:03d}-worker-{number % 16}" if number % 10 < ALLOCATED_OF_TEN else ""


def uuid(number: int, gpu: int) -> str:
    return f"GPU-{number:08x}-5a1d-4c3e-9f00-{gpu:012x}"


def values(number: int, gpu: int, scrape: int) -> dict[str, float]:
    """What a card reads at a scrape: duty moves by whole percents, as the driver tells it."""
    dice = (number * 7919 + gpu * 104_729 + scrape * 613) % 1000
    used = 20_000 + 40 * dice
    return {
        f"{_DEV}SM_CLOCK": 1_200 + dice % 700,
        f"{_DEV}MEM_CLOCK": 2_619,
        f"{_DEV}MEMORY_TEMP": 40 + dice % 40,
        f"{_DEV}GPU_TEMP": 35 + dice % 45,
        f"{_DEV}POWER_USAGE": 90 + 0.6 * dice,
        f"{_DEV}TOTAL_ENERGY_CONSUMPTION": 10_000_000 + dice + 100_000 * scrape,
        f"{_DEV}PCIE_REPLAY_COUNTER": 0,
        f"{_DEV}GPU_UTIL": dice % 101,
        f"{_DEV}MEM_COPY_UTIL": dice % 61,
        f"{_DEV}XID_ERRORS": 0,
        f"{_DEV}FB_FREE": 80_949 - used,
        f"{_DEV}FB_USED": used,
        f"{_DEV}FB_RESERVED": 610,
        f"{_DEV}NVLINK_BANDWIDTH_TOTAL": dice,
        f"{_PROF}GR_ENGINE_ACTIVE": round(dice / 1000, 6),
        f"{_PROF}PIPE_TENSOR_ACTIVE": round(dice / 2000, 6),
        f"{_PROF}DRAM_ACTIVE": round(dice / 3000, 6),
    }


class Pages:
    """The pages of all nodes; each scrape of a node is its next."""

    def __init__(self, nodes: int, port: int) -> None:
        self.nodes = nodes
        self.port = port
        self._scrapes = [count() for _ in range(nodes)]
        self._labels = [[_labels(number, gpu) for gpu in range(GPUS_EACH)] for number in range(nodes)]

    async def metrics(self, request: web.Request) -> web.Response:
        number = int(request.match_info["number"])
        scrape = next(self._scrapes[number])
        cards = [values(number, gpu, scrape) for gpu in range(GPUS_EACH)]
        lines: list[str] = []
        for name in cards[0]:
            lines.append(f"# TYPE {name} gauge")
            lines += [
                f"{name}{{{labels}}} {card[name]}"
                for labels, card in zip(self._labels[number], cards, strict=True)
            ]
        return web.Response(text="\n".join(lines) + "\n")

    async def targets(self, _: web.Request) -> web.Response:
        return web.json_response(
            [
                {
                    "targets": [f"127.0.0.1:{self.port}"],
                    "labels": {
                        "__metrics_path__": f"/{number}",
                        "instance": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}:9400",
                        "namespace": "gpu-operator",
                        "pod": f"nvidia-dcgm-exporter-{number:05d}",
                        "container": "nvidia-dcgm-exporter",
                        "service": "nvidia-dcgm-exporter",
                    },
                }
                for number in range(self.nodes)
            ]
        )


def _labels(number: int, gpu: int) -> str:
    pairs = {
        "gpu": str(gpu),
        "UUID": uuid(number, gpu),
        "pci_bus_id": f"00000000:{gpu + 0x19:02X}:00.0",
        "device": f"nvidia{gpu}",
        "modelName": "NVIDIA H100 80GB HBM3",
        "hostname": node_name(number),
        "DCGM_FI_DRIVER_VERSION": "570.124.06",
    }
    if pod_name(number):
        pairs |= {"container": "worker", "namespace": "research", "pod": pod_name(number)}
    return ",".join(f'{key}="{value}"' for key, value in pairs.items())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.gpu_pages")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--nodes", type=int, required=True)
    options = parser.parse_args()
    pages = Pages(options.nodes, options.port)
    app = web.Application()
    app.router.add_get("/targets", pages.targets)
    app.router.add_get("/{number:\\d+}", pages.metrics)
    web.run_app(app, host="127.0.0.1", port=options.port, print=None, access_log=None)


if __name__ == "__main__":
    main()
