"""From an offer of a verdict to the verb that makes the change: what it is done to, with which options."""

from typing import Any, Final, NamedTuple

from cockpit.actions.planning import Planning
from cockpit.actions.target_kinds import KINDS
from cockpit.actions.verbs.job import CLONE
from cockpit.actions.verbs.registry import verb_of
from cockpit.actions.verbs.verb import Verb
from cockpit.errors import BadInput
from cockpit.model.finding import Change
from cockpit.model.namespaces import EVERY

CLONE_ID: Final = CLONE.id


class OfferedIntent(NamedTuple):
    """A verb on things. The options of one that has a form are the values of its fields."""

    verb: Verb
    things: list[Any]
    options: Any


def intended(offer: Change, planning: Planning) -> OfferedIntent:
    """The verb of the offer, as its command says it. Raises BadInput where a thing is gone meanwhile."""
    verb = verb_of(offer.verb)
    offer = offer.steps[0] if offer.steps else offer  # the others are offered again once that is done
    kind = KINDS[verb.kind]
    names, given = _words(offer, verb)
    if kind.named is None:
        raise BadInput(f"a {kind.word} cannot be named: run the command")
    things = [kind.found(planning, name, EVERY) for name in names]
    if verb.id == CLONE_ID:
        return OfferedIntent(verb, things, {name.removeprefix("--"): value for name, value in given.items()})
    told = {
        one.field: one.name in given if one.is_switch else one.read(given[one.name])
        for one in verb.flags
        if one.name in given
    }
    return OfferedIntent(verb, things, verb.planner.options(**told))


def _words(offer: Change, verb: Verb) -> tuple[list[str], dict[str, str]]:
    """Names and options of `cockpit NOUN VERB NAME ... --option VALUE --write`."""
    switches = {one.name for one in verb.flags if one.is_switch}
    names: list[str] = []
    given: dict[str, str] = {}
    words = iter(offer.command[3:])
    for word in words:
        if word == "--write":
            continue
        if word in switches:
            given[word] = ""
            continue
        if word.startswith("--"):
            given[word] = next(words, "")
        else:
            names.append(word)
    return names, given
