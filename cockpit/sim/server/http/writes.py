"""Creating, replacing, patching and deleting, also of status, scale, bindings and evictions."""

from typing import Any

import msgspec
from aiohttp import web

from cockpit.sim.port import PatchType, PortError, Tree
from cockpit.sim.server.http.answers import answer
from cockpit.sim.server.http.bodies import object_of, patch_of, patch_type_of, typed, without_kind
from cockpit.sim.server.http.query import WriteOptions, delete_options, list_options, write_options
from cockpit.sim.server.http.representation import Representation
from cockpit.sim.server.http.server_context import ApiRequest, ServerContext
from cockpit.sim.server.http.statuses import success, wrong_method
from cockpit.sim.server.json_values import json_type
from cockpit.sim.server.operations import WriteOutcome
from cockpit.sim.server.preconditions import warned_of
from cockpit.sim.server.refusals import bad_request
from cockpit.sim.server.request import Request
from cockpit.sim.server.schema.doubles import checked_for_doubles

_SENT_KINDS = {
    "binding": ("v1", "Binding"),
    "eviction": ("policy/v1", "Eviction"),
    "scale": ("autoscaling/v1", "Scale"),
}

_NEED_AN_OBJECT = frozenset({PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC})
"""Patches that create nothing: of a missing object it is said that it is missing, whatever the patch."""


async def body_of(asked: ApiRequest) -> bytes:
    """The body of a request. Raises PortError 413 for one that is too large."""
    try:
        return await asked.http.read()
    except web.HTTPRequestEntityTooLarge:
        raise PortError(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728") from None


def _options(asked: ApiRequest, kind: str, patch: PatchType | None = None) -> WriteOptions:
    query = asked.http.query
    agent = asked.http.headers.get("User-Agent", "")
    return write_options(kind, query, query.getall("dryRun", []), agent, patch)


def _with(asked: ApiRequest, options: WriteOptions) -> Request:
    return asked.request(
        dry_run=options.dry_run,
        field_manager=options.field_manager,
        field_validation=options.field_validation,
        force=options.force,
    )


def _checked(context: ServerContext, asked: ApiRequest, tree: Tree) -> Tree:
    """The tree if it is of the kind that belongs here; apiVersion and kind are filled in."""
    resource, subresource = asked.kind.resource, asked.target.subresource
    version, kind = _SENT_KINDS.get(subresource, (resource.api_version, resource.kind))
    for name in ("apiVersion", "kind"):
        if not isinstance(tree.get(name, ""), str):
            raise bad_request(
                "couldn't get version/kind; json parse error: "
                f"{name}: expected string, got {json_type(tree[name])}"
            )
    sent_version, sent_kind = tree.get("apiVersion") or version, tree.get("kind") or kind
    if (sent_version, sent_kind) != (version, kind):
        raise _other_kind(context, (sent_version, sent_kind), (version, kind))
    if subresource in _SENT_KINDS:
        return typed(tree, version, kind)
    return {**tree, "apiVersion": version, "kind": kind}


async def _object(asked: ApiRequest) -> Tree:
    kind = _SENT_KINDS.get(asked.target.subresource, ("", asked.kind.resource.kind))[1]
    tree = object_of(await body_of(asked), asked.http.headers.get("Content-Type", ""), kind)
    if asked.kind.is_custom and not asked.target.subresource and not tree.get("kind"):
        raise without_kind(await body_of(asked), kind)
    return tree


def _other_kind(context: ServerContext, sent: tuple[str, str], wanted: tuple[str, str]) -> PortError:
    """400 for an object of another kind than the path's."""
    (version, kind), (own_version, own_kind) = sent, wanted
    short = version.rpartition("/")[2]
    if context.operations.kinds.by_kind(version, kind) is None:
        why = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
    elif kind == own_kind:
        return bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({own_version})"
        )
    else:
        group = own_version.rpartition("/")[0].partition(".")[0] or "core"
        why = f"converting ({short}.{kind}) to ({group}.{own_kind}): unknown conversion"
    return bad_request(f'{kind} in version "{short}" cannot be handled as a {own_kind}: {why}')


def _written(
    asked: ApiRequest, shown: Representation, outcome: WriteOutcome, doubled: tuple[str, ...] = ()
) -> web.Response:
    status = 201 if outcome.is_created else 200
    warnings = (*asked.warnings, *doubled, *outcome.warnings)
    return answer(shown.one(outcome.stored), status, warnings=warnings)


async def _doubled(asked: ApiRequest, tree: Tree, request: Request) -> tuple[str, ...]:
    """Warnings about members that stand twice. Raises PortError 400 where validation is strict."""
    return checked_for_doubles(await body_of(asked), tree, request.field_validation)


async def create(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.Response:
    """POST of an object, a binding or an eviction."""
    options = _options(asked, "CreateOptions")
    tree = _checked(context, asked, await _object(asked))
    request = _with(asked, options)
    doubled = await _doubled(asked, tree, request)
    subresource = asked.target.subresource
    if subresource == "eviction":
        inner = tree.get("deleteOptions") or {}
        if inner.get("dryRun"):
            request = msgspec.structs.replace(request, dry_run=True)
    with warned_of(doubled):
        outcome = context.operations.create(request, tree)
    if subresource in ("binding", "eviction"):
        return answer(success(201), 201, warnings=outcome.warnings)
    warnings = (*asked.warnings, *doubled, *outcome.warnings)
    return answer(shown.one(outcome.stored), 201, warnings=warnings)


async def replace(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.Response:
    """PUT."""
    options = _options(asked, "UpdateOptions")
    tree = _checked(context, asked, await _object(asked))
    request = _with(asked, options)
    doubled = await _doubled(asked, tree, request)
    with warned_of(doubled):
        return _written(asked, shown, context.operations.replace(request, tree), doubled)


def _check_applied(tree: Tree) -> None:
    """An applied object says itself what it is."""
    version, kind = tree.get("apiVersion") or "", tree.get("kind") or ""
    for name, given in (("apiVersion", version), ("kind", kind)):
        if not isinstance(given, str):
            raise bad_request(f"error decoding YAML: {name} is no text")
    if not version or not kind:
        shown = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {shown}, Kind={kind}")


async def patch(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.Response:
    """PATCH of every kind."""
    content_type = asked.http.headers.get("Content-Type", "")
    kind = patch_type_of(content_type, is_custom=asked.kind.is_custom)
    options = _options(asked, "PatchOptions", kind)
    if kind in _NEED_AN_OBJECT:
        context.operations.get(asked.request(subresource=""))
    sent = patch_of(await body_of(asked), kind)
    if kind is PatchType.APPLY and isinstance(sent, dict):
        _check_applied(sent)
    request = _with(asked, options)
    doubled = await _doubled(asked, sent, request) if isinstance(sent, dict) else ()
    with warned_of(doubled):
        return _written(asked, shown, context.operations.patch(request, sent, kind), doubled)


async def _delete_body(asked: ApiRequest) -> Tree | None:
    body = await body_of(asked)
    if not body.strip():
        return None
    tree = object_of(body, asked.http.headers.get("Content-Type", ""), "DeleteOptions")
    return typed(tree, "meta.k8s.io/v1", "DeleteOptions")


async def delete(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.Response:
    """DELETE of one object."""
    query: Any = asked.http.query
    options, dry_run = delete_options(query, query.getall("dryRun", []), await _delete_body(asked))
    outcome = context.operations.delete(asked.request(dry_run=dry_run), options)
    resource = asked.kind.resource
    if not outcome.has_object:
        metadata = outcome.tree["metadata"]
        told = success(
            name=metadata["name"], group=resource.group, kind=resource.plural, uid=metadata.get("uid", "")
        )
        return answer(told, warnings=outcome.warnings)
    return answer(shown.one(outcome.stored), warnings=outcome.warnings)


async def delete_collection(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.Response:
    """DELETE of all that a query selects."""
    query: Any = asked.http.query
    options, dry_run = delete_options(query, query.getall("dryRun", []), await _delete_body(asked))
    request = asked.request(dry_run=dry_run)
    version = str(context.operations.storage.version)
    deleted = context.operations.delete_collection(request, list_options(query), options)
    warning = asked.kind.delete_warning
    warnings = (warning,) if warning and not options.propagation else ()
    return answer(shown.joined(deleted, {"resourceVersion": version}), warnings=warnings)


async def write(context: ServerContext, asked: ApiRequest, shown: Representation) -> web.Response:
    """Whatever the verb says. Raises PortError 405 for a verb that is none of a write."""
    verbs = {
        "create": create,
        "update": replace,
        "patch": patch,
        "delete": delete,
        "deletecollection": delete_collection,
    }
    handler = verbs.get(asked.target.verb)
    if handler is None:
        raise wrong_method()
    return await handler(context, asked, shown)
