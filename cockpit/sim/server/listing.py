"""Lists: whole or in pages, at the newest version or at one that history still holds.

Facts: apimachinery pkg/apis/meta/internalversion/validation, apiserver pkg/storage/etcd3/store.go.
"""

import base64
import binascii
from collections.abc import Iterator

import msgspec

from cockpit.kube.resource import Resource
from cockpit.sim.port import PortError
from cockpit.sim.server.core import served
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.refusals import Cause, bad_request, banned, expired, invalid, unsupported
from cockpit.sim.server.request import ListOptions
from cockpit.sim.server.selectors import selector
from cockpit.sim.server.storage import Key, Shelf, Storage, Stored

LIST_OPTIONS = Resource("meta.k8s.io", "v1", "listoptions", "ListOptions", namespaced=False)
EXACT = "Exact"
NOT_OLDER = "NotOlderThan"

_TOO_OLD_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - objects "
    "that were created, modified, or deleted between the time the first chunk was returned and now may show "
    "up in the list."
)
_TOO_OLD_LIST = "The resourceVersion for the provided list is too old."


class Listing(msgspec.Struct, frozen=True):
    """One page. `remaining` is None where the server does not say (selectors, last page)."""

    items: list[Stored]
    version: int
    continue_token: str = ""
    remaining: int | None = None


class ExpiredPage(PortError):
    """410 for a page: with the token that goes on inconsistently, for `metadata.continue` of the Status."""

    def __init__(self, token: str) -> None:
        super().__init__(410, "Expired", _TOO_OLD_PAGE)
        self.continue_token = token


def list_page(storage: Storage, kind: ServedKind, namespace: str, options: ListOptions) -> Listing:
    """What is asked for. Raises PortError 400, 410, 422 and 504."""
    _check(options)
    wanted = version_number(options.version)
    shelf = storage.shelf(kind.shelf)
    after, version = "", storage.version
    if options.continue_token:
        version, after = _opened(options)
        if version < 0:
            version = storage.version
        elif version < shelf.history.floor:
            raise ExpiredPage(_token(-1, after))
    elif wanted > storage.version:
        raise too_large(wanted, storage.version)
    elif wanted and _is_exact(options):
        if wanted < shelf.history.floor:
            raise expired(_TOO_OLD_LIST)
        version = wanted
    page = _at(shelf, version, storage.version).between(namespace, after)
    return _cut(page, kind, options, version)


def _is_exact(options: ListOptions) -> bool:
    """A version with a limit and without a rule means exactly that one."""
    return options.version_match == EXACT or (not options.version_match and options.limit > 0)


def _cut(objects: Iterator[Stored], kind: ServedKind, options: ListOptions, version: int) -> Listing:
    matches = selector(kind, options.labels, options.fields)
    items: list[Stored] = []
    for stored in objects:
        shown = served(kind, stored)
        if matches is not None and not matches(shown.tree):
            continue
        if options.limit and len(items) == options.limit:
            remaining = None if matches is not None else 1 + sum(1 for _ in objects)
            return Listing(items, version, _token(version, items[-1].key), remaining)
        items.append(shown)
    return Listing(items, version)


def _at(shelf: Shelf, version: int, current: int) -> Shelf:
    """The objects as they were at a version that history holds."""
    if version == current:
        return shelf
    later = shelf.history.since(version)
    if not later:
        return shelf
    past = Shelf(shelf.history)
    past.objects = dict(shelf.objects)
    for commit in reversed(later):
        if commit.before is None:
            past.objects.pop(commit.after.key, None)
        else:
            past.objects[commit.before.key] = commit.before
    past.keys = sorted(past.objects)
    return past


def _check(options: ListOptions) -> None:
    match = options.version_match
    causes: list[Cause] = []
    if match and not options.version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(banned("resourceVersionMatch", why))
    if match and options.continue_token:
        why = "resourceVersionMatch is forbidden when continue is provided"
        causes.append(banned("resourceVersionMatch", why))
    if match not in ("", EXACT, NOT_OLDER):
        causes.append(unsupported("resourceVersionMatch", match, (EXACT, NOT_OLDER, "")))
    if match == EXACT and options.version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(banned("resourceVersionMatch", why))
    if causes:
        raise invalid(LIST_OPTIONS, "", causes)
    if options.limit < 0:
        raise bad_request("limit must not be negative")


def version_number(text: str) -> int:
    """The number in a query; 0 for none. Raises PortError 400."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        why = f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f"invalid resource version: resourceVersion: {why}")
    return int(text)


def too_large(wanted: int, current: int) -> PortError:
    """504 for a version that is not there yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version", "field": ""}
    return PortError(
        504, "Timeout", f"Timeout: Too large resource version: {wanted}, current: {current}", [cause]
    )


class _Token(msgspec.Struct):
    rv: int
    start: str


_read_token = msgspec.json.Decoder(_Token).decode


def _token(version: int, after: Key) -> str:
    body = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": version, "start": after + "\0"})
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


def _opened(options: ListOptions) -> tuple[int, Key]:
    if options.version not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")
    token = options.continue_token
    try:
        body = _read_token(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (binascii.Error, msgspec.DecodeError, ValueError, RecursionError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if ".." in body.start:
        raise bad_request("invalid continue token: continue key is not valid")
    return body.rv, body.start.removesuffix("\0")
