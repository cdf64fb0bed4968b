"""What a form knows of the cluster: choices of its fields, engines, claims, topologies. Asked, then kept."""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cockpit_widgets.types import FieldSpec

from cockpit.actions.offers import ASKED, Offer, ask_offers, ask_topologies, doubts, known_offer
from cockpit.actions.submit import Findings
from cockpit.errors import CockpitError
from cockpit.fit.claims import claim_conflicts
from cockpit.fit.surroundings import Surroundings
from cockpit.gangs.detection import ENGINES, Detected, detect
from cockpit.gangs.follow import Auto, follow
from cockpit.gangs.presence import Presence, presences
from cockpit.gangs.volcano import JOB_API_VERSION
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.template import Template
from cockpit.model.plan import Plan
from cockpit.model.record import Kind
from cockpit.screens.deck import Deck

if TYPE_CHECKING:
    from cockpit.gangs.kueue_topology import Topologies

ENGINE = "engine"
"""Id of the field that no template has as a parameter."""
AFTER = ("command", "image", "name")
"""The field behind which the engine stands: the first of these that the template has."""
PATIENCE_SECONDS = 20.0
LOOK_SECONDS = 0.2
_QUEUE_SOURCES = {"volcano": "volcano-queues", "kai": "kai-queues"}
_MOST_NAMED = 4


class Offered:
    """Beside one form, for one template."""

    def __init__(self, deck: Deck, template: Template) -> None:
        self._deck = deck
        self.template = template
        self.offers: dict[str, Offer] = {}
        self.namespace = ""
        self.topologies: Topologies | None = None
        self.auto = Auto()
        self._present: tuple[Presence, ...] | None = None

    # ---- engines

    @property
    def present(self) -> tuple[Presence, ...]:
        """The engines of the cluster; () while discovery is under way. Looked up once: it reads every pod."""
        served = self._deck.attachment.served
        if self._present is None and served is not None:
            store = self._deck.attachment.store
            self._present = presences(store, lambda group, plural: served.find(group, plural) is not None)
        return self._present or ()

    def detected(self) -> Detected:
        """The engine for a job of this template in the form's namespace."""
        store = self._deck.attachment.store
        template = self.template
        offer = known_offer("localqueues", store, self.namespace)
        can_say = self.namespace and offer.is_known and template.parameter("queue") is not None
        return detect(
            template.api_version,
            template.kind,
            self.present,
            offer.values if can_say else None,
            store.records(Kind.POD).values(),
        )

    def follow(self, values: Mapping[str, str]) -> dict[str, str]:
        """Fields that change because the form follows the cluster."""
        engine, queue = values.get(ENGINE) or self.auto.engine, values.get("queue", "")
        if self.template.api_version == JOB_API_VERSION:
            return {}
        wanted, its_queue, self.auto = follow(engine, queue, self.auto, self.detected())
        changes = {ENGINE: wanted} if wanted != values.get(ENGINE) else {}
        if its_queue != queue and self.template.parameter("queue") is not None:
            changes["queue"] = its_queue
        return changes

    def engine_field(self, value: str) -> FieldSpec:
        """The choice of an engine."""
        choices = ("volcano",) if self.template.api_version == JOB_API_VERSION else ENGINES
        found = self.detected()
        told = {one.engine: one for one in self.present}
        absent = [name for name, one in told.items() if not one.is_served]
        text = found.because if self.present else "looking which engines are there"
        if absent and len(absent) < len(told):
            text = f"{text}; not installed: {', '.join(absent)}"
        return FieldSpec(ENGINE, "Engine", "choice", value or choices[-1], text, "", None, None, choices)

    # ---- offers

    def source_of(self, one: Parameter, engine: str) -> str:
        """Where choices of a parameter come from; queues are those of the engine."""
        if one.name == "queue" and one.choices_from == "localqueues":
            return _QUEUE_SOURCES.get(engine, one.choices_from)
        return one.choices_from

    def offer(self, one: Parameter, engine: str) -> Offer:
        """What is known now."""
        source = self.source_of(one, engine)
        if source in ASKED:
            return self.offers.get(source, Offer(is_known=False))
        return known_offer(source, self._deck.attachment.store, self.namespace)

    async def ask(self, namespace: str) -> bool:
        """Ask the server for what the store does not hold; True where something was learnt."""
        attachment = self._deck.attachment
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            if attachment.served is not None and attachment.session is not None:
                break
            await asyncio.sleep(LOOK_SECONDS)
        session = attachment.session
        if session is None or attachment.served is None:
            return False
        sources = {one.choices_from for one in self.template.parameters} | {*_QUEUE_SOURCES.values()}
        try:
            self.offers = await ask_offers(session, self._deck.lookup, sorted(sources), namespace)
            self.topologies = await ask_topologies(session, self._deck.lookup)
        except CockpitError:
            return False  # the header says that nobody answers
        self.namespace = namespace
        return True

    # ---- what a plan has to know

    def findings(self, values: Mapping[str, str], engine: str) -> Findings:
        """What was learnt, for a plan with these values."""
        store = self._deck.attachment.store
        by_source = {
            source: self.offers[source]
            if source in self.offers
            else known_offer(source, store, self.namespace)
            for one in self.template.parameters
            if (source := one.choices_from) and source != "localqueues"
        }
        return Findings(self.present, doubts(self.template, values, by_source), self.topologies)

    def conflicts(self, plan: Plan, around: Surroundings, namespace: str) -> tuple[str, ...]:
        """Claims that the chosen nodes cannot reach."""
        from cockpit.jobs.planned import planned_gang

        gang = planned_gang(plan.calls[0].body, namespace)
        return claim_conflicts(self._deck.attachment.store, gang, around)


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
