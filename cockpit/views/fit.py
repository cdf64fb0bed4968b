"""What the fit says of a manifest, as lines: the form and the command line print the same."""

from collections.abc import Mapping
from typing import Any

from cockpit.fit.gang import fit
from cockpit.fit.surroundings import UNKNOWN, Surroundings
from cockpit.fit.words import fit_lines
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
    return fit_lines(fit(store, gang, queue=queue_of(manifest), surroundings=surroundings))
