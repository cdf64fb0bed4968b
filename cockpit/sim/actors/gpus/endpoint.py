"""The exporters' pages over HTTP, one port for all nodes: what a pod proxy or a Prometheus reads.

`/nodes/NODE/metrics` is the page of one node, `/targets` lists all for Prometheus' HTTP service discovery
(prometheus.io/docs/prometheus/latest/configuration/configuration/#http_sd_config). Loopback only.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from cockpit.clock import Clock
from cockpit.sim.actors.gpus.fleet import GpuFleet

if TYPE_CHECKING:
    from aiohttp import web

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_LONGEST_LINE_BYTES = 1 << 20
"""As Go's server has it (net/http DefaultMaxHeaderBytes): a query for many pods is long."""
_HALF_OPEN_SECONDS = 32
"""To send a request (Go's server: ReadHeaderTimeout of kube-apiserver), and between two."""


class ExporterEndpoint:
    """Serves while it is open; `silent` names nodes whose exporter does not answer."""

    def __init__(self, fleet: GpuFleet, clock: Clock) -> None:
        self._fleet = fleet
        self._clock = clock
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.silent: set[str] = set()

    async def start(self, port: int = 0, more: "Callable[[web.Application], None] | None" = None) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one. `more` adds what else is served there. Raises OSError
        where the port is in use."""
        from aiohttp import web

        app = web.Application()
        if more is not None:
            more(app)
        app.router.add_get("/nodes/{node}/metrics", self._metrics)
        app.router.add_get("/targets", self._targets)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            shutdown_timeout=0.1,
            keepalive_timeout=_HALF_OPEN_SECONDS,
            max_line_size=_LONGEST_LINE_BYTES,
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _metrics(self, request: "web.Request") -> "web.Response":
        from aiohttp import web

        node = request.match_info["node"]
        if node in self.silent:
            return web.Response(status=503, text="the exporter of this node is down\n")
        try:
            page = self._fleet.metrics(node, self._clock.now())
        except KeyError:
            return web.Response(status=404, text=f"no GPUs on {node}\n")
        return web.Response(body=page.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _targets(self, request: "web.Request") -> "web.Response":
        from aiohttp import web

        targets = [
            {
                "targets": [f"127.0.0.1:{self.port}"],
                "labels": {"__metrics_path__": f"/nodes/{node}/metrics", "instance": f"{node}:9400"},
            }
            for node in self._fleet.nodes()
        ]
        return web.json_response(targets)
