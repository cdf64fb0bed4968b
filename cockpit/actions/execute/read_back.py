"""What became of a write that no answer tells of: read from the object that it was to change.

A read settles it where the object shows the change, or where the server is done with the request. A request
that may still be under way behind a proxy is not over because the object does not show it yet.
"""

import asyncio
import copy
import enum
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from cockpit.errors import CockpitError, NoConnection
from cockpit.k8s.quantity import parse_quantity
from cockpit.kube.session import ApiSession
from cockpit.model.plan import Call
from cockpit.model.session import Answer, Reader

AUDIT_ANNOTATION: Final = "gpu-cockpit/audit-id"
"""Annotation of what a call of ours created, and its label where the server chooses the name."""
EVICTION: Final = "/eviction"
READS: Final = 3
"""Reads at most: a read may be repeated, a write may not."""
PAUSE_SECONDS: Final = 0.5
Sleep = Callable[[float], Awaitable[None]]


class Effect(enum.Enum):
    """What the cluster says became of a write."""

    APPLIED = "applied"
    NOT_APPLIED = "not applied"
    OVERTAKEN = "overtaken"  # the object was written since and does not show it
    UNKNOWN = "unknown"  # it cannot be read


class ReadBack(NamedTuple):
    """`why` says for UNKNOWN and OVERTAKEN what stands in the way; `tree` is the object that was found."""

    effect: Effect
    why: str = ""
    tree: Any = None
    is_cut: bool = False  # the read itself was not answered
    is_final: bool = False  # not applied, and cannot be any more


async def read_back(session: Reader, call: Call, *, sleep: Sleep = asyncio.sleep) -> ReadBack:
    """What the object of the call says now. A read that fails is repeated, `READS` in all. Raises nothing
    that a cluster may answer."""
    found = await _read(session, call)
    for _ in range(READS - 1):
        if found.effect is not Effect.UNKNOWN:
            break
        await sleep(PAUSE_SECONDS)
        found = await _read(session, call)
    return found


async def _read(session: Reader, call: Call) -> ReadBack:
    try:
        answer = await _object_of(session, call)
        tree = answer.json()
    except NoConnection as error:
        return ReadBack(Effect.UNKNOWN, error.sentence, is_cut=True)
    except (CockpitError, ValueError) as error:
        return ReadBack(Effect.UNKNOWN, str(error))
    return judged(call, answer, tree)


async def _object_of(session: Reader, call: Call) -> Answer:
    if is_eviction(call):
        return await session.request("GET", call.path.removesuffix(EVICTION))
    if call.method != "POST":
        return await session.request("GET", call.path)
    if _name(call):
        return await session.request("GET", f"{call.path}/{_name(call)}")
    chosen = (("labelSelector", f"{AUDIT_ANNOTATION}={call.body['metadata']['labels'][AUDIT_ANNOTATION]}"),)
    lister = cast("ApiSession", session)  # who lists has a query, which the protocol has not
    return await lister.request("GET", call.path, query=chosen)


def marked(call: Call, audit_id: str) -> Call:
    """The call with the mark on what it creates: it tells our object from another one's when the answer is
    lost. Where the server chooses the name the mark is a label, too, by which the object is found."""
    if call.method != "POST" or not isinstance(call.body, dict):
        return call
    body = copy.deepcopy(call.body)
    metadata = body.setdefault("metadata", {})
    metadata.setdefault("annotations", {})[AUDIT_ANNOTATION] = audit_id
    if not metadata.get("name"):
        metadata.setdefault("labels", {})[AUDIT_ANNOTATION] = audit_id
    return msgspec.structs.replace(call, body=body)


def wanted_of(call: Call) -> Any:
    """What of the body tells later whether the call took place; None where the path and the guard do."""
    if call.via or call.method == "DELETE" or is_eviction(call):
        return None
    if isinstance(call.body, list):
        return call.body
    metadata = call.body.get("metadata") or {}
    if call.method == "POST":
        return {"metadata": {key: metadata[key] for key in ("name", "generateName") if key in metadata}}
    about = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    return {key: value for key, value in call.body.items() if key != "metadata"} | {"metadata": about}


def call_again(
    *, method: str, path: str, target: str, wanted: Any, uid: str, resource_version: str, audit_id: str
) -> Call:
    """The call of an audit line, as far as it is needed to read what became of it."""
    guard = {"uid": uid, "resourceVersion": resource_version}
    guard = {key: value for key, value in guard.items() if value}
    body: Any = wanted
    if method == "DELETE":
        body = {"preconditions": guard}
    elif path.endswith(EVICTION):
        body = {"deleteOptions": {"preconditions": guard}}
    elif isinstance(wanted, dict):
        body = {**wanted, "metadata": {**(wanted.get("metadata") or {}), **guard}}
    call = Call(method=method, path=path, target=target, body=body)
    return call if is_eviction(call) else marked(call, audit_id)


def judged(call: Call, answer: Answer, tree: Any) -> ReadBack:
    """What the answer to a read of the object says of the write."""
    if answer.status == 404 and is_missing(tree):
        tree = None
    elif answer.status != 200 or not _is_object(call, tree):
        return ReadBack(Effect.UNKNOWN, f"it cannot be read: {answer.message() or 'no object in the answer'}")
    if call.method == "DELETE" or is_eviction(call):
        return ReadBack(_of_removal(call, tree), tree=tree)
    if call.method == "POST":
        return _of_creation(call, tree)
    return _of_patch(call, tree)


def _is_object(call: Call, tree: Any) -> bool:
    """Whether it is what the server has: a page of a proxy proves nothing of a uid."""
    if not isinstance(tree, dict) or tree.get("kind") == "Status":
        return False
    is_patch = call.method not in ("POST", "DELETE")
    return isinstance(tree.setdefault("metadata", {}) if is_patch else tree.get("metadata"), dict)


def is_missing(tree: Any) -> bool:
    """Whether a 404 is of the API server and of the object itself: a proxy has a 404 of its own."""
    return tree == {} or (
        isinstance(tree, dict) and tree.get("kind") == "Status" and tree.get("reason") == "NotFound"
    )


def is_eviction(call: Call) -> bool:
    """Whether it asks to evict a pod."""
    return call.method == "POST" and call.path.endswith(EVICTION)


def uid_of(call: Call) -> str:
    """The uid that guards it, "" where none does."""
    return str(_guard(call).get("uid") or "")


def version_of(call: Call) -> str:
    """The resource version that guards it, "" where none does."""
    return str(_guard(call).get("resourceVersion") or "")


def _guard(call: Call) -> dict[str, Any]:
    body = call.body if isinstance(call.body, dict) else {}
    options = body.get("deleteOptions") or {}
    guard = options.get("preconditions") or body.get("preconditions") or body.get("metadata") or {}
    return dict(guard)


def _name(call: Call) -> str:
    return str((call.body.get("metadata") or {}).get("name") or "")


def _of_removal(call: Call, tree: Any) -> Effect:
    if tree is None:
        return Effect.APPLIED
    metadata = tree["metadata"]
    is_another = bool(uid_of(call)) and metadata.get("uid", uid_of(call)) != uid_of(call)
    return Effect.APPLIED if is_another or metadata.get("deletionTimestamp") else Effect.NOT_APPLIED


def _of_creation(call: Call, tree: Any) -> ReadBack:
    mark = call.body["metadata"]["annotations"][AUDIT_ANNOTATION]
    items = [tree] if tree is not None and _name(call) else (tree or {}).get("items") or []
    found = next((it for it in items if _mark_of(it) == mark), None)
    if found is not None:
        return ReadBack(Effect.APPLIED, tree=found)
    is_taken = tree is not None and bool(_name(call))
    return ReadBack(Effect.NOT_APPLIED, "another object has its name" if is_taken else "", is_final=is_taken)


def _mark_of(tree: Any) -> Any:
    return (tree["metadata"].get("annotations") or {}).get(AUDIT_ANNOTATION)


def _of_patch(call: Call, tree: Any) -> ReadBack:
    if tree is None:
        return ReadBack(Effect.OVERTAKEN, "it is gone by now")
    metadata = tree["metadata"]
    if uid_of(call) and metadata.get("uid", uid_of(call)) != uid_of(call):
        return ReadBack(Effect.OVERTAKEN, "it was deleted and recreated since")
    if _shows(tree, call.body):
        return ReadBack(Effect.APPLIED, tree=tree)
    if version_of(call) and metadata.get("resourceVersion", version_of(call)) != version_of(call):
        return ReadBack(Effect.OVERTAKEN, "it was changed since and does not show this change", tree)
    return ReadBack(Effect.NOT_APPLIED, tree=tree)


def _shows(tree: Any, body: Any) -> bool:
    """Whether the object is as the patch has it."""
    if isinstance(body, list):
        return _shows_operations(tree, body)
    if not isinstance(body, dict):
        return False
    about = body.get("metadata") or {}
    wanted = {key: value for key, value in body.items() if key not in ("apiVersion", "kind", "metadata")}
    own = {key: about[key] for key in ("labels", "annotations") if key in about}
    return bool(wanted or own) and _holds(tree, wanted) and _holds(tree["metadata"], own)


def _shows_operations(tree: Any, operations: Sequence[Any]) -> bool:
    """The same of a JSON patch (RFC 6902): what it sets stands there, what it removes does not."""
    writes = [it for it in operations if it.get("op") in ("add", "replace", "remove")]
    for it in writes:
        keys = [key.replace("~1", "/").replace("~0", "~") for key in str(it["path"]).split("/")[1:]]
        there = tree
        for key in keys:
            there = there.get(key) if isinstance(there, dict) else None
        if not _holds(there, None if it["op"] == "remove" else it.get("value")):
            return False
    return bool(writes)


def _holds(tree: Any, wanted: Any) -> bool:
    """Whether the merge patch `wanted` has taken place in `tree`: null means that the entry is gone, and the
    server leaves out what is empty, and adds its defaults to the items of a list."""
    if wanted is None or (tree is None and wanted in (False, "", [], {})):
        return tree is None
    if isinstance(wanted, dict):
        return isinstance(tree, dict) and all(_holds(tree.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(tree, list)
            and len(tree) == len(wanted)
            and all(_holds(there, it) for there, it in zip(tree, wanted, strict=True))
        )
    return bool(tree == wanted) or _is_same_quantity(tree, wanted)


def _is_same_quantity(there: Any, wanted: Any) -> bool:
    """The server writes quantities in its own way: `1000m` is kept as `1`."""
    if not isinstance(there, str) or not isinstance(wanted, str):
        return False
    try:
        return parse_quantity(there) == parse_quantity(wanted)
    except ValueError:
        return False


def unknown_sentence(target: str, lost: str, found: str) -> str:
    """What is told where neither an answer nor a read tells what became of a write."""
    return f"{target}: unknown: the server did not say ({lost}; {found}); read it before trying again"
