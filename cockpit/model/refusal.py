"""What a server said no with, as data. Sentences are made of it last, in `cockpit.actions.refusals`."""

import enum

import msgspec

from cockpit.model.right import Right


class By(enum.Enum):
    """Who, behind the API server, said no.

    Kubernetes names these in the message alone; `cockpit.kube.refusal` reads it there once.
    """

    SERVER = "server"  # the API server: status, reason and causes are complete
    WEBHOOK = "webhook"  # an admission webhook denied it
    WEBHOOK_DOWN = "webhook down"  # an admission webhook does not answer
    WEBHOOK_DRY_RUN = "webhook without dry run"  # it has side effects and keeps the server from dry runs
    POLICY = "policy"  # a ValidatingAdmissionPolicy denied it
    QUOTA = "quota"  # a ResourceQuota is used up
    RIGHTS = "rights"  # the authorizer: a right is missing
    BUDGETS = "budgets"  # several disruption budgets protect one pod, which an eviction refuses
    IMPERSONATION = "impersonation"  # the authorizer: the user behind may not act as the one that is named
    UID = "uid"  # the object was deleted and recreated: its uid is another


class StatusCause(msgspec.Struct, frozen=True):
    """One of Status.details.causes."""

    field: str = ""  # "spec.replicas"
    message: str = ""
    reason: str = ""  # "FieldValueInvalid", "NamespaceTerminating"


class ObjectRef(msgspec.Struct, frozen=True):
    """An object, as a path or Status.details names it: `resource` is the plural ("mpijobs"), which
    Status.details calls `kind`. Fields are "" if unknown."""

    resource: str = ""
    name: str = ""
    group: str = ""
    namespace: str = ""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A refused request.

    `status` is the HTTP status, 0 where the cockpit itself refused before anything was sent. `asked` is the
    object of the request, `subject` the one that the server speaks of: a namespace, for one.
    """

    status: int = 0
    reason: str = ""  # Status.reason: "Conflict", "AlreadyExists"
    message: str = ""  # the server's own words, cleaned
    causes: tuple[StatusCause, ...] = ()
    asked: ObjectRef = ObjectRef()
    subject: ObjectRef = ObjectRef()
    retry_after_seconds: float | None = None
    by: By = By.SERVER
    name: str = ""  # of the webhook, policy or quota behind `by`
    why: str = ""  # the reason that it gave
    right: Right | None = None  # what the authorizer found missing
    audit_id: str = ""  # of the answer: Audit-Id, by which the server's own audit log has it

    @property
    def is_taken(self) -> bool:
        """The name belongs to another object."""
        return self.reason == "AlreadyExists" and self.by is By.SERVER

    @property
    def is_changed(self) -> bool:
        """The object is newer than the request, and nothing else: nothing was done, plan it again."""
        is_conflict = self.status == 409 and self.reason in ("", "Conflict") and self.by is By.SERVER
        return is_conflict and not self.has_cause("FieldManagerConflict")

    @property
    def is_recreated(self) -> bool:
        """The object was deleted, and another one has its name."""
        return self.by is By.UID

    @property
    def is_gone(self) -> bool:
        """The object itself is not there. A kind or a namespace that is not there says nothing about it."""
        is_it = self.subject.resource in ("", self.asked.resource) or not self.asked.resource
        return self._is_missing and self.subject.name != "" and is_it

    @property
    def is_namespace_missing(self) -> bool:
        """The namespace of the object is not there."""
        return (
            self._is_missing
            and self.subject.resource == "namespaces"
            and self.asked.resource not in ("", "namespaces")
        )

    @property
    def _is_missing(self) -> bool:
        return self.status == 404 and self.reason == "NotFound" and self.by is By.SERVER

    def has_cause(self, reason: str) -> bool:
        """Whether one of the causes has this reason."""
        return any(cause.reason == reason for cause in self.causes)


class Remedy(enum.Enum):
    """What a person can do about a refusal; the value is how a sentence says it."""

    NONE = ""
    REFRESH = "refresh and retry"
    OTHER_NAME = "choose another name"
    OTHER_NAMESPACE = "choose another namespace"
    ASK_FOR_RIGHT = "ask for that right"
    LOG_IN = "log in again"
    LATER = "try again later"
