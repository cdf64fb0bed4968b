"""Nobody grants what they do not hold: the check on writes of roles and bindings."""

from cockpit.sim.port import PortError, Tree
from cockpit.sim.server.request import Request, User
from cockpit.sim.server.rights.attributes import MASTERS, Attributes, quoted, quoted_all, refusal
from cockpit.sim.server.rights.authoriser import EVERY_PATH, EVERYTHING, Authoriser
from cockpit.sim.server.rights.rules import Rule, missing, rules_of

_GROUP = "rbac.authorization.k8s.io"
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")


class Escalation:
    """The check as an admission: `(request, new, old) -> new`."""

    def __init__(self, authoriser: Authoriser) -> None:
        self._authoriser = authoriser

    def __call__(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """The tree as it is. Raises PortError 403, or 404 for a binding to a role that is not there."""
        if request.resource.group == _GROUP and not request.subresource:
            refuse_escalation(
                self._authoriser,
                request.user,
                request.resource.plural,
                namespace=request.namespace,
                new=new,
                old=old,
            )
        return new


def refuse_escalation(
    authoriser: Authoriser, user: User, resource: str, *, namespace: str, new: Tree, old: Tree | None
) -> None:
    """Raises PortError 403 when `user` would grant rights beyond their own by writing `new`.

    `resource` is the plural of one of the four RBAC kinds (others pass); `old` is None for a create. The
    verbs `escalate` (on roles) and `bind` (on the role that a binding names) lift the check, as in the
    real server (pkg/registry/rbac).
    """
    if MASTERS in user.groups or (old is not None and _without_upkeep(old) == _without_upkeep(new)):
        return
    if resource in _ROLES:
        _check_role(authoriser, user, resource, namespace=namespace, new=new, old=old)
    elif resource in _BINDINGS:
        _check_binding(authoriser, user, resource, namespace, new)


_UPKEEP = ("finalizers", "ownerReferences", "managedFields", "resourceVersion", "generation")


def _without_upkeep(tree: Tree) -> Tree:
    """The object without what a garbage collector must be able to change whatever it may grant."""
    metadata = {name: value for name, value in tree["metadata"].items() if name not in _UPKEEP}
    return {**tree, "metadata": metadata}


def _check_role(
    authoriser: Authoriser, user: User, resource: str, *, namespace: str, new: Tree, old: Tree | None
) -> None:
    name = new["metadata"].get("name", "")
    # A create names no object in its request, so `escalate` limited to names does not lift the check then.
    asked = Attributes("escalate", _GROUP, resource, "", namespace, name if old is not None else "")
    if authoriser.decide(user, asked).allowed:
        return
    why = _why_not(authoriser, user, namespace, rules_of(new))
    if why:
        raise refusal(_GROUP, resource, name, why)
    aggregates = any(one.get("aggregationRule") for one in (new, old or {}))
    if aggregates and _why_not(authoriser, user, "", (EVERYTHING, EVERY_PATH)):
        raise refusal(_GROUP, resource, name, "must have cluster-admin privileges to use the aggregationRule")


def _check_binding(authoriser: Authoriser, user: User, resource: str, namespace: str, new: Tree) -> None:
    reference = new["roleRef"]
    plural = "roles" if reference["kind"] == "Role" else "clusterroles"
    asked = Attributes("bind", _GROUP, plural, "", namespace, reference["name"])
    if authoriser.decide(user, asked).allowed:
        return
    rules = authoriser.rules_of_role(reference["kind"], namespace, reference["name"])
    if rules is None:
        # The real server names the role as if it were a binding.
        raise PortError(404, "NotFound", f"{resource}.{_GROUP} {quoted(reference['name'])} not found")
    why = _why_not(authoriser, user, namespace, rules)
    if why:
        raise refusal(_GROUP, resource, new["metadata"].get("name", ""), why)


def _why_not(authoriser: Authoriser, user: User, namespace: str, wanted: tuple[Rule, ...]) -> str:
    """The sentence that names what the user lacks, or ""."""
    held = authoriser.held(user, namespace)
    lacking = missing([rule for _, rule in held.rules], wanted)
    if not lacking:
        return ""
    lines = "\n".join(sorted({str(rule) for rule in lacking}))
    why = (
        f"user {quoted(user.name)} (groups={quoted_all(user.groups)}) is attempting to grant RBAC permissions"
        f" not currently held:\n{lines}"
    )
    if held.errors:
        errors = held.errors[0] if len(held.errors) == 1 else "[" + ", ".join(held.errors) + "]"
        why += f"; resolution errors: [{errors}]"
    return why
