"""From what a person wrote to the plan of a submit: engine and queue by detection, doubtful values."""

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from cockpit.actions.address import Lookup
from cockpit.actions.offers import ask_offers, ask_topologies, doubts, known_offer
from cockpit.actions.submit import Findings, Taken, plan_submit
from cockpit.errors import BadInput
from cockpit.gangs.detection import Detected, detect
from cockpit.gangs.kueue_topology import Topologies
from cockpit.gangs.presence import Presence, presences
from cockpit.jobs.render import queue_of
from cockpit.jobs.template import Template
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.store.store import Store

if TYPE_CHECKING:
    from cockpit.kube.discovery import Served
    from cockpit.kube.session import Session

QUEUES = "kueue.x-k8s.io/v1beta2"


class Wish(NamedTuple):
    """What the command line says. `engine` "" leaves it to detection; `namespace` where none is given."""

    template: Template
    values: dict[str, str]
    engine: str
    namespace: str

    @property
    def where(self) -> str:
        """The namespace of the new object."""
        one = self.template.parameter("namespace")
        own = (one.default or "") if one is not None else ""
        return self.values.get("namespace", "").strip() or self.namespace or own or "default"


def lookup_in(served: "Served") -> Lookup:
    """From apiVersion and kind to the resource that is served."""

    def lookup(api_version: str, kind: str) -> object:
        group, _, version = api_version.rpartition("/")
        return served.find(group, kind, version) or served.find(group, kind)

    return lookup  # type: ignore[return-value]


async def planned(wish: Wish, session: "Session", served: "Served", store: Store | None) -> Plan:
    """The plan, with what the cluster was asked for it. `store` None: no table is at hand.

    Raises BadInput with one sentence, NoConnection.
    """
    lookup = lookup_in(served)
    present = presences(store or Store(), lambda group, plural: served.find(group, plural) is not None)
    wish, found = await _with_engine(wish, session, lookup, store, present)
    told = await _doubts(wish, session, lookup, store)

    def plan(known: Taken | None, topologies: Topologies | None = None) -> Plan:
        return plan_submit(
            wish.template,
            wish.values,
            wish.namespace,
            store=known,
            lookup=lookup,
            context=session.context,
            engine=wish.engine,
            findings=Findings(present, told, topologies),
        )

    queue = queue_of(plan(None).calls[0].body)
    topologies = await ask_topologies(session, lookup) if queue else None
    if queue and lookup(QUEUES, "LocalQueue") is None:
        raise BadInput(f"queue {queue}: this cluster has no Kueue; leave the queue empty")
    known = store or _Queues(is_there=await _is_queue_there(session, lookup, wish.where, queue))
    made = plan(known, topologies)
    if found is None:
        return made
    line = f"engine {found.engine}: {found.because}; --engine none starts it without"
    return msgspec.structs.replace(made, lines=(*made.lines, line))


async def _doubts(wish: Wish, session: "Session", lookup: Lookup, store: Store | None) -> tuple[str, ...]:
    """Values that the cluster does not offer: only the lists of what was filled in are asked for."""
    sources = {
        one.choices_from for one in wish.template.parameters if wish.values.get(one.name, "").strip()
    } - {"", "localqueues"}
    offers = await ask_offers(session, lookup, sorted(sources), wish.where)
    if store is not None:
        for source in sources - offers.keys():
            offers[source] = known_offer(source, store, wish.where)
    return doubts(wish.template, wish.values, offers)


async def _with_engine(
    wish: Wish, session: "Session", lookup: Lookup, store: Store | None, present: tuple[Presence, ...]
) -> tuple[Wish, Detected | None]:
    """The wish with the engine that the cluster has, where nobody named an engine or a queue."""
    template = wish.template
    if wish.engine or template.parameter("queue") is None or "queue" in wish.values:
        return wish, None
    if store is None:
        queues = await _queue_names(session, lookup, wish.where)
    else:
        queues = known_offer("localqueues", store, wish.where).values
    pods = () if store is None else store.records(Kind.POD).values()
    found = detect(template.api_version, template.kind, present, queues, pods)
    if found.engine == "kueue":
        return wish._replace(values={**wish.values, "queue": found.more}), found
    if found.engine == "none" or template.api_version.startswith("batch.volcano.sh/"):
        return wish, None
    return wish._replace(engine=found.word), found


async def _queue_names(session: "Session", lookup: Lookup, namespace: str) -> tuple[str, ...]:
    """LocalQueues of the namespace; () also where they may not be listed: nothing is guessed then."""
    served = lookup(QUEUES, "LocalQueue")
    if served is None:
        return ()
    answer = await session.request("GET", served.path(namespace))
    tree = answer.json() if answer.status < 300 else None
    items = tree.get("items") if isinstance(tree, dict) else None
    return tuple(sorted(str(one["metadata"]["name"]) for one in items or () if isinstance(one, dict)))


class _Queues:
    """Stands for the store where only one queue was asked for."""

    def __init__(self, *, is_there: bool) -> None:
        self._is_there = is_there

    def by_key(self, kind: str, key: str) -> object | None:
        return key if kind == Kind.LOCAL_QUEUE and self._is_there else None


async def _is_queue_there(session: "Session", lookup: Lookup, namespace: str, queue: str) -> bool:
    """Whether the queue that the plan names exists; where nobody may look it counts as there."""
    served = lookup(QUEUES, "LocalQueue")
    if not queue or served is None:
        return False
    answer = await session.request("GET", served.path(namespace, queue))
    return answer.status != 404
