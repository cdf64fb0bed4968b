"""Engine and queue of a form: they follow what the cluster has until a person decides otherwise."""

from collections.abc import Mapping
from typing import NamedTuple

from cockpit.gangs.detection import Detected


class Auto(NamedTuple):
    """What was filled in without being asked, last time."""

    engine: str = "none"
    queue: str = ""


def follow(engine: str, queue: str, last: Auto, found: Detected) -> tuple[str, str, Auto]:
    """(engine, queue, what of it was filled in) for what the form holds now.

    Whoever names a queue wants Kueue, whoever takes it away wants no engine; whoever chooses another engine
    than Kueue is not left with a queue that nobody chose.
    """
    queue_of_found = found.more if found.engine == "kueue" else ""
    is_own_engine, is_own_queue = engine == last.engine, queue == last.queue
    if is_own_engine and is_own_queue:
        return found.engine, queue_of_found, Auto(found.engine, queue_of_found)
    if is_own_engine:
        if engine in ("kueue", "none"):
            engine = "kueue" if queue else "none"
        return engine, queue, Auto(engine, last.queue)
    if is_own_queue:
        kept = (queue or queue_of_found) if engine == "kueue" else ""
        return engine, kept, Auto(last.engine, kept)
    return engine, queue, last


def engine_word(engine: str, values: Mapping[str, str], found: Detected) -> tuple[str, dict[str, str]]:
    """(`--engine` as a command takes it, the values that go with it). "" where the values alone say it."""
    given = dict(values)
    queue = given.get("queue", "").strip()
    if engine in ("volcano", "kai") and queue:
        given["queue"] = ""
        return f"{engine}:{queue}", given
    if engine == "coscheduling" and found.engine == engine:
        return found.word, given
    if (engine == "kueue" and queue) or (engine == "none" and found.engine == "none" and not queue):
        return "", given
    return engine, given
