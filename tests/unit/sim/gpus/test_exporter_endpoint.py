"""The exporters' pages over HTTP."""

from typing import Any

import aiohttp

from cockpit.clock import ManualClock
from cockpit.sim.actors.gpus.endpoint import ExporterEndpoint


class Pages:
    """A fleet of two nodes."""

    def nodes(self) -> list[str]:
        return ["n0", "n1"]

    def metrics(self, node: str, at_seconds: float) -> str:
        if node not in self.nodes():
            raise KeyError(node)
        return f'a{{node="{node}"}} {at_seconds}\n'


async def test_each_node_has_a_page_and_the_targets_name_them_all() -> None:
    clock = ManualClock()
    fleet: Any = Pages()
    endpoint = ExporterEndpoint(fleet, clock)
    await endpoint.start()
    root = f"http://127.0.0.1:{endpoint.port}"
    try:
        async with aiohttp.ClientSession() as http:
            targets = await (await http.get(f"{root}/targets")).json()
            assert [one["labels"]["instance"] for one in targets] == ["n0:9400", "n1:9400"]
            path = targets[1]["labels"]["__metrics_path__"]
            answer = await http.get(root + path)
            assert await answer.text() == f'a{{node="n1"}} {clock.now()}\n'
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert (await http.get(f"{root}/nodes/gone/metrics")).status == 404
            endpoint.silent.add("n0")
            assert (await http.get(f"{root}/nodes/n0/metrics")).status == 503
    finally:
        await endpoint.stop()
