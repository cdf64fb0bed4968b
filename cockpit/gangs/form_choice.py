"""Engine and queue of a form: they follow what the cluster has until a person decides otherwise."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cockpit.errors import BadInput
from cockpit.gangs import conflicts, registry
from cockpit.gangs.choose_engine import Detected
from cockpit.gangs.manifests import Attached

_NONE = registry.NONE.word


class Auto(NamedTuple):
    """What was filled in without being asked, last time."""

    engine: str = _NONE
    queue: str = ""


def follow(engine: str, queue: str, last: Auto, found: Detected) -> tuple[str, str, Auto]:
    """(engine, queue, what of it was filled in) for what the form holds now.

    Whoever names a queue wants the engine that admits by queues, whoever takes it away wants no engine;
    whoever chooses another engine is not left with a queue that nobody chose.
    """
    is_own_engine, is_own_queue = engine == last.engine, queue == last.queue
    if is_own_engine and is_own_queue:
        return found.engine, found.queue, Auto(found.engine, found.queue)
    if is_own_engine:
        by_quota = _by_quota()
        if engine in (by_quota, _NONE):
            engine = by_quota if queue else _NONE
        return engine, queue, Auto(engine, last.queue)
    if is_own_queue:
        kept = (queue or found.queue) if engine == _by_quota() else ""
        return engine, kept, Auto(last.engine, kept)
    return engine, queue, last


def _by_quota() -> str:
    """The word of the engine whose queue a job names in its own manifest, by the field of the form."""
    return next((one.word for one in registry.engines_by_quota()), _NONE)


def engine_word(engine: str, values: Mapping[str, str], found: Detected) -> tuple[str, dict[str, str]]:
    """(`--engine` as a command takes it, the values that go with it). "" where the values alone say it."""
    given = dict(values)
    queue = given.get("queue", "").strip()
    chosen = registry.engine_called(engine) or registry.NONE
    if chosen.admits is None and chosen.queues.source and queue:
        given["queue"] = ""
        return f"{engine}:{queue}", given
    if found.scheduler and found.engine == engine:
        return found.word, given
    if (queue and chosen.admits is not None) or (engine == found.engine == _NONE and not queue):
        return "", given
    return engine, given


# ---- the manifest


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
