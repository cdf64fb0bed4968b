"""One door to all engines: put a rendered manifest under the one that was chosen."""

from collections.abc import Mapping
from typing import Any

from cockpit.errors import BadInput
from cockpit.gangs import coscheduling, kai, kueue_attach, native, pairs, volcano
from cockpit.gangs.detection import ENGINES
from cockpit.gangs.manifests import Attached, mapping


def attach(engine: str, manifest: Mapping[str, Any], *, queue: str = "", scheduler: str = "") -> Attached:
    """The manifest under the engine; "" leaves it under what its template's own fields say.

    Raises BadInput for an engine that is not known, for `none` where the manifest names one, and for pairs
    that are known to go wrong.
    """
    match engine:
        case "":
            made = Attached(dict(manifest))
        case "none":
            made = Attached(dict(manifest))
            _refuse_named(manifest)
        case "kueue":
            made = kueue_attach.attach(manifest, queue=queue)
        case "coscheduling":
            made = coscheduling.attach(manifest, scheduler=scheduler or coscheduling.SCHEDULER)
        case "volcano":
            own = mapping(manifest.get("spec")).get("queue") if is_own_kind(manifest) else ""
            made = volcano.attach(manifest, queue=queue or str(own or "") or "default")
        case "kai":
            made = kai.attach(manifest, queue=queue)
        case "native":
            made = native.attach(manifest)
        case _:
            raise BadInput(f"engine {engine!r} is not one of {', '.join(ENGINES)}")
    for sentence in pairs.refusals(made.manifest):
        raise BadInput(f"this cannot work: {sentence}")
    return made


def is_own_kind(manifest: Mapping[str, Any]) -> bool:
    """True for Volcano's own Job, which has a queue and a scheduler of its own."""
    return str(manifest.get("apiVersion")) == volcano.JOB_API_VERSION


def _refuse_named(manifest: Mapping[str, Any]) -> None:
    for name in pairs.engines_named(manifest):
        remedy = "leave the queue empty" if name == "Kueue" else "take another template"
        raise BadInput(f"engine none, and the manifest names {name}: {remedy}, or choose that engine")
