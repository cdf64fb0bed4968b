"""Scale: the plan of `cockpit.pools`, with the command line that would do the same."""

import msgspec

from cockpit.actions.shell import scale_line
from cockpit.errors import BadInput
from cockpit.model.plan import Plan
from cockpit.model.pool import Pool
from cockpit.pools.index import pool_object
from cockpit.pools.plan import plan_scale
from cockpit.pools.truth import Truth


def plan_pool_scale(pool: Pool, replicas: int, store: Truth, *, context: str = "") -> Plan:
    """The plan that sets the pool to `replicas` nodes. Raises BadInput with the reason when it may not be."""
    plan = plan_scale(pool, pool_object(store, pool), replicas, store)
    return msgspec.structs.replace(plan, shell=scale_line(pool, replicas, context))


def read_replicas(text: str, pool: Pool | str) -> int:
    """The wanted number of nodes behind a form field or `--to`; `pool` or its name is for the sentence.

    Raises BadInput.
    """
    name = pool if isinstance(pool, str) else pool.name
    text = text.strip()
    if not text.isascii() or not text.lstrip("+-").isdigit() or len(text) > 8:
        raise BadInput(f"pool {name}: {text!r} is not a whole number of nodes")
    return int(text)
