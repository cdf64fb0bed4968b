"""Events, with count and times folded from the series where the newer recorders write one."""

from typing import Any

from cockpit.kube.decode.common import identity
from cockpit.kube.decode.reading import Reading
from cockpit.mask import clean_message
from cockpit.model.event import Event
from cockpit.sanitise import WORDS


def event_record(event: Any, reading: Reading) -> Event:
    """The record of one core/v1 Event.

    Writers through events.k8s.io leave `count`, `lastTimestamp` and `source` empty: the series, `eventTime`
    and `reportingComponent` speak instead.
    """
    seconds = reading.seconds
    involved, series = event.involved_object, event.series
    when = seconds(event.event_time)
    shared = identity(event.metadata, reading)
    first = seconds(event.first_timestamp) or when or shared["created_seconds"]
    last = seconds(series.last_observed_time) or seconds(event.last_timestamp) or when or first
    return Event(
        **shared,
        type=WORDS[event.type],
        reason=WORDS[event.reason],
        message=clean_message(event.message.strip()),
        component=WORDS[event.source.component or event.reporting_component],
        count=max(series.count, event.count, 1),
        first_seconds=first,
        last_seconds=last,
        object_kind=WORDS[involved.kind],
        object_namespace=WORDS[involved.namespace],
        object_name=WORDS[involved.name],
        object_uid=WORDS[involved.uid],
    )
