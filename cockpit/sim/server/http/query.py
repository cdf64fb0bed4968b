"""Options of a request: from its query, and for a delete from its body."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from cockpit.kube.resource import Resource
from cockpit.sim.port import PatchType, Tree
from cockpit.sim.server.http.target import is_true
from cockpit.sim.server.refusals import Cause, bad_request, banned, invalid, required, unsupported, wrong
from cockpit.sim.server.request import DeleteOptions, ListOptions, WatchOptions

_META = "meta.k8s.io"
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_POLICIES = ("Foreground", "Background", "Orphan")
_NAME_BYTES = 128

Query = Mapping[str, str]


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What every write may be told."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False


def _options_kind(kind: str) -> Resource:
    return Resource(_META, "v1", kind.lower(), kind, namespaced=False)


def number(query: Query, name: str) -> int:
    """A whole number of a query, 0 when it is not given. Raises PortError 400 for what is no number."""
    text = query.get(name, "")
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def list_options(query: Query) -> ListOptions:
    """The query of a list."""
    limit = number(query, "limit")
    return ListOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        limit=max(0, limit),
        continue_token=query.get("continue", ""),
        version=query.get("resourceVersion", ""),
        version_match=query.get("resourceVersionMatch", ""),
    )


def watch_options(query: Query) -> WatchOptions:
    """The query of a watch."""
    initial = query.get("sendInitialEvents")
    return WatchOptions(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        version=query.get("resourceVersion", ""),
        version_match=query.get("resourceVersionMatch", ""),
        bookmarks=is_true(query.get("allowWatchBookmarks")),
        initial_events=None if initial is None else is_true(initial),
    )


def _dry_run(values: Sequence[str]) -> tuple[bool, list[Cause]]:
    faults = [unsupported("dryRun", list(values), ("All",))] if any(one != "All" for one in values) else []
    return bool(values), faults


def write_options(
    kind: str, query: Query, dry_runs: Sequence[str], agent: str, patch: PatchType | None = None
) -> WriteOptions:
    """`kind` is CreateOptions, UpdateOptions or PatchOptions; `agent` stands in for a missing field manager.

    Raises PortError 422 for what the real server refuses.
    """
    dry_run, faults = _dry_run([one for one in dry_runs if one])
    manager = query.get("fieldManager", "")
    validation = query.get("fieldValidation", "")
    force = is_true(query.get("force"))
    if patch is PatchType.APPLY and not manager:
        faults.append(required("fieldManager", "is required for apply patch"))
    if patch is not PatchType.APPLY and patch is not None and "force" in query:
        faults.append(banned("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > _NAME_BYTES:
        faults.append(wrong("fieldManager", manager, f"may not be more than {_NAME_BYTES} bytes"))
    elif not manager.isprintable():
        faults.append(wrong("fieldManager", manager, "should only contain printable characters"))
    if validation and validation not in _VALIDATIONS:
        faults.append(unsupported("fieldValidation", validation, _VALIDATIONS))
    if faults:
        raise invalid(_options_kind(kind), "", faults)
    return WriteOptions(
        dry_run=dry_run,
        field_manager=manager or _from_agent(agent),
        field_validation=validation or "Warn",
        force=force,
    )


def _from_agent(agent: str) -> str:
    """The manager of a client that names none: its User-Agent up to the slash."""
    text = agent.partition("/")[0]
    printable = "".join(one for one in text if one.isprintable())[:_NAME_BYTES]
    return printable or "unknown"


def delete_options(query: Query, dry_runs: Sequence[str], body: Tree | None) -> tuple[DeleteOptions, bool]:
    """Options and whether it is a dry run. A body that is there is heeded alone, as the real server does."""
    given = dict(body) if body else _from_query(query, dry_runs)
    dry_run, faults = _dry_run(given.get("dryRun") or ())
    policy = given.get("propagationPolicy") or ""
    orphan = given.get("orphanDependents")
    if policy and orphan is not None:
        faults.append(
            wrong("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set")
        )
    if policy and policy not in _POLICIES:
        faults.append(unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if faults:
        raise invalid(_options_kind("DeleteOptions"), "", faults)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    named = given.get("preconditions") or {}
    return (
        DeleteOptions(
            uid=named.get("uid") or "",
            version=named.get("resourceVersion") or "",
            grace_seconds=given.get("gracePeriodSeconds"),
            propagation=policy,
        ),
        dry_run,
    )


def _from_query(query: Query, dry_runs: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {"dryRun": [one for one in dry_runs if one]}
    if query.get("gracePeriodSeconds"):
        given["gracePeriodSeconds"] = number(query, "gracePeriodSeconds")
    if query.get("propagationPolicy"):
        given["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        given["orphanDependents"] = is_true(query["orphanDependents"])
    return given
