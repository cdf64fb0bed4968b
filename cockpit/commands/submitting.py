"""From what a person wrote to the plan of a submit: engine and queue by detection, doubtful values."""

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from cockpit.actions.address import Lookup, unserved
from cockpit.actions.field_choices import ask_offers, ask_topologies, doubts, known_offer, queue_sources
from cockpit.actions.named_objects import refuse_absent
from cockpit.actions.submit import Findings, plan_submit
from cockpit.errors import BadInput, NoConnection
from cockpit.fit.pod_sets import pod_sets
from cockpit.gangs import registry
from cockpit.gangs.choose_engine import Detected, choose_engine
from cockpit.gangs.engine import InstalledEngine
from cockpit.gangs.installed_engines import installed_engines
from cockpit.jobs.template import Template
from cockpit.kube.discovery import discover
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.store.store import Store

if TYPE_CHECKING:
    from cockpit.kube.discovery import Served
    from cockpit.kube.session import ApiSession


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


async def planned(wish: Wish, session: "ApiSession", served: "Served", store: StoreReader | None) -> Plan:
    """The plan, with what the cluster was asked for it. `store` None: no table is at hand.

    Raises BadInput with one sentence, NoConnection.
    """
    lookup = lookup_in(served)
    _refuse_unheard(wish.template, served)
    if sentence := unserved(wish.template.api_version, wish.template.kind, lookup):
        raise BadInput(sentence)
    present = installed_engines(
        store or Store(), lambda group, plural: served.find(group, plural) is not None
    )
    wish, found = await _with_engine(wish, session, lookup, store, present)
    told = await _doubts(wish, session, lookup, store)

    def plan(found: Findings, known: StoreReader | None = None) -> Plan:
        return plan_submit(
            wish.template,
            wish.values,
            wish.namespace,
            store=known,
            lookup=lookup,
            context=session.context,
            engine=wish.engine,
            findings=found,
        )

    asked = Findings(present, told)
    engine, queue = registry.admitting(plan(asked).calls[0].body)
    topologies = await ask_topologies(session, lookup) if queue else None
    if engine.quota_queues is not None and lookup(*engine.quota_queues.kind) is None:
        raise BadInput(f"queue {queue}: {engine.name} is not installed here; leave the queue empty")
    made = plan(asked._replace(topologies=topologies), store)
    await refuse_absent(session, lookup, made.calls[0].body, wish.where)
    if found is None:
        return made
    line = f"engine {found.engine}: {found.because}; use --engine none to start it without an engine"
    return msgspec.structs.replace(made, lines=(*made.lines, line))


def _refuse_unheard(template: Template, served: "Served") -> None:
    """Raise NoConnection where the API server behind the kind's group did not say what it serves."""
    version = template.api_version
    if version in served.incomplete and lookup_in(served)(version, template.kind) is None:
        raise NoConnection(
            f"cannot tell whether this cluster serves {template.kind} of {version}: the API server of"
            " that group does not answer; see kubectl get apiservices"
        )


async def _doubts(
    wish: Wish, session: "ApiSession", lookup: Lookup, store: StoreReader | None
) -> tuple[str, ...]:
    """Values that the cluster does not offer: only the lists of what was filled in are asked for."""
    sources = {
        one.choices_from for one in wish.template.parameters if wish.values.get(one.name, "").strip()
    } - {"", *queue_sources()}
    offers = await ask_offers(session, lookup, sorted(sources), wish.where)
    if store is not None:
        for source in sources - offers.keys():
            offers[source] = known_offer(source, store, wish.where)
    return doubts(wish.template, wish.values, offers)


async def _with_engine(
    wish: Wish,
    session: "ApiSession",
    lookup: Lookup,
    store: StoreReader | None,
    present: tuple[InstalledEngine, ...],
) -> tuple[Wish, Detected | None]:
    """The wish with the engine that the cluster has, where no engine or queue was named."""
    template = wish.template
    field = template.parameter("queue")
    if wish.engine or field is None or "queue" in wish.values:
        return wish, None
    if store is None:
        queues = await _queue_names(session, lookup, wish.where)
    else:
        queues = known_offer(field.choices_from, store, wish.where).values
    pods = () if store is None else store.records(Kind.POD).values()
    has_pods = bool(pod_sets(template.manifest))
    found = choose_engine(template.api_version, template.kind, present, queues, pods, has_pods=has_pods)
    if found.queue:
        return wish._replace(values={**wish.values, "queue": found.queue}), found
    own = registry.engine_with_own(template.api_version, template.kind)
    if own is not None or found.engine == registry.NONE.word:
        return wish, None
    return wish._replace(engine=found.word), found


async def _queue_names(session: "ApiSession", lookup: Lookup, namespace: str) -> tuple[str, ...]:
    """Queues of the namespace; () also where they may not be listed: nothing is guessed then."""
    kinds = (one.quota_queues.kind for one in registry.engines() if one.quota_queues is not None)
    served = next((found for kind in kinds if (found := lookup(*kind)) is not None), None)
    if served is None:
        return ()
    answer = await session.request("GET", served.path(namespace))
    tree = answer.json() if answer.status < 300 else None
    items = tree.get("items") if isinstance(tree, dict) else None
    return tuple(sorted(str(one["metadata"]["name"]) for one in items or () if isinstance(one, dict)))


async def served_lookup(session: "ApiSession") -> Lookup:
    """From apiVersion and kind to the resource that this cluster serves."""
    return lookup_in(await discover(session))
