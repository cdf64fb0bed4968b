"""What a job names and the cluster has to have: priority classes and its queue, refused by name where not.

Read from the server when a plan is made, by key and by command alike. What may not be read is left to the
server, which refuses what it checks itself.
"""

from collections.abc import Mapping
from typing import Any

from cockpit.actions.address import Lookup
from cockpit.errors import BadValue
from cockpit.gangs import registry
from cockpit.gangs.engine import Engine
from cockpit.gangs.manifests import ApiKind
from cockpit.jobs.pod_templates import pod_templates
from cockpit.k8s.json_values import mapping
from cockpit.model.session import Reader

_MOST_NAMED = 6
_GOES_ON = ("", "None")


async def refuse_absent(session: Reader, lookup: Lookup, manifest: Mapping[str, Any], namespace: str) -> None:
    """Raise BadValue for a priority class or a queue in the manifest that the cluster does not have, and for
    a queue that is stopped. Raises NoConnection."""
    specs = [mapping(template.get("spec")) for _role, template in pod_templates(manifest)]
    for name in dict.fromkeys(str(spec.get("priorityClassName") or "") for spec in specs):
        await refuse_absent_priority(session, lookup, registry.NONE, name)
    engine, queue = registry.admitting(manifest)
    metadata = mapping(manifest.get("metadata"))
    if engine.priority is not None:
        labels = mapping(metadata.get("labels"))
        await refuse_absent_priority(session, lookup, engine, str(labels.get(engine.priority.label) or ""))
    await refuse_closed_queue(session, lookup, engine, str(metadata.get("namespace") or namespace), queue)


async def refuse_absent_priority(session: Reader, lookup: Lookup, engine: Engine, name: str) -> None:
    """Raise BadValue where there is no priority class of that name, of the kind for jobs of the engine."""
    served = lookup(*engine.priority_kind) if name else None
    if served is None or (await session.request("GET", served.path(name=name))).status != 404:
        return
    answer = await session.request("GET", served.path())
    tree = answer.json() if answer.status < 300 else None
    items = tree.get("items") if isinstance(tree, dict) else None
    found = sorted(str(mapping(item.get("metadata")).get("name")) for item in items or ())
    more = f": choose one of {', '.join(found[:_MOST_NAMED])}" if found else ": leave it empty"
    raise BadValue("priority", f"this cluster has no {engine.priority_kind[1]} {name}{more}")


async def refuse_closed_queue(
    session: Reader, lookup: Lookup, engine: Engine, namespace: str, name: str
) -> None:
    """Raise BadValue where the namespace has no queue of that name, and where it, or the queue of the cluster
    behind it, is stopped."""
    if not name or engine.quota_queues is None:
        return
    queue_kind = engine.quota_queues.kind
    tree = await _read(session, lookup, queue_kind, namespace, name)
    if tree is None:
        return
    if not tree:
        raise BadValue(
            "queue",
            f"namespace {namespace} has no {queue_kind[1]} {name}:"
            " choose another one (cockpit get queues), or leave it empty",
        )
    behind = str(mapping(tree.get("spec")).get("clusterQueue") or "")
    _refuse_stopped(tree, f"localqueue/{namespace}/{name}")
    if behind:
        kind = (queue_kind[0], "ClusterQueue")
        _refuse_stopped(await _read(session, lookup, kind, "", behind) or {}, f"clusterqueue/{behind}")


def _refuse_stopped(tree: Mapping[str, Any], name: str) -> None:
    policy = str(mapping(tree.get("spec")).get("stopPolicy") or "")
    if policy not in _GOES_ON:
        raise BadValue(
            "queue",
            f"{name} is stopped ({policy}): resume it (P, cockpit queue resume {name}),"
            " or choose another queue",
        )


async def _read(
    session: Reader, lookup: Lookup, kind: ApiKind, namespace: str, name: str
) -> Mapping[str, Any] | None:
    """The object; {} where there is none, None where it cannot be read."""
    served = lookup(*kind)
    if served is None:
        return None
    answer = await session.request("GET", served.path(namespace, name))
    if answer.status == 404:
        return {}
    tree = answer.json() if answer.status < 300 else None
    return tree if isinstance(tree, dict) and isinstance(tree.get("metadata"), dict) else None
