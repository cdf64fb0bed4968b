"""Which of the forms that a client accepts is served: JSON, and in it plain objects, Tables or metadata."""

import msgspec

from cockpit.sim.server.http.statuses import not_acceptable

_META = "meta.k8s.io"
_DISCOVERY = "apidiscovery.k8s.io"
_TYPES = frozenset({"application/json", "application/*", "*/*"})


class AnswerForm(msgspec.Struct, frozen=True):
    """`as_` is "" for plain objects, else Table, PartialObjectMetadata, PartialObjectMetadataList or
    APIGroupDiscoveryList."""

    as_: str = ""


PLAIN = AnswerForm()


def form_of(header: str, *, discovery: bool = False) -> AnswerForm:
    """The first entry of an Accept header that can be served. Raises PortError 406 when there is none."""
    if not header.strip():
        return PLAIN
    for entry in _by_weight(header):
        media, *rest = (piece.strip() for piece in entry.split(";"))
        if media.lower() not in _TYPES:
            continue
        given = dict(piece.partition("=")[::2] for piece in rest)
        as_ = given.get("as", "")
        if not as_:
            return PLAIN
        if discovery and given.get("g") == _DISCOVERY and given.get("v") == "v2":
            return AnswerForm(as_)
        if not discovery and given.get("g") == _META and given.get("v") == "v1":
            return AnswerForm(as_)
    raise not_acceptable()


def _by_weight(header: str) -> list[str]:
    entries = [entry.strip() for entry in header.split(",") if entry.strip()]
    return sorted(entries, key=_weight)


def _weight(entry: str) -> float:
    for piece in entry.split(";")[1:]:
        key, _, value = piece.strip().partition("=")
        if key == "q":
            try:
                return -float(value)
            except ValueError:
                return 0.0
    return -1.0
