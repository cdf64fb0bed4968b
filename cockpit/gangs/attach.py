"""One door to all engines: put a rendered manifest under the one that was chosen."""

from collections.abc import Mapping
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs import conflicts, registry
from cockpit.gangs.manifests import Attached


def attach(word: str, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    """The manifest under the engine; "" leaves it under what its template's own fields say.

    Raises BadInput for an engine that is not known, for `none` where the manifest names one, and for what is
    known to go wrong.
    """
    engine = registry.engine_called(word) if word else registry.NONE
    if engine is None:
        raise BadInput(f"engine {word!r} is not one of {', '.join(registry.words())}")
    made = engine.attach(manifest, queue=queue, scheduler=scheduler)
    if word == registry.NONE.word:
        _refuse_named(manifest)
    for sentence in conflicts.refusals(made.manifest):
        raise BadInput(f"this cannot work: {sentence}")
    return made


def _refuse_named(manifest: Mapping[str, Any]) -> None:
    for engine in conflicts.engines_named(manifest):
        remedy = "leave the queue empty" if engine.admits is not None else "choose another template"
        raise BadInput(f"engine none, and the manifest names {engine.name}: {remedy}, or choose that engine")
