"""Findings made from a text with names, and the words before and behind one that stands."""

import re
from collections.abc import Iterable, Mapping

import msgspec

from cockpit.catalogue import row_of
from cockpit.catalogue.cause import Cause
from cockpit.gangs.wording import fits, say
from cockpit.model.finding import Evidence, Finding, Funnel, Permanence, Subject
from cockpit.model.gang import PodGroup
from cockpit.model.pod import Pod
from cockpit.model.record import Condition
from cockpit.model.sureness import Sureness

NOT_UNDERSTOOD = "not understood"

_OPTIONAL = r"(?:: | \(|, it asks |, )?\{%s\}\)?"


def without_empty(words: str, names: Mapping[str, object]) -> str:
    """The words without the places of names that a text left out, and without what joins them."""
    for name, value in names.items():
        if value == "":
            words = re.sub(_OPTIONAL % name, "", words)
    return words


def draft(
    cause: str,
    text: str,
    names: Mapping[str, object] = {},
    /,
    *evidence: Evidence,
    sureness: Sureness = Sureness.SAID,
    facts: tuple[tuple[str, str], ...] = (),
    funnel: Funnel | None = None,
    since_seconds: float | None = None,
    root: Subject | None = None,
    also: tuple[str, ...] = (),
    permanence: Permanence | None = None,
) -> Finding:
    """A cause whose sentence is `text` with the names put in; the names become facts, with `facts` behind."""
    given = dict(names)
    own = tuple((key, str(value)) for key, value in given.items() if str(value))
    words = without_empty(text, given)
    return Finding(
        cause=cause,
        sentence=say(words, **given),
        words=words,
        names=tuple(given.items()),
        sureness=sureness,
        facts=(*own, *facts),
        evidence=evidence,
        funnel=funnel,
        since_seconds=since_seconds,
        root=root,
        also=also,
        permanence=permanence,
    )


def tell(
    cause: str,
    names: Mapping[str, object] = {},
    /,
    *evidence: Evidence,
    says: str = "",
    sureness: Sureness | None = None,
    facts: tuple[tuple[str, str], ...] = (),
    funnel: Funnel | None = None,
    since_seconds: float | None = None,
    root: Subject | None = None,
    also: tuple[str, ...] = (),
) -> Finding:
    """A cause in the words of its row; `says` tells which, `sureness` is another one than that of these."""
    said = row_of(cause).says[says]
    return draft(
        cause,
        said.words,
        names,
        *evidence,
        sureness=sureness or said.sureness,
        facts=facts,
        funnel=funnel,
        since_seconds=since_seconds,
        root=root,
        also=also,
        permanence=said.permanence,
    )


_PLACE = re.compile(r"\{(\w+)\}")


def joined(found: Finding, head: str, tail: str = "", /, **names: object) -> Finding:
    """The same cause with words before and behind its sentence. Where they are too long together the names
    of both are shortened, never a number."""
    inner = _PLACE.sub(r"{of_\1}", found.words) if found.words else "{of_it}"
    words = f"{head}{inner}{tail}"
    given = {f"of_{key}": value for key, value in found.names} if found.words else {"of_it": found.sentence}
    return msgspec.structs.replace(
        found, sentence=say(words, **given, **names), words=words, names=(*given.items(), *names.items())
    )


def followed(found: Finding, *tails: str, **names: object) -> Finding:
    """The same cause with the first of the tails behind it with which no word of the sentence is cut."""
    for tail in tails:
        made = joined(found, "", tail, **{key: names[key] for key in names if f"{{{key}}}" in tail})
        if fits(made.words, **dict(made.names)):
            return made
    return found


def not_understood(text: str, *evidence: Evidence) -> Finding:
    """A text that no row of the catalogue knows, shown raw."""
    return draft("", "{text} (" + NOT_UNDERSTOOD + ")", {"text": text}, *evidence, sureness=Sureness.UNKNOWN)


def plain(text: str) -> str:
    """Foreign text that becomes a part of a pattern for `told`."""
    return text.replace("{", "(").replace("}", ")")


def members_missing(group: PodGroup, pods: Iterable[Pod]) -> Finding | None:
    """That members of the group were not made yet; None where all that it waits for are there."""
    there = sum(1 for pod in pods if not pod.is_finished)
    if group.min_member is None or there >= group.min_member:
        return None
    facts = (("some", str(there)), ("all", str(group.min_member)), ("group", group.name))
    return Finding(
        cause=Cause.GANG_MEMBERS_MISSING,
        sentence=f"its group has {there} of {group.min_member} pods",
        facts=facts,
    )


def by_condition(group: PodGroup, mark: Condition, found: Finding) -> Finding:
    """What was found, with the condition of the group that tells it in the engine's own words."""
    said = Evidence(f"PodGroup {group.key}", mark.type, mark.message, mark.changed_seconds)
    return msgspec.structs.replace(found, evidence=(said,), since_seconds=mark.changed_seconds)
