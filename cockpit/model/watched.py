"""A kind of object that is watched for a room that must not know how it is fetched."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from cockpit.model.job import ReplicaSpec
from cockpit.model.record import Record


class Watched(msgspec.Struct, frozen=True):
    """One resource that becomes records of one kind.

    `versions` are those whose shape is known, the preferred one first; () for any. `record` makes the record
    of one object, given as a tree whose texts are cleaned; None where `cockpit.kube.decode` has a decoder.
    """

    kind: str
    group: str
    plural: str
    versions: tuple[str, ...] = ()
    engine: str = ""  # whose groups of pods they are
    api_kind: str = ""  # its Kind, where what such an object owns is no reason to read the object
    namespace: str = ""
    name: str = ""  # of one object that is read by its name and not watched, "" for all of them
    record: Callable[[Mapping[str, Any]], Record | None] | None = None
    roles: Callable[[Mapping[str, Any]], tuple[ReplicaSpec, ...]] | None = None  # of a job, by its templates
    short_name: str = ""  # by which its CRD lets people call it
