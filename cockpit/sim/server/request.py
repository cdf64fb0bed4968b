"""What is asked of the server, as values: who asks, for what, and how."""

import msgspec

from cockpit.kube.resource import Resource


class User(msgspec.Struct, frozen=True):
    """Who asks, as authentication found out; `extra` are further fields, each with its values."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


SYSTEM = User("system:apiserver", ("system:masters", "system:authenticated"))
"""The server itself and the actors on its own storage."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request after authentication and decoding. Empty texts mean: not given.

    `field_validation` is "Ignore", "Warn", "Strict" or "" (Warn over HTTP, nothing to the actors);
    `field_manager` "" leaves managed fields alone; `force` belongs to an apply patch.
    """

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    verb: str = ""
    user: User = SYSTEM
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = ""
    force: bool = False


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to delete: `metav1.DeleteOptions` without the dry run, which is the request's."""

    uid: str = ""
    version: str = ""
    grace_seconds: int | None = None
    propagation: str = ""


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to list: the query of a list, decoded. `limit` 0 means all."""

    labels: str = ""
    fields: str = ""
    limit: int = 0
    continue_token: str = ""
    version: str = ""
    version_match: str = ""


class WatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to watch: the query of a watch, decoded."""

    labels: str = ""
    fields: str = ""
    version: str = ""
    version_match: str = ""
    bookmarks: bool = False
    initial_events: bool | None = None
