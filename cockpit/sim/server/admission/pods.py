"""Small things that every new pod gets: a service account, and tolerations of five minutes' outage."""

from collections.abc import Callable

from cockpit.kube.resource import NAMESPACES
from cockpit.sim.port import ChangeType, PortError, Tree
from cockpit.sim.resources import SERVICE_ACCOUNTS
from cockpit.sim.server.admission.request import is_pod, namespace_of, refused, with_spec
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Commit, Storage

DEFAULT_ACCOUNT = "default"
_OUTAGE_SECONDS = 300
_OUTAGES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Accounts:
    """Names the service account `default` where a pod names none, and refuses one that is not there.

    The volume with the account's token, which the real plugin adds, is left out: no container here reads it.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def __call__(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """The pod with its account. Raises PortError 403."""
        if not is_pod(request) or old is not None:
            return new
        name = (new.get("spec") or {}).get("serviceAccountName") or DEFAULT_ACCOUNT
        namespace = namespace_of(request, new)
        if self._storage.get(SERVICE_ACCOUNTS, namespace, name) is None:
            why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            raise refused(request, new, why)
        return with_spec(new, serviceAccountName=name, serviceAccount=name)


def keep_default_accounts(storage: Storage, create: Callable[[Request, Tree], object]) -> Callable[[], None]:
    """Every namespace has its account `default`, from now on; answers how to stop that.

    `create` is that of the server's operations. An account that is deleted comes back, as from the real
    controller, unless its namespace is going.
    """

    def make(namespace: str) -> None:
        tree = {"metadata": {"name": DEFAULT_ACCOUNT, "namespace": namespace}}
        try:
            create(Request(resource=SERVICE_ACCOUNTS, namespace=namespace, verb="create"), tree)
        except PortError as error:
            if not error.is_conflict:
                raise

    def namespace_changed(commit: Commit) -> None:
        if commit.type is ChangeType.ADDED:
            make(commit.after.tree["metadata"]["name"])

    def account_changed(commit: Commit) -> None:
        metadata = commit.after.tree["metadata"]
        if commit.type is not ChangeType.DELETED or metadata["name"] != DEFAULT_ACCOUNT:
            return
        home = storage.get(NAMESPACES, "", metadata["namespace"])
        if home is not None and not home.tree["metadata"].get("deletionTimestamp"):
            make(metadata["namespace"])

    for stored in list(storage.shelf(NAMESPACES).between("")):
        if storage.get(SERVICE_ACCOUNTS, stored.key, DEFAULT_ACCOUNT) is None:
            make(stored.key)
    stops = (
        storage.listen(NAMESPACES, namespace_changed),
        storage.listen(SERVICE_ACCOUNTS, account_changed),
    )

    def stop() -> None:
        for one in stops:
            one()

    return stop


def tolerate_outages(request: Request, new: Tree, old: Tree | None) -> Tree:
    """Adds the two tolerations of DefaultTolerationSeconds to a pod that does not say otherwise."""
    if not is_pod(request):
        return new
    given = (new.get("spec") or {}).get("tolerations") or []

    def is_met(key: str) -> bool:
        return any(
            one.get("key", "") in ("", key) and one.get("effect", "") in ("", "NoExecute") for one in given
        )

    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _OUTAGE_SECONDS}
        for key in _OUTAGES
        if not is_met(key)
    ]
    return with_spec(new, tolerations=[*given, *added]) if added else new
