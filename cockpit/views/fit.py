"""What the fit says of a manifest, as lines: the form and the command line print the same."""

from collections.abc import Mapping, Sequence
from typing import Any

from cockpit.fit.gang import fit
from cockpit.fit.shape import Part
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.fit.together import MOST_DOMAINS, fit_together
from cockpit.fit.words import fit_lines
from cockpit.gangs.kueue_topology import required_levels
from cockpit.jobs.planned import planned_gang
from cockpit.jobs.render import queue_of
from cockpit.store.store import Store
from cockpit.views.fleet import sees_all_pods


def fit_report(
    manifest: Mapping[str, Any], store: Store, surroundings: Surroundings = UNKNOWN, namespace: str = ""
) -> list[str]:
    """Fits now and where, or what is missing and what would help; () for a kind whose pods are not known."""
    gang = planned_gang(manifest, namespace)
    if not gang:
        return []
    if not sees_all_pods(store):
        return ["whether it fits now is not known: not every pod may be read"]
    queue = queue_of(manifest)
    levels = required_levels(manifest) if queue else ()
    if any(levels) and len(levels) == len(gang):
        return _together(store, gang, levels, queue, surroundings)
    return fit_lines(fit(store, gang, queue=queue, surroundings=surroundings))


def _together(
    store: Store, gang: Sequence[Part], levels: Sequence[str], queue: str, surroundings: Surroundings
) -> list[str]:
    """The fit of a gang that Kueue places inside one domain of its topology."""
    key = next(one for one in levels if one)
    bound = [at for at, one in enumerate(levels) if one == key]
    found = fit_together(store, gang, key, queue=queue, surroundings=surroundings, bound_parts=bound)
    if found.answer is None:
        return [f"pending: no node has the label {key}, in one of which all members have to stand"]
    first, *rest = fit_lines(found.answer)
    if found.answer.missing:
        note = f"none of {found.domains} domains of {key} holds all; told is the best, {found.domain}"
        if found.domains > MOST_DOMAINS:
            note += f" (the {MOST_DOMAINS} with most free GPUs were tried)"
    else:
        note = f"all inside {key} {found.domain}"
    return [first, f"  {note}", *rest]
