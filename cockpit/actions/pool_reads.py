"""A pool's owner, its nodes and their pods as the server has them now: tables may lag behind."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from cockpit.actions.planning import Planning
from cockpit.actions.read import read_tree
from cockpit.actions.store_overlay import record_of
from cockpit.errors import BadInput
from cockpit.kube.decode.decoders import NODE, POD, machine_decoder, pool_decoder
from cockpit.kube.decode.times import from_text
from cockpit.kube.resource import NODES, PODS, Resource
from cockpit.kube.session import ApiSession
from cockpit.model.node import Node
from cockpit.model.pool import Machine, Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.model.session import Reader, Session
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry
from cockpit.pools.index import pool_again, pool_named, pool_object
from cockpit.pools.owner import RollsOut


async def owner_as_read(session: Reader, owner: PoolObject) -> PoolObject:
    """The pool's owner as the server has it now. Raises Refused where it is gone or another one."""
    target = f"{owner.kind.lower()} {owner.key}"
    tree = await read_tree(session, f"{owner.resource_path}/{owner.name}", target)
    found: PoolObject = record_of(pool_decoder(_resource(owner)), tree, owner.uid, target)
    return found


async def refuse_paused(session: Reader, pool: Pool, store: StoreReader) -> None:
    """Raise BadInput where what stands above the pool's owner is paused: no new size would be followed."""
    owner = pool_object(store, pool)
    holder = None if owner is None else registry.holder(owner, ())
    path = holder.stopped_by(owner) if owner is not None and isinstance(holder, RollsOut) else ""
    if not path:
        return
    answer = await session.request("GET", path)
    tree = answer.json() if answer.status == 200 else None
    kind = tree.get("kind") if isinstance(tree, dict) else ""
    spec = tree.get("spec") if isinstance(tree, dict) else None
    if isinstance(spec, dict) and spec.get("paused") is True:
        name = path.rpartition("/")[2]
        raise BadInput(
            f"pool {pool.name}: {kind} {name} is paused (spec.paused): nothing would"
            " follow a new size; unpause it first"
        )


async def pool_nodes_as_read(planning: Planning, pool: Pool, nodes: Sequence[Node]) -> StoreReader:
    """The tables with these nodes, their pods, and the pool's owner as the server has them now."""
    store = planning.store
    owner = pool_object(store, pool)
    if owner is not None and owner.reach is None:
        store = store.with_record(Kind.POOL, await owner_as_read(planning.session, owner))
    return await nodes_as_read(planning.session, store, nodes)


async def nodes_as_read(session: Session, store: StoreReader, nodes: Sequence[Node]) -> StoreReader:
    """The tables with these nodes and their pods as the server has them now. Raises Refused where one is
    gone, BadInput where its pods cannot be read."""
    for one in nodes:
        target = f"node {one.name}"
        tree = await read_tree(session, NODES.path(name=one.name), target)
        found: Node = record_of(NODE, tree, one.uid, target)
        dated = msgspec.structs.replace(found, cordoned_seconds=cordoned_seconds(tree))
        store = store.with_record(Kind.NODE, dated)
        for pod in await _pods_on(session, one.name):
            uid = str(pod["metadata"].get("uid") or "")
            store = store.with_record(
                Kind.POD, record_of(POD, pod, uid, f"pod {pod['metadata'].get('name')}")
            )
    return store


async def machines_as_read(session: Session, store: StoreReader, nodes: Sequence[str]) -> StoreReader:
    """The tables with the machines of these nodes as the server has them now. Raises Refused where one is
    gone."""
    for one in [found for found in store.records(Kind.MACHINE).values() if found.node in nodes]:
        target = f"{one.kind.lower()} {one.key}"
        tree = await read_tree(session, f"{one.resource_path}/{one.name}", target)
        decoder = machine_decoder(_resource(one))
        store = store.with_record(Kind.MACHINE, record_of(decoder, tree, one.uid, target))
    return store


def _resource(found: PoolObject | Machine) -> Resource:
    group, _, version = found.api_version.rpartition("/")
    plural = found.resource_path.rpartition("/")[2]
    return Resource(group, version, plural, found.kind, namespaced=bool(found.namespace))


def cordoned_seconds(tree: Mapping[str, Any]) -> float | None:
    """When the server last wrote `spec.unschedulable`, by its own notes; None where it keeps none."""
    entries = tree["metadata"].get("managedFields")
    found = [
        at
        for one in (entries if isinstance(entries, list) else ())
        if isinstance(one, dict) and "f:unschedulable" in _fields_of_spec(one)
        if (at := from_text(str(one.get("time") or ""))) is not None
    ]
    return max(found, default=None)


def _fields_of_spec(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    fields = entry.get("fieldsV1")
    spec = fields.get("f:spec") if isinstance(fields, dict) else None
    return spec if isinstance(spec, dict) else {}


async def _pods_on(session: Session, node: str) -> list[dict[str, Any]]:
    query = (("fieldSelector", f"spec.nodeName={node}"),)
    lists = cast("ApiSession", session)  # who lists has a query, which the protocol has not
    answer = await lists.request("GET", PODS.path(), query=query)
    tree = answer.json() if answer.status == 200 else None
    if not isinstance(tree, dict) or not isinstance(tree.get("items"), list):
        raise BadInput(f"the pods of node {node} cannot be read: whether it is empty is not known")
    return [
        {"apiVersion": "v1", "kind": "Pod", **one}
        for one in tree["items"]
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict)
    ]


async def pool_as_now(planning: Planning, name: str) -> tuple[Pool, StoreReader]:
    """The pool of that name and the tables that know it: one outside the cluster is read, with
    `planning.reads` one inside, too. Raises Refused where its owner is gone or another one."""
    store = planning.store
    pool = pool_named(store, name)
    outside = planning.pools.outside
    if outside is not None and await outside.read(pool, is_fresh=planning.reads):
        pool = pool_again(store, pool)
    owner = pool_object(store, pool)
    if planning.reads and owner is not None and owner.reach is None:
        store = store.with_record(Kind.POOL, await owner_as_read(planning.session, owner))
        pool = pool_again(store, pool)
    return pool, store
