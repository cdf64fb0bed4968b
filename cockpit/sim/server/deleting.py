"""Deleting: at once, after a grace period, or when the last finalizer is gone.

Facts: apiserver pkg/registry/rest/delete.go and pkg/registry/generic/registry/store.go.
"""

import msgspec

from cockpit.kube.resource import NAMESPACES, Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.core import Core, WriteOutcome, served
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.preconditions import warned_of
from cockpit.sim.server.refusals import conflict, forbidden, invalid, unsupported
from cockpit.sim.server.request import DeleteOptions, Request
from cockpit.sim.server.storage import Stored
from cockpit.sim.times import rfc3339, seconds_of

_OPTIONS = Resource("meta.k8s.io", "v1", "deleteoptions", "DeleteOptions", namespaced=False)
_POLICIES = ("Foreground", "Background", "Orphan")
_KEPT_NAMESPACES = ("default", "kube-system", "kube-public")
ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


def delete(core: Core, kind: ServedKind, request: Request, options: DeleteOptions) -> WriteOutcome:
    """One object, now or when its grace period and finalizers allow it."""
    warnings = (kind.delete_warning,) if kind.delete_warning and not options.propagation else ()
    with warned_of(warnings):
        outcome = _checked(core, kind, request, options)
    if warnings:
        return msgspec.structs.replace(outcome, warnings=warnings)
    return outcome


def _checked(core: Core, kind: ServedKind, request: Request, options: DeleteOptions) -> WriteOutcome:
    stored = core.found(kind, request)
    check_delete(kind, request, options, served(kind, stored).tree)
    return _delete(core, kind, request, options, stored)


def _delete(
    core: Core, kind: ServedKind, request: Request, options: DeleteOptions, stored: Stored
) -> WriteOutcome:
    old = served(kind, stored).tree
    metadata: Tree = dict(old["metadata"])
    grace: int | None = None
    if kind.is_graceful:
        if "deletionTimestamp" in metadata:
            if not _shorten(metadata, options):
                if metadata["deletionGracePeriodSeconds"] != 0:
                    return WriteOutcome(served(kind, stored), has_object=kind.deletion_returns_object)
            else:
                grace = metadata["deletionGracePeriodSeconds"]
        else:
            grace = _grace_seconds(old, options)
            _mark(core, metadata, grace)
    finalizers = _finalizers(kind, metadata.get("finalizers", []), options)
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    marked = {**old, "metadata": metadata}
    if kind.mark_ending is not None and "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = core.now
        return WriteOutcome(core.put(kind, stored.key, kind.mark_ending(marked, core.now), request))
    if grace is None:
        if not finalizers and not _waits(kind, old):
            return _gone(core, kind, stored, request)
        if kind.mark_ending is None:
            _mark_waiting(core, metadata)
    if marked == old:
        return WriteOutcome(served(kind, stored))
    kept = core.put(kind, stored.key, marked, request)
    if finalizers or grace or _waits(kind, old):
        return WriteOutcome(kept)
    if request.dry_run:
        return WriteOutcome(kept, is_final=True, has_object=kind.deletion_returns_object)
    return _gone(core, kind, stored, request)


def _gone(core: Core, kind: ServedKind, stored: Stored, request: Request) -> WriteOutcome:
    last = core.remove(kind, stored.key, request)
    return WriteOutcome(last, is_final=True, has_object=kind.deletion_returns_object)


def _waits(kind: ServedKind, old: Tree) -> bool:
    """A namespace waits until its content is gone (spec.finalizers)."""
    return kind.resource == NAMESPACES and bool(old.get("spec", {}).get("finalizers"))


def check_delete(kind: ServedKind, request: Request, options: DeleteOptions, old: Tree) -> None:
    """Raises PortError where options make no sense (422) or a precondition does not hold (409)."""
    if options.propagation and options.propagation not in _POLICIES:
        cause = unsupported("propagationPolicy", options.propagation, (*_POLICIES, "nil"))
        raise invalid(_OPTIONS, "", [cause])
    if kind.resource == NAMESPACES and request.name in _KEPT_NAMESPACES:
        raise forbidden(kind.resource, request.name, "this namespace may not be deleted")
    metadata = old["metadata"]
    plain = Resource(
        kind.resource.group, kind.resource.version, kind.resource.kind, kind.resource.kind, False
    )
    if options.uid and options.uid != metadata["uid"]:
        raise conflict(
            plain,
            request.name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated",
        )
    version = metadata["resourceVersion"]
    if options.version and options.version != version:
        raise conflict(
            plain,
            request.name,
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion "
            f"in record ({version}). The object might have been modified",
        )


def _grace_seconds(pod: Tree, options: DeleteOptions) -> int:
    """How long a pod gets: nothing where no kubelet has it, or where it has ended."""
    if not pod["spec"].get("nodeName") or pod.get("status", {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    grace = options.grace_seconds
    if grace is None:
        grace = int(pod["spec"].get("terminationGracePeriodSeconds", 0))
    return grace if grace >= 0 else 1


def _shorten(metadata: Tree, options: DeleteOptions) -> bool:
    """Brings the end of what is ending nearer; False where nothing shorter was asked for."""
    held = metadata.get("deletionGracePeriodSeconds", 0)
    asked = options.grace_seconds
    if asked is None or asked >= held:
        return False
    ends = seconds_of(metadata["deletionTimestamp"]) - held + asked
    metadata["deletionTimestamp"] = rfc3339(ends)
    metadata["deletionGracePeriodSeconds"] = asked
    return True


def _mark(core: Core, metadata: Tree, grace: int) -> None:
    metadata["deletionTimestamp"] = rfc3339(core.clock.now() + grace)
    metadata["deletionGracePeriodSeconds"] = grace
    if "generation" in metadata:
        metadata["generation"] += 1


def _mark_waiting(core: Core, metadata: Tree) -> None:
    if "deletionGracePeriodSeconds" not in metadata and "generation" in metadata:
        metadata["generation"] += 1
    metadata.setdefault("deletionTimestamp", core.now)
    metadata["deletionGracePeriodSeconds"] = 0


def _finalizers(kind: ServedKind, held: list[str], options: DeleteOptions) -> list[str]:
    """The object's own, and that of the garbage collector which the policy asks for."""
    if kind.default_propagation == "":
        return held
    policy = options.propagation
    if not policy:
        if ORPHAN in held:
            policy = "Orphan"
        elif FOREGROUND in held:
            policy = "Foreground"
        else:
            policy = kind.default_propagation
    own = [one for one in held if one not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        own.append(ORPHAN)
    elif policy == "Foreground":
        own.append(FOREGROUND)
    return held if sorted(own) == sorted(held) else own
