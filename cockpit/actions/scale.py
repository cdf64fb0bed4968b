"""Scale: the plan of `cockpit.pools`, with the command line that would do the same."""

import msgspec

from cockpit.actions.read import read_tree
from cockpit.actions.shell import scale_line
from cockpit.actions.store_overlay import record_of
from cockpit.errors import BadInput
from cockpit.kube.resource import Resource
from cockpit.model.plan import Plan
from cockpit.model.pool import Pool, PoolObject
from cockpit.model.record import Kind
from cockpit.model.session import Reader
from cockpit.model.store_reader import StoreReader
from cockpit.pools.index import pool_named, pool_object
from cockpit.pools.plan import plan_scale


def plan_pool_scale(pool: Pool, replicas: int, store: StoreReader, *, context: str = "") -> Plan:
    """The plan that sets the pool to `replicas` nodes. Raises BadInput with the reason when it may not be."""
    plan = plan_scale(pool, pool_object(store, pool), replicas, store)
    return msgspec.structs.replace(plan, shell=scale_line(pool, replicas, context))


async def scale_as_now(
    session: Reader, store: StoreReader, name: str, replicas: int, *, context: str = "", reads: bool = False
) -> Plan:
    """The plan for the pool of that name; with `reads` on its owner as the server has it now.

    Raises BadInput with the reason when it may not be, Refused when the owner is gone or another one.
    """
    pool = pool_named(store, name)
    owner = pool_object(store, pool)
    if not reads or owner is None:
        return plan_pool_scale(pool, replicas, store, context=context)
    as_read = store.with_record(Kind.POOL, await _owner_as_read(session, owner))
    return plan_pool_scale(pool_named(as_read, name), replicas, as_read, context=context)


async def _owner_as_read(session: Reader, owner: PoolObject) -> PoolObject:
    from cockpit.kube.decode.decoders import pool_decoder

    target = f"{owner.kind.lower()} {owner.key}"
    tree = await read_tree(session, f"{owner.resource_path}/{owner.name}", target)
    group, _, version = owner.api_version.rpartition("/")
    plural = owner.resource_path.rpartition("/")[2]
    resource = Resource(group, version, plural, owner.kind, namespaced=bool(owner.namespace))
    found: PoolObject = record_of(pool_decoder(resource), tree, owner.uid, target)
    return found


def read_replicas(text: str) -> int:
    """The wanted number of nodes behind a form field or `--to`. Raises BadInput."""
    text = text.strip()
    if not text.isascii() or not text.lstrip("+-").isdigit() or len(text) > 8:
        raise BadInput(f"{text!r} is not a whole number of nodes")
    return int(text)
