"""Watches: what happened since a version, as one reader sees it through its selectors."""

from collections.abc import Callable

from cockpit.sim.port import ChangeType, Tree
from cockpit.sim.server.core import served
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.listing import LIST_OPTIONS, NOT_OLDER, version_number
from cockpit.sim.server.refusals import Cause, banned, expired, invalid, unsupported
from cockpit.sim.server.request import WatchOptions
from cockpit.sim.server.selectors import selector
from cockpit.sim.server.storage import Commit, Storage, Stored, at_version

BOOKMARK = "BOOKMARK"
_END = {"k8s.io/initial-events-end": "true"}

Watched = Callable[[str, Stored], None]
"""Gets ADDED, MODIFIED, DELETED or BOOKMARK, and the object as the kind shows it."""


def watch(
    storage: Storage, kind: ServedKind, namespace: str, options: WatchOptions, watched: Watched
) -> Callable[[], None]:
    """Hand over what has happened, then what happens; answers how to stop. Raises PortError 400, 410, 422."""
    _check(options)
    since = version_number(options.version)
    shelf = storage.shelf(kind.shelf)
    tell = _sender(kind, namespace, options, watched)
    begins_with_all = options.initial_events or (options.initial_events is None and since == 0)
    if begins_with_all:
        matches = selector(kind, options.labels, options.fields)
        for stored in list(shelf.between(namespace)):
            shown = served(kind, stored)
            if matches is None or matches(shown.tree):
                watched(ChangeType.ADDED.value, shown)
        if options.initial_events and options.bookmarks:
            watched(BOOKMARK, bookmark(kind, max(storage.version, since), ends_initial_events=True))
    elif since:
        if since < shelf.history.floor:
            raise expired(f"too old resource version: {since} ({shelf.history.floor})")
        for commit in shelf.history.since(since):
            tell(commit)

    def live(commit: Commit) -> None:
        if commit.version > since:
            tell(commit)

    return storage.listen(kind.shelf, live)


def bookmark(kind: ServedKind, version: int, *, ends_initial_events: bool = False) -> Stored:
    """The object of a BOOKMARK: nothing but its type and the version."""
    metadata: Tree = {"resourceVersion": str(version), "creationTimestamp": None}
    if ends_initial_events:
        metadata["annotations"] = _END
    tree: Tree = {
        "kind": kind.resource.kind,
        "apiVersion": kind.resource.api_version,
        "metadata": metadata,
    }
    return Stored("", tree, version)


def _sender(
    kind: ServedKind, namespace: str, options: WatchOptions, watched: Watched
) -> Callable[[Commit], None]:
    matches = selector(kind, options.labels, options.fields)
    prefix = f"{namespace}/" if namespace else ""

    def tell(commit: Commit) -> None:
        if not commit.after.key.startswith(prefix):
            return
        after = served(kind, commit.after)
        if matches is None:
            watched(commit.type.value, after)
            return
        before = None if commit.before is None else served(kind, commit.before)
        was = before is not None and matches(before.tree)
        if commit.type is ChangeType.DELETED:
            if was:
                watched(ChangeType.DELETED.value, after)
            return
        if matches(after.tree):
            watched((ChangeType.MODIFIED if was else ChangeType.ADDED).value, after)
        elif was and before is not None:
            watched(ChangeType.DELETED.value, at_version(before, commit.version))

    return tell


def _check(options: WatchOptions) -> None:
    match = options.version_match
    causes: list[Cause] = []
    if options.initial_events is not None and match != NOT_OLDER:
        why = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER}"
        causes.append(banned("resourceVersionMatch", why))
    if match:
        if options.initial_events is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(banned("resourceVersionMatch", why))
        if match != NOT_OLDER:
            causes.append(unsupported("resourceVersionMatch", match, (NOT_OLDER,)))
    if causes:
        raise invalid(LIST_OPTIONS, "", causes)
