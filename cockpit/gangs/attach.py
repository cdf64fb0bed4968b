"""One door to all engines: put a rendered manifest under the one that was chosen."""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.gangs import coscheduling, kai, native, pairs, volcano
from cockpit.gangs.manifests import Attached

CHOICES: Final = ("coscheduling", "volcano", "kai", "native")
"""Engines that are attached to a manifest; Kueue is, by the queue of its template."""


def attach(engine: str, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    """The manifest under the engine; as it is where none is named.

    Raises BadInput for an engine that is not known and for pairs that are known to go wrong.
    """
    match engine:
        case "":
            made = Attached(dict(manifest))
        case "coscheduling":
            made = coscheduling.attach(manifest, scheduler=scheduler or coscheduling.SCHEDULER)
        case "volcano":
            made = volcano.attach(manifest, queue=queue or "default")
        case "kai":
            made = kai.attach(manifest, queue=queue)
        case "native":
            made = native.attach(manifest)
        case _:
            raise BadInput(f"engine {engine!r} is not one of {', '.join(CHOICES)}")
    for sentence in pairs.refusals(made.manifest):
        raise BadInput(f"this cannot work: {sentence}")
    return made
