"""Fill a bed with the measured cluster.

50,000 POSTs cost the API server minutes (managedFields most of all), so one pod of each job is created
through it, with its status, and its siblings are written into etcd as the same stored bytes with name, uid,
rank, node and address replaced by others of the same length. The API server then serves them like any other.
"""

import asyncio
import base64
import json
import random
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from tests.bench import load
from tests.bench.load import TrainingJob, Tree

LANES = 16
PUTS_PER_TRANSACTION = 100  # etcd's own limit is 128
# Other answers would only cost the server encoding that nobody reads.
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class PlantError(Exception):
    """The cluster could not be filled; the text is the server's own sentence."""


@dataclass(frozen=True)
class Place:
    """Where a bed is reached."""

    server: str
    token: str
    ca_file: Path
    etcd_url: str


@asynccontextmanager
async def client_of(place: Place) -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client that may do anything on the bed's API server, and trusts it."""
    tls = ssl.create_default_context(cafile=str(place.ca_file))
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=LANES, ssl=tls),
        headers={"Authorization": f"Bearer {place.token}", "User-Agent": "cockpit-bench"},
    ) as client:
        yield client


class Planter:
    """Creates objects through the API server and copies them inside etcd."""

    def __init__(self, client: aiohttp.ClientSession, place: Place, seed: int) -> None:
        self._client = client
        self._place = place
        self._rng = random.Random(seed)

    def new_uid(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    async def send(self, method: str, path: str, tree: Tree) -> str:
        """Create or patch one object; answers with its uid. Raises PlantError."""
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        headers = {"Content-Type": content_type, "Accept": METADATA_ONLY}
        url = f"{self._place.server}{path}?fieldValidation=Ignore"
        async with self._client.request(method, url, data=json.dumps(tree), headers=headers) as answer:
            body: Tree = json.loads(await answer.read())
            if answer.status >= 400:
                raise PlantError(f"{method} {path}: {body.get('message', answer.status)}")
            return str(body["metadata"].get("uid", ""))

    async def wait_until_served(self, path: str) -> None:
        """Returns when a list of that path answers. Raises PlantError after 20 s."""
        for _ in range(200):
            async with self._client.get(f"{self._place.server}{path}?limit=1") as answer:
                await answer.read()
                if answer.status == 200:
                    return
            await asyncio.sleep(0.1)
        raise PlantError(f"{path} is not served 20 s after its definition was created")

    async def stored(self, key: str) -> bytes:
        """The bytes under one key of etcd."""
        found = await self._etcd("range", {"key": _text(key.encode())})
        return base64.b64decode(found["kvs"][0]["value"])

    async def put(self, pairs: Iterable[tuple[str, bytes]]) -> None:
        """Write keys of etcd, many in each transaction."""
        puts: list[Tree] = []
        for key, value in pairs:
            puts.append({"requestPut": {"key": _text(key.encode()), "value": _text(value)}})
            if len(puts) == PUTS_PER_TRANSACTION:
                await self._etcd("txn", {"success": puts})
                puts = []
        if puts:
            await self._etcd("txn", {"success": puts})

    async def _etcd(self, verb: str, tree: Tree) -> Tree:
        async with self._client.post(f"{self._place.etcd_url}/v3/kv/{verb}", data=json.dumps(tree)) as answer:
            body: Tree = json.loads(await answer.read())
            if answer.status >= 400:
                raise PlantError(f"etcd {verb}: {body}")
            return body


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


async def plant(
    place: Place, jobs: list[TrainingJob], *, nodes: int, seed: int, report: Callable[[str], None]
) -> None:
    """Create so many nodes, and the jobs with all their pods. Raises PlantError."""
    async with client_of(place) as client:
        planter = Planter(client, place, seed)
        for tree in load.resource_definitions():
            await planter.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", tree)
        for name in load.namespaces():
            await planter.send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        await _plant_nodes(planter, nodes)
        report(f"{nodes:,} nodes")
        for version, _, plural in load.KINDS:
            await planter.wait_until_served(f"/apis/{version}/{plural}")
        source = iter(jobs)

        async def lane() -> None:
            for job in source:
                await _plant_job(planter, job, nodes)

        async with asyncio.TaskGroup() as group:
            for _ in range(LANES):
                group.create_task(lane())
        report(f"{len(jobs):,} jobs with {sum(job.workers for job in jobs):,} pods")


async def _plant_nodes(planter: Planter, nodes: int) -> None:
    uid = await planter.send("POST", "/api/v1/nodes", load.node_tree(0))
    first = await planter.stored(f"/registry/minions/{load.node_name(0)}")

    def copies() -> Iterator[tuple[str, bytes]]:
        for number in range(1, nodes):
            name = load.node_name(number)
            yield (
                f"/registry/minions/{name}",
                _replaced(
                    first,
                    (load.node_name(0), name),
                    (load.pod_address(0), load.pod_address(number)),
                    (uid, planter.new_uid()),
                ),
            )

    await planter.put(copies())


async def _plant_job(planter: Planter, job: TrainingJob, nodes: int) -> None:
    owner_uid = await planter.send("POST", job.path, job.tree())
    for first in (0, 10, 100):
        if first < job.workers:
            await _plant_ranks(
                planter, job, owner_uid, range(first, min(first * 10 or 10, job.workers)), nodes
            )


async def _plant_ranks(planter: Planter, job: TrainingJob, owner_uid: str, ranks: range, nodes: int) -> None:
    """Workers whose ranks have the same number of digits: the first by request, the rest by its bytes."""
    path = f"/api/v1/namespaces/{job.namespace}/pods"
    first = ranks[0]
    uid = await planter.send("POST", path, load.pod_tree(job, first, owner_uid, nodes))
    base = job.first_node * 31
    if job.phase != "Pending":
        status = {"status": load.pod_status(job, load.pod_address(base + first))}
        await planter.send("PATCH", f"{path}/{job.pod_name(first)}/status", status)
    folder = f"/registry/pods/{job.namespace}"
    stored = await planter.stored(f"{folder}/{job.pod_name(first)}")

    def copies() -> Iterator[tuple[str, bytes]]:
        for rank in ranks[1:]:
            yield (
                f"{folder}/{job.pod_name(rank)}",
                _replaced(
                    stored,
                    (job.pod_name(first), job.pod_name(rank)),
                    # A map entry and an EnvVar: value is field 2, behind its length.
                    (
                        _entry("training.kubeflow.org/replica-index", first),
                        _entry("training.kubeflow.org/replica-index", rank),
                    ),
                    (_entry("RANK", first), _entry("RANK", rank)),
                    (
                        _entry(load.MEMBER_HASH, job.member_hash(first)),
                        _entry(load.MEMBER_HASH, job.member_hash(rank)),
                    ),
                    (job.node_of(first, nodes), job.node_of(rank, nodes)),
                    (load.pod_address(base + first), load.pod_address(base + rank)),
                    (uid, planter.new_uid()),
                ),
            )

    await planter.put(copies())


def _entry(key: str, value: int | str) -> str:
    return f"{key}\x12{chr(len(str(value)))}{value}"


def _replaced(raw: bytes, *pairs: tuple[str, str]) -> bytes:
    for old, new in pairs:
        if len(old) != len(new):
            raise PlantError(f"{old!r} and {new!r} differ in length: stored bytes cannot be copied")
        raw = raw.replace(old.encode(), new.encode())
    return raw


async def count_and_mean_bytes(place: Place, wanted: int) -> tuple[int, float]:
    """How many pods the server holds, and the mean length of 200 of them as JSON.

    What was written into etcd behind its back reaches the server's cache by and by, on a busy machine seconds
    later: it is asked again for a minute until it shows as many as are wanted.
    """
    total, mean = 0, 0.0
    async with client_of(place) as client:
        for _ in range(120):
            url = f"{place.server}/api/v1/pods?limit=200"
            async with client.get(url, headers={"Accept": "application/json"}) as answer:
                body = await answer.read()
            tree: dict[str, Any] = json.loads(body)
            items = tree.get("items") or []
            total = len(items) + int(tree.get("metadata", {}).get("remainingItemCount") or 0)
            mean = len(body) / len(items) if items else 0.0
            if total == wanted:
                break
            await asyncio.sleep(0.5)
    return total, mean
