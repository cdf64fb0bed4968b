"""The header of a list of several clusters: how each of them is reached, and whether it may be changed."""

from collections.abc import Sequence

from cockpit_widgets.types import StatusSegment, Tone

from cockpit.model.trust import Trust
from cockpit.views import format as fmt
from cockpit.views.now import UNTRUSTED, HeaderSource, Segments, data_segment


def clusters_header(
    attached: Sequence[HeaderSource], now_seconds: float, heading: Segments = ()
) -> tuple[Segments, Segments]:
    """`prod live ro · lab live rw · edge no answer 12s ro` as (left, right), in the order of the clusters.
    Where room is short those that are well go first."""
    left = [StatusSegment(f"{len(attached)} clusters", "strong", 2), *heading]
    left.extend(_cluster(each, now_seconds) for each in attached)
    faults = [name for each in attached for name in each.faults]
    right = [StatusSegment(f"internal error in {faults[0]}", "bad", 1)] if faults else []
    return tuple(left), tuple(right)


def _cluster(each: HeaderSource, now_seconds: float) -> StatusSegment:
    words, tone = _link(each, now_seconds)
    lock = "ro" if each.is_read_only else "rw"
    identity = "" if each.acts_as is None else f" as {each.acts_as.user}"
    if each.trust is not None and each.trust is not Trust.VERIFIED:
        words, tone = f"{words} ▲ {UNTRUSTED[each.trust]}", "bad"
    is_well = tone in ("", "dim")
    return StatusSegment(f"{each.context or '?'}{identity} {words} {lock}", tone, 3 if is_well else 1)


def _link(each: HeaderSource, now_seconds: float) -> tuple[str, Tone]:
    """How it is reached, and how much that matters."""
    if not each.is_connected:
        return (each.link.value, "bad") if each.sentence else (each.link.value, "warn")
    silent_since = each.unanswered_since_seconds
    if silent_since is not None:
        return f"no answer {fmt.age(now_seconds - silent_since)}", "bad"
    told = data_segment(each.store, now_seconds)
    return told.text, told.tone
