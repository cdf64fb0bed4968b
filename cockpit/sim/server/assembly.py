"""The server without HTTP: storage, kinds, admissions, rights, and what is there from the start."""

from random import Random

import msgspec

from cockpit.clock import Clock
from cockpit.kube.resource import NAMESPACES, Resource
from cockpit.sim.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    PRIORITY_CLASSES,
    ROLE_BINDINGS,
)
from cockpit.sim.server.admission import Admissions, keep_default_accounts, system_classes
from cockpit.sim.server.builtin.table import built_in
from cockpit.sim.server.custom_kinds import CustomKinds
from cockpit.sim.server.kinds import ServedKind
from cockpit.sim.server.operations import Operations
from cockpit.sim.server.rbac.authoriser import RBAC_RESOURCES, Authoriser
from cockpit.sim.server.rbac.bootstrap import bootstrap_objects
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

NAMESPACES_AT_START = ("default", "kube-node-lease", "kube-public", "kube-system", "team-a", "team-b")
ENGINEER_NAMESPACE = "team-a"
_BY_KIND = {
    "ClusterRole": CLUSTER_ROLES,
    "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS,
    "RoleBinding": ROLE_BINDINGS,
}


class Assembled(msgspec.Struct, frozen=True, eq=False):
    """A server's inner parts; `operations` is where everything is asked of it."""

    operations: Operations
    authoriser: Authoriser


def assemble(
    clock: Clock, random: Random, *, has_accounts: bool = True, has_quotas: bool = True
) -> Assembled:
    """A server with its own objects in it and nothing else.

    `has_accounts`: every namespace has the service account `default`, and its pods get that one.
    `has_quotas`: quotas have a status and are kept.
    """
    storage = Storage()
    kinds = built_in()
    for kind in review_kinds():
        kinds.add(kind)
    operations = Operations(storage, kinds, clock, random)
    authoriser = Authoriser(lambda resource: (one.tree for one in storage.shelf(resource).between("")))
    _admit(operations, has_accounts=has_accounts, has_quotas=has_quotas)
    for resource in RBAC_RESOURCES:
        storage.listen(resource, lambda commit: authoriser.changed(commit.resource))
    CustomKinds(operations)
    _create_own(operations)
    if has_accounts:
        keep_default_accounts(storage, operations.create)
    return Assembled(operations, authoriser)


def review_kinds() -> list[ServedKind]:
    """The reviews: asked by a POST, answered at once, never stored."""
    access, authentication = "authorization.k8s.io", "authentication.k8s.io"
    named = (
        (access, "LocalSubjectAccessReview", True),
        (access, "SelfSubjectAccessReview", False),
        (access, "SelfSubjectRulesReview", False),
        (access, "SubjectAccessReview", False),
        (authentication, "SelfSubjectReview", False),
    )
    return [
        ServedKind(
            resource=Resource(group, "v1", f"{kind.lower()}s", kind, namespaced=namespaced),
            singular=kind.lower(),
            verbs=("create",),
        )
        for group, kind, namespaced in named
    ]


def _admit(operations: Operations, *, has_accounts: bool, has_quotas: bool) -> None:
    """Sets up what stands between a write and the storage, and what is warned of."""
    kinds = operations.kinds
    admissions = Admissions(
        operations.storage,
        lambda: dict.fromkeys(kind.shelf for kind in kinds),
        with_accounts=has_accounts,
        with_quotas=has_quotas,
    )
    operations.admissions += admissions.chain
    operations.warners.append(admissions.warnings)
    kinds.listeners.append(admissions.quotas.refresh)


def _create_own(operations: Operations) -> None:
    for name in NAMESPACES_AT_START:
        operations.create(Request(resource=NAMESPACES, verb="create"), {"metadata": {"name": name}})
    for tree in system_classes():
        operations.create(Request(resource=PRIORITY_CLASSES, verb="create"), tree)
    for tree in bootstrap_objects((ENGINEER_NAMESPACE,)):
        namespace = tree["metadata"].get("namespace", "")
        resource = _BY_KIND[tree["kind"]]
        operations.create(Request(resource=resource, namespace=namespace, verb="create"), tree)
