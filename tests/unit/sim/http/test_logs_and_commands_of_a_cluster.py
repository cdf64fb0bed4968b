"""A whole embedded cluster: logs and commands reach the kubelets that play its nodes."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from cockpit.kube.resource import PODS
from cockpit.sim.port import Tree
from cockpit.sim.scenarios.loading import find, load
from cockpit.sim.serve import Options, running
from tests.unit.sim.http.conftest import Client


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of the default scenario, half a minute old."""
    options = Options(warm_seconds=30.0)
    async with (
        running(load(find("default")), tmp_path, options) as (server, _),
        aiohttp.ClientSession() as http,
    ):
        yield Client(server, http)


def _running_pod(client: Client) -> tuple[str, str]:
    def is_training(tree: Tree) -> bool:
        phase, namespace = tree["status"].get("phase"), tree["metadata"]["namespace"]
        return bool(phase == "Running" and namespace != "gpu-operator")

    shelf = client.server.operations.storage.shelf(PODS)
    tree = next(one.tree for one in shelf.between("") if is_training(one.tree))
    return tree["metadata"]["namespace"], tree["metadata"]["name"]


async def test_a_kubelet_knows_its_caller(client: Client) -> None:
    """Whoever shows no certificate of the API server's gets neither a log nor a shell."""
    _, nodes = await client.ask("GET", "/api/v1/nodes")
    endpoint = nodes["items"][0]["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    namespace, name = _running_pod(client)
    blind = ssl.create_default_context(cafile=str(client.server.ca_file))
    url = f"https://127.0.0.1:{endpoint}/containerLogs/{namespace}/{name}/main"
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientError):
            await http.get(url, ssl=blind)
