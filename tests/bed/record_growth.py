"""`python -m tests.bed.record_growth FOLDER`: how the real Karpenter grows pools, as one who watches sees it.

Each story is a file of lines {at, collection, type, object}: what came on the watches of the kinds that the
cockpit reads for pools, in the order of arrival. `at` is the time of arrival in epoch seconds. Nothing in a
file is edited; the tests replay them through decoders and store.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TextIO

from tests.bed import karpenter_objects as objects
from tests.bed.api import MERGE, Api, Tree
from tests.bed.bed import Bed
from tests.bed.estate import gpu_job
from tests.bed.setup import apply_all

WATCHED = {
    "nodepools.karpenter.sh": "/apis/karpenter.sh/v1/nodepools",
    "nodeclaims.karpenter.sh": "/apis/karpenter.sh/v1/nodeclaims",
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "events": "/api/v1/events",
}
NODES, CLAIMS = WATCHED["nodes"], WATCHED["nodeclaims.karpenter.sh"]
SECONDS = 120.0
Look = Callable[[], bool]


def until(what: str, holds: Look) -> None:
    """Until it holds. Raises TimeoutError."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {SECONDS:g} s: {what}")
        time.sleep(0.2)


class Recorder:
    """Everything that the watches say, line by line."""

    def __init__(self, api: Api, sink: TextIO) -> None:
        self._api, self._sink = api, sink
        self._lock, self._is_over = threading.Lock(), False
        self._threads = [
            threading.Thread(target=self._watch, args=one, daemon=True) for one in WATCHED.items()
        ]

    def __enter__(self) -> None:
        for one in self._threads:
            one.start()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_over = True

    def _watch(self, collection: str, path: str) -> None:
        query = (("watch", "1"), ("timeoutSeconds", "600"))
        for line in self._api.lines(path, query=query, timeout_seconds=610):
            told = json.loads(line)
            told["object"]["metadata"].pop("managedFields", None)
            row = {"at": round(time.time(), 3), "collection": collection, **told}
            with self._lock:
                if self._is_over:
                    return
                self._sink.write(json.dumps(row, separators=(",", ":")) + "\n")


def by_demand(api: Api) -> None:
    """A job of 8 GPUs waits, a machine comes, its GPUs come late, the job runs and ends, the machine goes."""
    apply_all(
        api, [objects.node_pool("burst", gpus_after="3s", ready_after="2s", empty_after="5s")], fresh=True
    )
    api.create("/apis/batch/v1/namespaces/team-a/jobs", gpu_job("llm", gpus=8, queue=""))
    pods = "/api/v1/namespaces/team-a/pods"
    until("it runs", lambda: any(one["status"]["phase"] == "Running" for one in api.items(pods)))
    for one in api.items(pods):
        name = one["metadata"]["name"]
        api.merge(f"{pods}/{name}", {"metadata": {"annotations": {"bed/finish-after": "1s"}}})
    until("its machine is gone", lambda: not api.items(NODES) and not api.items(CLAIMS))


def by_scale(api: Api) -> None:
    """A static pool of no machine is scaled to two, and back to one."""
    pool = objects.node_pool("steady", replicas=0, limits={"nodes": "4"}, gpus_after="2s")
    apply_all(api, [pool], fresh=True)
    scale = "/apis/karpenter.sh/v1/nodepools/steady/scale"

    for wanted in (2, 1):
        api.request("PATCH", scale, {"spec": {"replicas": wanted}}, content_type=MERGE).checked()
        until(f"it has {wanted}", partial(has_nodes, api, wanted))


def has_nodes(api: Api, wanted: int) -> bool:
    """That many machines, each with its GPUs."""
    return sum(map(has_gpus, api.items(NODES))) == wanted == len(api.items(CLAIMS))


def has_gpus(node: Tree) -> bool:
    return int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)) > 0


def sold_out(api: Api) -> None:
    """The cloud has no machine: a claim fails at its launch and is deleted, again and again."""
    apply_all(api, [objects.node_pool("scarce"), *objects.stockout("scarce")], fresh=True)
    api.create("/apis/batch/v1/namespaces/team-a/jobs", gpu_job("unlucky", gpus=8, queue=""))
    failed: set[str] = set()

    def twice() -> bool:
        for one in api.items("/api/v1/namespaces/default/events"):
            if one["reason"] == "InsufficientCapacityError":
                failed.add(one["involvedObject"]["name"])
        return len(failed) > 1

    until("two claims have failed", twice)


STORIES = {"by-demand": by_demand, "by-scale": by_scale, "sold-out": sold_out}


def beds() -> Iterator[Bed]:
    """A bed with Karpenter and a machine class."""
    with Bed({"karpenter"}, namespace=False) as bed:
        apply_all(bed.api(), [objects.node_class()], fresh=True)
        yield bed


def main(folder: Path) -> None:
    """One file a story; those that are there stay."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, story in STORIES.items():
        file = folder / f"karpenter-{name}.jsonl"
        if file.exists():
            continue
        for bed in beds():
            with file.open("w") as sink, Recorder(bed.api(), sink):
                story(bed.api())
        print(f"{file.name}: {len(file.read_text().splitlines())} lines", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
