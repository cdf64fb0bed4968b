"""What time it is at the API server, as the head of an answer tells."""

from datetime import UTC
from email.utils import parsedate_to_datetime

from cockpit.clock import ClusterTime

CLUSTER_TIME = "Cockpit-Cluster-Time"
"""A demo tells its time exactly, and how fast it runs: `1790000000.123456; pace=60`."""


def said_time(date: str, demo_time: str = "") -> ClusterTime | None:
    """The time of an answer whose headers say so; None where they say nothing that can be understood."""
    return _of_demo(demo_time) or _of_date(date)


def _of_demo(text: str) -> ClusterTime | None:
    seconds, _, pace = text.partition("; pace=")
    try:
        return ClusterTime(float(seconds), 0.0, float(pace))
    except ValueError:
        return None


def _of_date(text: str) -> ClusterTime | None:
    try:
        return ClusterTime(parsedate_to_datetime(text).replace(tzinfo=UTC).timestamp(), 1.0)
    except (ValueError, TypeError, OverflowError):
        return None
