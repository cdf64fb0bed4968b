"""Who waits in which place, in the shape of Kueue's visibility API.

`GET /apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/NAME/pendingworkloads` and
`.../namespaces/NS/localqueues/NAME/pendingworkloads?limit=&offset=`; places count from 0
(kueue v0.15 pkg/visibility/storage).
"""

from collections.abc import Mapping

from cockpit.k8s.admission.admission_specs import WorkloadInfo
from cockpit.sim.actors.queue.cache import QueueCache
from cockpit.sim.port import PortError, Tree

GROUP = "visibility.kueue.x-k8s.io"
VERSION = "v1beta2"
DEFAULT_LIMIT = 1000


def pending_workloads(
    queue_cache: QueueCache, queue: str, *, limit: int = DEFAULT_LIMIT, offset: int = 0
) -> Tree:
    """A PendingWorkloadsSummary of one ClusterQueue. Raises PortError 404 when there is no such queue."""
    line = queue_cache.lines.get(queue)
    if line is None:
        raise _not_found("clusterqueue", queue)
    places: dict[str, int] = {}
    items: list[Tree] = []
    for place, info in enumerate(line.in_order()):
        local = _local(queue_cache, info)
        in_local = places.get(local, 0)
        places[local] = in_local + 1
        if place >= offset and len(items) < limit:
            items.append(_item(queue_cache, info, place, in_local))
    return _summary(items)


def pending_in_local_queue(
    queue_cache: QueueCache, namespace: str, name: str, *, limit: int = DEFAULT_LIMIT, offset: int = 0
) -> Tree:
    """A PendingWorkloadsSummary of one LocalQueue. Raises PortError 404 when there is no such queue."""
    found = queue_cache.local_queue((namespace, name))
    if found is None or found[1] != "None":
        raise _not_found("localqueue", name)
    line = queue_cache.lines.get(found[0])
    items: list[Tree] = []
    in_local = 0
    for place, info in enumerate([] if line is None else line.in_order()):
        if info.key[0] != namespace or _local(queue_cache, info) != f"{namespace}/{name}":
            continue
        if in_local >= offset and len(items) < limit:
            items.append(_item(queue_cache, info, place, in_local))
        in_local += 1
    return _summary(items)


def answer(queue_cache: QueueCache, path: str, query: Mapping[str, str]) -> Tree:
    """What a GET below `/apis/visibility.kueue.x-k8s.io/v1beta2` answers: `path` is the rest of the path.

    Raises PortError 404 for what is not served and 400 for a limit or offset that is no number.
    """
    limit, offset = _number(query, "limit", DEFAULT_LIMIT), _number(query, "offset", 0)
    match path.strip("/").split("/"):
        case [""]:
            return resource_list()
        case ["clusterqueues", name, "pendingworkloads"]:
            return pending_workloads(queue_cache, name, limit=limit, offset=offset)
        case ["namespaces", namespace, "localqueues", name, "pendingworkloads"]:
            return pending_in_local_queue(queue_cache, namespace, name, limit=limit, offset=offset)
    raise PortError(404, "NotFound", "the server could not find the requested resource")


def resource_list() -> Tree:
    """Discovery of the group's version."""
    rows = [
        ("clusterqueues", "clusterqueue", False, "ClusterQueue"),
        ("clusterqueues/pendingworkloads", "", False, "PendingWorkloadsSummary"),
        ("localqueues", "localqueue", True, "LocalQueue"),
        ("localqueues/pendingworkloads", "", True, "PendingWorkloadsSummary"),
    ]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{VERSION}",
        "resources": [
            {"name": name, "singularName": singular, "namespaced": namespaced, "kind": kind, "verbs": ["get"]}
            for name, singular, namespaced, kind in rows
        ],
    }


def _number(query: Mapping[str, str], name: str, usual: int) -> int:
    text = query.get(name, "")
    if not text:
        return usual
    if not text.isdigit():
        raise PortError(400, "BadRequest", f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def _local(queue_cache: QueueCache, info: WorkloadInfo) -> str:
    tree = queue_cache.workload(info.key)
    return f"{info.key[0]}/{'' if tree is None else tree['spec'].get('queueName') or ''}"


def _item(queue_cache: QueueCache, info: WorkloadInfo, place: int, in_local: int) -> Tree:
    tree = queue_cache.workload(info.key)
    metadata = {} if tree is None else tree["metadata"]
    owners = [
        {key: owner[key] for key in ("apiVersion", "kind", "name", "uid")}
        for owner in metadata.get("ownerReferences") or ()
    ]
    about: Tree = {
        "name": info.key[1],
        "namespace": info.key[0],
        "creationTimestamp": metadata.get("creationTimestamp"),
    }
    if owners:
        about["ownerReferences"] = owners
    return {
        "metadata": about,
        "priority": info.priority,
        "localQueueName": _local(queue_cache, info).partition("/")[2],
        "positionInClusterQueue": place,
        "positionInLocalQueue": in_local,
    }


def _summary(items: list[Tree]) -> Tree:
    return {
        "kind": "PendingWorkloadsSummary",
        "apiVersion": f"{GROUP}/{VERSION}",
        "metadata": {},
        "items": items,
    }


def _not_found(what: str, name: str) -> PortError:
    return PortError(404, "NotFound", f'{what}.{GROUP} "{name}" not found')
