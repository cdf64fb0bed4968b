"""What a verdict may say of what is not there: a list that is not complete is named, and proves nothing."""

from collections.abc import Iterable

from msgspec.structs import replace

from cockpit.catalogue import ListOf, lists_behind
from cockpit.gangs.draft import joined
from cockpit.gangs.sentence import SENTENCE_LIMIT, one_line
from cockpit.gangs.wording import fits
from cockpit.model.finding import Finding, Subject
from cockpit.model.listing import Incomplete, listing
from cockpit.model.namespaces import Namespaces
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness


def gaps(store: StoreReader, lists: Iterable[ListOf], namespace: str = "") -> list[Incomplete]:
    """Of the lists those that do not tell all there is, in that namespace or in all."""
    found = (listing(store, kind, "" if is_wide else namespace) for kind, is_wide in lists)
    return [one for one in found if isinstance(one, Incomplete)]


def qualified(found: Finding, store: StoreReader, namespace: str = "") -> Finding:
    """The same, with the name of each list on which it rests and that is not complete, and not proved then.

    What a component said of the subject stands by itself where lists are only old.
    """
    unsure = gaps(store, lists_behind(found.cause), namespace)
    then = tuple(qualified(one, store, namespace) for one in found.then)
    is_said = found.sureness in (Sureness.SAID, Sureness.UNKNOWN)
    if is_said:
        unsure = [one for one in unsure if not one.has_all]
    if unsure:
        found = with_gaps(found, unsure)
    return replace(found, sureness=found.sureness if is_said or not unsure else Sureness.INFERRED, then=then)


def with_gaps(found: Finding, unsure: Iterable[Incomplete]) -> Finding:
    """The same cause, and behind it what is not known: all of it, or as much as there is room for."""
    words = [one.words for one in unsure]
    if not words:
        return found
    for told in (", ".join(words), *words[:1]):
        made = joined(found, "", f"; {told}")
        if fits(made.words, **dict(made.names)):
            return made
    tail = f"; {words[0]}"
    return replace(found, sentence=one_line(found.sentence, SENTENCE_LIMIT - len(tail)) + tail, words="")


def nothing_seen(store: StoreReader, lists: Iterable[ListOf], namespace: str = "") -> str:
    """What is said where no trouble is seen: "" where the lists that would tell of one are complete, else
    which of them are not."""
    unsure = gaps(store, lists, namespace)
    return f"nothing seen; {', '.join(one.words for one in unsure)}" if unsure else ""


def quiet(store: StoreReader, namespaces: Namespaces) -> str:
    """That no row is there: of nodes, and of pods in the namespaces that are shown. Without a full stop."""
    lists = tuple(ListOf(kind) for kind in (Kind.NODE, Kind.POD))
    seen = next((told for one in namespaces.names or ("",) if (told := nothing_seen(store, lists, one))), "")
    return seen or "nothing needs a human"


def not_found(subject: Subject, store: StoreReader, kinds: Iterable[str]) -> Finding:
    """That the subject is not among what is listed, and which of those lists are not complete."""
    unsure = gaps(store, (ListOf(kind) for kind in kinds), subject.namespace)
    told = f"no {subject.kind} of that name is known here" + "".join(f"; {one.words}" for one in unsure[:1])
    return Finding(subject=subject, sentence=told, sureness=Sureness.UNKNOWN)
