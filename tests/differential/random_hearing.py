"""What watchers of every kind are told of random sequences: from before the first to a mark after the last.

A watch that ends by its time may have been told less than there is, where the server is busy. So an object of
each kind is written after the sequences: who is told of it has been told of all that was written before.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from tests.bed.api import Api
from tests.differential.random_objects import SORTS, Sort, Tree

SPACE = "marks"
NAME = "mark"
PATIENCE_SECONDS = 60
_ROOTS = {"C": "/api/v1", "B": "/apis/batch/v1", "A": "/apis/apps/v1", "P": "/apis/policy/v1"}
_REPAIR = "ipallocator-repair-controller"


def is_not_ours(tree: Any) -> bool:
    """The config map that a controller puts into every namespace (here the server does), and what the real
    server's own repair of addresses tells: also where a watch tells of them."""
    if not isinstance(tree, dict):
        return False
    if tree.keys() == {"type", "object"}:
        return is_not_ours(tree["object"])
    return (tree.get("metadata") or {}).get("name") == "kube-root-ca.crt" or is_repair(tree)


def is_repair(tree: Tree) -> bool:
    """An Event that says that a service's address is not allocated: the real server's repair sees the service
    before its own cache has the address, about once in a hundred services when it is busy."""
    return tree.get("reportingComponent", tree.get("reportingController")) == _REPAIR


def path_of(text: str, space: str) -> str:
    """`C/pods` -> `/api/v1/namespaces/SPACE/pods`."""
    if not text.startswith("/"):
        text = f"{_ROOTS[text[0]]}/namespaces/NS{text[1:]}"
    return text.replace("NS", space)


class Heard(Protocol):
    """A side of a sequence, as far as it is told things."""

    @property
    def space(self) -> str: ...
    @property
    def since(self) -> str: ...
    @property
    def told(self) -> dict[str, list[Any]]: ...


def collection(sort: Sort, space: str = "") -> str:
    """Where the objects of a kind are listed: those of a namespace, or all."""
    path = path_of(sort.path, space or SPACE)
    return path if space else path.replace(f"/namespaces/{SPACE}", "")


class Marks:
    """An object of each kind on one server, in a namespace of its own."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._count = 0
        if api.request("GET", f"/api/v1/namespaces/{SPACE}").status == 404:
            api.create("/api/v1/namespaces", {"metadata": {"name": SPACE}})
        for sort in SORTS:
            text = json.dumps(sort.base).replace("NS", SPACE)
            tree: Tree = {"apiVersion": sort.version, "kind": sort.kind, **json.loads(text)}
            tree["metadata"] = {**tree.get("metadata", {}), "name": NAME}
            if api.request("GET", f"{collection(sort, SPACE)}/{NAME}").status == 404:
                api.create(collection(sort, SPACE), tree)

    def remove(self) -> None:
        """Those of no namespace."""
        for sort in SORTS:
            if collection(sort, SPACE) == collection(sort):
                self.api.delete(f"{collection(sort)}/{NAME}")

    def write(self, sort: Sort) -> int:
        """Write the object of that kind; answers the version that it has by then."""
        self._count += 1
        body = {"metadata": {"annotations": {"mark": str(self._count)}}}
        made = self.api.merge(f"{collection(sort, SPACE)}/{NAME}", body)
        return int(made["metadata"]["resourceVersion"])

    def told(self, sort: Sort, since: str) -> Iterator[Tree]:
        """Every event of that kind since then, up to a mark that is written now."""
        mark = self.write(sort)
        query = {"watch": "1", "resourceVersion": since, "timeoutSeconds": str(PATIENCE_SECONDS)}
        for line in self.api.lines(collection(sort), query=query.items(), timeout_seconds=PATIENCE_SECONDS):
            event: Tree = json.loads(line)
            metadata = event["object"].get("metadata", {})
            if event["type"] == "ERROR":
                raise AssertionError(f"the watch of {sort.path} from {since} broke: {event['object']}")
            is_mark = metadata.get("name") == NAME and metadata.get("namespace", SPACE) == SPACE
            if is_mark and int(metadata["resourceVersion"]) >= mark:
                return
            yield event
        raise TimeoutError(f"the watch of {sort.path} from {since} ended before version {mark}")


def hear(marks: Marks, sides: Sequence[Heard], pool: ThreadPoolExecutor) -> None:
    """Fills in what watchers of every kind are told of these sides, from before the first of them to now."""
    since = str(min(int(side.since) for side in sides))
    by_space = {side.space: side for side in sides}

    def watched(sort: Sort) -> None:
        for side in sides:
            side.told[sort.path] = []
        for event in _ours(marks.told(sort, since)):
            metadata = event["object"].get("metadata", {})
            space = metadata.get("namespace") or metadata.get("name", "").partition("-")[2]
            if (side_or_none := by_space.get(space)) is not None:
                side_or_none.told[sort.path].append(event)

    list(pool.map(watched, SORTS))


def _ours(events: Iterable[Tree]) -> Iterator[Tree]:
    return (one for one in events if one["type"] != "BOOKMARK" and not is_not_ours(one["object"]))
