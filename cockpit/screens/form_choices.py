"""What a form knows of the cluster: choices of its fields, engines, claims, topologies. Asked, then kept."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cockpit_widgets.types import FieldSpec

from cockpit.actions.field_choices import Offer, asked_lists, doubts, known_offer, queue_sources
from cockpit.actions.submit import Findings
from cockpit.errors import CockpitError
from cockpit.fit.claims import claim_conflicts
from cockpit.fit.pod_sets import pod_sets
from cockpit.fit.scheduling_context import Surroundings
from cockpit.gangs import registry
from cockpit.gangs.choose_engine import Detected, choose_engine
from cockpit.gangs.engine import Engine, InstalledEngine
from cockpit.gangs.form_choice import Auto, follow
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.planned import planned_gang
from cockpit.jobs.template import Template
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.screens.app_protocol import Cockpit

if TYPE_CHECKING:
    from cockpit.gangs.engine import Topologies

ENGINE = "engine"
"""Id of the field that no template has as a parameter."""
AFTER = ("queue", "command", "image", "name")
"""The field behind which the engine stands: the first of these that the template has."""
PATIENCE_SECONDS = 20.0
LOOK_SECONDS = 0.2
_MOST_NAMED = 4


class FormChoices:
    """Beside one form, for one template."""

    def __init__(self, cockpit: Cockpit, template: Template) -> None:
        self._cockpit = cockpit
        self.template = template
        self.offers: Mapping[str, Offer] = {}
        self.namespace = ""
        self.topologies: Topologies | None = None
        self.auto = Auto()
        self._present: tuple[InstalledEngine, ...] | None = None

    # ---- engines

    @property
    def present(self) -> tuple[InstalledEngine, ...]:
        """The engines of the cluster; () while discovery is under way. Looked up once: it reads every pod."""
        if self._present is None:
            self._present = self._cockpit.cluster.engines()
        return self._present or ()

    def detected(self) -> Detected:
        """The engine for a job of this template in the form's namespace."""
        store = self._cockpit.cluster.store
        template = self.template
        offer = known_offer(_queue_source(template), store, self.namespace)
        can_say = self.namespace and offer.is_known and template.parameter("queue") is not None
        return choose_engine(
            template.api_version,
            template.kind,
            self.present,
            offer.values if can_say else None,
            store.records(Kind.POD).values(),
            has_pods=bool(pod_sets(template.manifest)),
        )

    def follow(self, values: Mapping[str, str]) -> dict[str, str]:
        """Fields that change because the form follows the cluster."""
        engine, queue = values.get(ENGINE) or self.auto.engine, values.get("queue", "")
        if self._own() is not None:
            return {}
        wanted, its_queue, self.auto = follow(engine, queue, self.auto, self.detected())
        changes = {ENGINE: wanted} if wanted != values.get(ENGINE) else {}
        if its_queue != queue and self.template.parameter("queue") is not None:
            changes["queue"] = its_queue
        return changes

    def _own(self) -> Engine | None:
        """The engine that the kind of the template comes with."""
        return registry.engine_with_own(self.template.api_version, self.template.kind)

    def engine_field(self, value: str) -> FieldSpec:
        """The choice of an engine."""
        own = self._own()
        choices = registry.words() if own is None else (own.word,)
        found = self.detected()
        told = {item.engine: item for item in self.present}
        absent = [name for name, one in told.items() if not one.is_served]
        text = found.because if self.present else "detecting installed engines"
        if absent and len(absent) < len(told):
            text = f"{text}; not installed: {', '.join(absent)}"
        return FieldSpec(ENGINE, "Engine", "choice", value or choices[-1], text, "", None, None, choices)

    # ---- offers

    def source_of(self, one: Parameter, engine: str) -> str:
        """Where choices of a parameter come from; queues are those of the engine."""
        chosen = registry.engine_called(engine)
        if one.name == "queue" and one.choices_from in queue_sources() and chosen is not None:
            return chosen.queues.source or one.choices_from
        return one.choices_from

    def offer(self, one: Parameter, engine: str) -> Offer:
        """What is known now."""
        source = self.source_of(one, engine)
        if source in asked_lists():
            return self.offers.get(source, Offer(is_known=False))
        return known_offer(source, self._cockpit.cluster.store, self.namespace)

    async def ask(self, namespace: str) -> bool:
        """Ask the server for what the store does not hold; True where something was learnt."""
        cluster = self._cockpit.cluster
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            if cluster.has_discovered and cluster.is_connected:
                break
            await asyncio.sleep(LOOK_SECONDS)
        if not (cluster.has_discovered and cluster.is_connected):
            return False
        sources = {parameter.choices_from for parameter in self.template.parameters} | {*queue_sources()}
        try:
            self.offers = await self._cockpit.api.ask_choices(sorted(sources), namespace)
            self.topologies = await self._cockpit.api.ask_topologies()
        except CockpitError:
            return False  # the header says that nobody answers
        self.namespace = namespace
        return True

    # ---- what a plan has to know

    def findings(self, values: Mapping[str, str], engine: str) -> Findings:
        """What was learnt, for a plan with these values."""
        store = self._cockpit.cluster.store
        by_source = {
            source: self.offers[source]
            if source in self.offers
            else known_offer(source, store, self.namespace)
            for parameter in self.template.parameters
            if (source := parameter.choices_from) and source not in queue_sources()
        }
        told = doubts(self.template, values, by_source)
        is_served = self._cockpit.cluster.is_served(self.template.api_version, self.template.kind)
        return Findings(
            self.present,
            told,
            self.topologies,
            is_served,
        )

    def conflicts(self, plan: Plan, around: Surroundings, namespace: str) -> tuple[str, ...]:
        """Claims that the chosen nodes cannot reach."""
        gang = planned_gang(plan.calls[0].body, namespace)
        return claim_conflicts(self._cockpit.cluster.store, gang, around)


def _queue_source(template: Template) -> str:
    """The list of queues that the template names, "" where it has none."""
    one = template.parameter("queue")
    return "" if one is None else one.choices_from


def offered_help(one: Parameter, offer: Offer) -> str:
    """The help of a field with what is known of its choices."""
    if one.type == "claims" and offer.values:
        more = len(offer.values) - _MOST_NAMED
        names = ", ".join(offer.values[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"bound: {names}; as in {offer.values[0]}:/{one.name}" + (
            f"; {offer.told}" if offer.told else ""
        )
    return offer.told or one.help


def offered_values(one: Parameter, offer: Offer) -> tuple[str, ...]:
    """Values of a field's choice; for claims how each would be written."""
    if one.type == "claims":
        return tuple(f"{name}:/{one.name}" for name in offer.values)
    return offer.values
