"""Events that tell why machines do not come, kept for the session: the cluster forgets them within an hour,
and with a machine that was given up everything else that told of it is gone."""

from cockpit.model.batch import Batch
from cockpit.model.event import Event
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.pools.registry import kept_reasons

MOST = 500


def kept_events(batch: Batch, truth: StoreReader) -> Batch | None:
    """Those of a batch of events that are kept, and the oldest that go for them; None: it has none."""
    reasons = kept_reasons()
    found = [one for one in batch.changed if one.reason in reasons and one.object_kind != "Pod"]
    if not found:
        return None
    known: dict[str, Event] = {**truth.records(Kind.OWNER_EVENT), **{one.uid: one for one in found}}
    oldest = sorted(known.values(), key=lambda one: (one.last_seconds or 0.0, one.uid))[:-MOST]
    going = {one.uid for one in oldest}
    stays = tuple(one for one in found if one.uid not in going)
    return Batch(kind=Kind.OWNER_EVENT, changed=stays, removed=tuple(sorted(going)))
