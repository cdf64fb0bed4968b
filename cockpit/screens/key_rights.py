"""Keys whose right is missing: which they are for what is under the cursor, and how that is told.

Only what the server denied bars a key; what is not known does not. While read-only nothing is asked: those
keys are absent then.
"""

import math
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from textual.app import App
from textual.binding import BindingsMap

from cockpit.actions.verbs.registry import verb_meant, verbs_on
from cockpit.errors import CockpitError
from cockpit.model.plan import Outcome
from cockpit.model.record import Kind
from cockpit.model.refusal import Remedy
from cockpit.model.right import Right, RightsReader, Ways, cannot, lacking, worth_asking
from cockpit.screens.app_protocol import Cockpit
from cockpit.screens.keymap import KEYS

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning

MOST_THINGS = 64
"""Of more marked rows than these nothing is asked: the dry run leaves out whom the server refuses."""
ASK_SECONDS = 10.0
"""Interval at which expired answers are requested again."""
_MOST_TOLD = 2
_TABLES = (Kind.NAMESPACE, Kind.POD_GROUP, Kind.WORKLOAD, Kind.LOCAL_QUEUE, Kind.CLUSTER_QUEUE, Kind.POOL)
"""What plans look up beside the thing itself, as far as it decides whom their calls are sent to."""
_VERB_KEYS = frozenset(key.id for key in KEYS if key.is_write)


class BoundKeys(Protocol):
    """A screen, as far as its keys are concerned."""

    @property
    def app(self) -> App[Any]: ...
    @property
    def _bindings(self) -> BindingsMap: ...
    def refresh_bindings(self) -> None: ...


class VerbPlace(BoundKeys, Protocol):
    """A screen, as far as the verbs of its keys are concerned."""

    @property
    def acting(self) -> Cockpit:
        """The app, as the cluster knows it that verbs are done in."""

    @property
    def mixed_marks(self) -> str:
        """Why no verb is for what is marked: it is in several clusters; "" where it is not."""

    @property
    def kinds(self) -> tuple[str, ...]: ...
    @property
    def marked_count(self) -> int:
        """How many rows are marked."""

    def meant(self, kind: str) -> tuple[Any, ...]:
        """What a verb is for: what is marked, else what is under the cursor."""

    def say(self, sentence: str) -> None:
        """A small remark that changes nothing."""

    def acted(self, outcome: Outcome) -> None:
        """A verb that began here has ended so."""


def missing_rights(place: VerbPlace, key: str) -> tuple[Right, ...]:
    """What the user lacks for the verb of this key on what it is meant for here; () where it may work."""
    reviews = _reviews(place)
    return () if reviews is None else lacking(_ways(place, key, _planning(place)), reviews.verdict)


def why_barred(place: VerbPlace, key: str) -> str:
    """`you cannot delete jobs.batch in team-a`, "" where the key may work."""
    found = missing_rights(place, key)
    if not found:
        return ""
    told = " or ".join(item.words for item in found[:_MOST_TOLD])
    more = f", nor {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    return cannot(f"{told}{more}")


def tell_missing(place: VerbPlace, key: str) -> bool:
    """Say why the key does nothing; where a right is missing ask the server again, for rights are given.
    False where it works."""
    if unsuited := why_unsuited(place, key):
        place.say(unsuited)
        return True
    reviews, why = _reviews(place), why_barred(place, key)
    if reviews is None or not why:
        return False
    sentence = f"{why[0].upper()}{why[1:]} (context {place.acting.context}): {Remedy.ASK_FOR_RIGHT.value}"
    place.app.notify(sentence, severity="warning")
    reviews.doubt(missing_rights(place, key))
    return True


def label_of(place: VerbPlace, key: str) -> str:
    """What the key does to what it is meant for here: verbs may share it, as `S scale` and `S ask for nodes`;
    "" where it is the first of them anyway."""
    verbs = verbs_on(key, place.kinds)
    if len(verbs) < 2 or place.marked_count > MOST_THINGS:
        return ""
    things = place.meant(verbs[0].kind)
    return verb_meant(verbs, things).words.footer if things else ""


def why_unsuited(place: VerbPlace, key: str) -> str:
    """Why the key is not offered on what it is meant for here, "" where it is."""
    verbs = verbs_on(key, place.kinds)
    if not verbs or verbs[0].finds_own:
        return ""
    if place.mixed_marks or place.marked_count > MOST_THINGS:
        return place.mixed_marks
    things = place.meant(verbs[0].kind)
    verb = verb_meant(verbs, things) if things else verbs[0]
    return next((why for thing in things if (why := verb.why_not(thing))), "")


class KeyRights:
    """What one screen wants to know of the server, and which of its keys are barred.

    It looks at each projection. Planned is only when something else is meant than before, judged only when
    the server said something new.
    """

    def __init__(self, place: VerbPlace) -> None:
        self._place = place
        self._keys = tuple(
            binding.id
            for _, binding in place._bindings
            if binding.id is not None and binding.id in _VERB_KEYS
        )
        verbs = [found[0] for key in self._keys if (found := verbs_on(key, place.kinds))]
        self._kinds = tuple(dict.fromkeys(verb.kind for verb in verbs if not verb.finds_own))
        self._meant: tuple[Any, ...] | None = None
        self._ways: dict[str, Ways] = {}
        self._answers = -1
        self._asked_at = -math.inf  # monotonic
        self._barred: frozenset[str] = frozenset()
        self._drawn: tuple[bool, frozenset[str], tuple[tuple[str, str], ...]] | None = None

    def look(self) -> None:
        """Ask about what the keys mean now; the footer is redrawn where a key appears or goes."""
        reviews = _reviews(self._place)
        if reviews is None or not self._keys:
            self._meant, self._barred = None, frozenset()
        else:
            self._judge(reviews)
        # a session that may write comes when a screen may stand already
        labels = tuple((label_of(self._place, key), why_unsuited(self._place, key)) for key in self._keys)
        drawn = (self._place.acting.cluster.is_read_only, self._barred, labels)
        if drawn != self._drawn:
            self._drawn = drawn
            self._place.refresh_bindings()

    def _judge(self, reviews: RightsReader) -> None:
        meant, now = self._what_is_meant(reviews), self._place.acting.clock.monotonic()
        is_new = meant != self._meant
        if is_new:
            planning = _planning(self._place)
            self._ways = {key: _ways(self._place, key, planning) for key in self._keys}
            self._meant = meant if planning is not None else None
        has_news = is_new or reviews.answers != self._answers
        if has_news or now - self._asked_at >= ASK_SECONDS:
            self._asked_at = now
            reviews.want(
                right for some in self._ways.values() for right in worth_asking(some, reviews.verdict)
            )
        if has_news:
            self._answers = reviews.answers
            self._barred = frozenset(
                key for key, some in self._ways.items() if lacking(some, reviews.verdict)
            )

    def _what_is_meant(self, reviews: RightsReader) -> tuple[Any, ...]:
        """All that rights are planned from, as far as it can change: equal where they are the same."""
        place, cluster = self._place, self._place.acting.cluster
        sizes = tuple(len(cluster.store.records(kind)) for kind in _TABLES)
        if place.marked_count > MOST_THINGS:
            return id(reviews), cluster.has_discovered, sizes
        return id(reviews), cluster.has_discovered, sizes, *map(place.meant, self._kinds)


def _reviews(place: VerbPlace) -> RightsReader | None:
    cluster = place.acting.cluster
    return None if cluster.is_read_only else cluster.access


def _planning(place: VerbPlace) -> "Planning | None":
    try:
        return place.acting.planner()()
    except CockpitError:
        return None


def _ways(place: VerbPlace, key: str, planning: "Planning | None") -> Ways:
    verbs = verbs_on(key, place.kinds)
    if not verbs or planning is None:
        return ()
    things = () if verbs[0].finds_own else place.meant(verbs[0].kind)
    if len(things) > MOST_THINGS or not (things or verbs[0].finds_own):
        return ()
    try:
        found = tuple(map(tuple, verb_meant(verbs, things).planner.ways(planning, things)))
    except CockpitError:
        return ()  # the verb itself says why it cannot be
    return found if len(things) < 2 else tuple(dict.fromkeys(map(_of_any_name, found)))


def _of_any_name(way: tuple[Right, ...]) -> tuple[Right, ...]:
    return tuple(msgspec.structs.replace(item, name="") for item in way)
