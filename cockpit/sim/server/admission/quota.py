"""ResourceQuota: what is used is kept up to date with every commit; what would exceed it is refused."""

from collections.abc import Callable, Iterable

from cockpit.kube.resource import PODS, Resource
from cockpit.sim.port import ChangeType, Tree
from cockpit.sim.resources import RESOURCE_QUOTAS
from cockpit.sim.server.admission.request import is_pod, is_same, namespace_of, refused
from cockpit.sim.server.admission.usage import (
    NONE,
    Selector,
    is_counted,
    is_in_scopes,
    selectors_of,
    unspecified,
    usage,
)
from cockpit.sim.server.quantity import Amounts, amounts
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Commit, Storage


class _Account:
    """One quota: its bounds, and what is used of them now."""

    def __init__(self, tree: Tree) -> None:
        self.name: str = tree["metadata"]["name"]
        self.hard: Amounts = amounts((tree.get("spec") or {}).get("hard"))
        self.selectors: tuple[Selector, ...] = selectors_of(tree)
        self.used: Amounts = dict.fromkeys(self.hard, NONE)

    def names(self, resource: Resource) -> list[str]:
        """Those of its bounds that objects of a resource use up."""
        return [name for name in sorted(self.hard) if is_counted(resource, name)]

    def share(self, resource: Resource, tree: Tree) -> Amounts:
        """What an object uses of this quota: {} outside its scopes."""
        if not is_in_scopes(resource, tree, self.selectors):
            return {}
        return {name: amount for name, amount in usage(resource, tree).items() if name in self.hard}

    def move(self, before: Amounts, after: Amounts) -> bool:
        """Takes off and adds; answers whether that changed anything."""
        if before == after:
            return False
        for name, amount in before.items():
            self.used[name] = self.used[name] - amount
        for name, amount in after.items():
            self.used[name] = self.used[name] + amount
        return True

    def status(self) -> Tree:
        """As the object shows it."""
        return {
            "hard": {name: str(amount) for name, amount in sorted(self.hard.items())},
            "used": {name: str(amount) for name, amount in sorted(self.used.items())},
        }


class Quotas:
    """The admission over all quotas, and the keeper of their status.

    `served` lists the resources of the moment as they are stored, each once, so that `count/...` of any of
    them works. Sums are moved by commits, so a write that fails after its admission leaves nothing behind;
    the status is written at once, as by the real server, and the controller's slower round is not needed. A
    pod whose grace period is over but which is still there goes on being counted.
    """

    def __init__(self, storage: Storage, served: Callable[[], Iterable[Resource]]) -> None:
        self._storage = storage
        self._served = served
        self._accounts: dict[str, dict[str, _Account]] = {}
        self._stops: dict[Resource, Callable[[], None]] = {}
        self._is_closed = False
        self._stop_quotas = storage.listen(RESOURCE_QUOTAS, self._quota_changed)
        for stored in list(storage.shelf(RESOURCE_QUOTAS).between("")):
            self._open(stored.key, stored.tree)

    def close(self) -> None:
        """Hear no more commits."""
        self._is_closed = True
        self._stop_quotas()
        for stop in self._stops.values():
            stop()
        self._stops = {}

    def refresh(self) -> None:
        """Look again at what is served: a quota may count a kind that was not there before."""
        if self._is_closed:
            return
        for stored in list(self._storage.shelf(RESOURCE_QUOTAS).between("")):
            self._open(stored.key, stored.tree)

    def used(self, namespace: str, name: str) -> dict[str, str]:
        """What is used of a quota, as its status shows it. Raises KeyError when there is none."""
        used: dict[str, str] = self._accounts[namespace][name].status()["used"]
        return used

    def __call__(self, request: Request, new: Tree, old: Tree | None) -> Tree:
        """The tree as it is. Raises PortError 403 for the first quota (by name) that it would exceed."""
        if not self._is_charged(request, old):
            return new
        accounts = self._accounts.get(namespace_of(request, new)) or {}
        for name in sorted(accounts):
            self._check(accounts[name], request, new, old)
        return new

    @staticmethod
    def _is_charged(request: Request, old: Tree | None) -> bool:
        if is_same(request.resource, PODS) and request.subresource == "resize":
            return True
        return not request.subresource and (old is None or not is_same(request.resource, RESOURCE_QUOTAS))

    def _check(self, account: _Account, request: Request, new: Tree, old: Tree | None) -> None:
        resource = request.resource
        names = account.names(resource)
        if not names or not is_in_scopes(resource, new, account.selectors):
            return
        if old is None and is_pod(request):
            lacking = unspecified(new.get("spec") or {}, names)
            if lacking:
                raise refused(request, new, f"failed quota: {account.name}: must specify {lacking}")
        before = account.share(resource, old) if old is not None else {}
        asked: Amounts = {}
        for name, amount in account.share(resource, new).items():
            more = amount - before[name] if name in before else amount
            if more.amount > 0:
                asked[name] = more
        over = [
            name
            for name, more in sorted(asked.items())
            if account.used[name].amount + more.amount > account.hard[name].amount
        ]
        if over:
            told = (
                ",".join(f"{name}={held[name]}" for name in over)
                for held in (asked, account.used, account.hard)
            )
            requested, used, limited = told
            why = f"exceeded quota: {account.name}, requested: {requested}, used: {used}, limited: {limited}"
            raise refused(request, new, why)

    # ---- what commits change

    def _quota_changed(self, commit: Commit) -> None:
        metadata = commit.after.tree["metadata"]
        if commit.type is ChangeType.DELETED:
            held = self._accounts.get(metadata["namespace"], {})
            held.pop(metadata["name"], None)
            if not held:
                self._accounts.pop(metadata["namespace"], None)
        # A quota is itself an object that another quota may count; a new one counts itself as it opens.
        self._charge(RESOURCE_QUOTAS, commit)
        if commit.type is ChangeType.DELETED:
            return
        if commit.before is None or commit.before.tree.get("spec") != commit.after.tree.get("spec"):
            self._open(commit.after.key, commit.after.tree)

    def _open(self, key: str, tree: Tree) -> None:
        """Sum up from the objects that are there, and go on from their commits."""
        namespace = tree["metadata"]["namespace"]
        account = _Account(tree)
        self._accounts.setdefault(namespace, {})[account.name] = account
        for resource in self._served():
            if not account.names(resource):
                continue
            if resource not in self._stops and not is_same(resource, RESOURCE_QUOTAS):
                self._stops[resource] = self._storage.listen(resource, self._listener(resource))
            for stored in self._storage.shelf(resource).between(namespace):
                account.move({}, account.share(resource, stored.tree))
        self._write(namespace, account)

    def _listener(self, resource: Resource) -> Callable[[Commit], None]:
        return lambda commit: self._charge(resource, commit)

    def _charge(self, resource: Resource, commit: Commit) -> None:
        namespace = commit.after.tree["metadata"].get("namespace", "")
        accounts = self._accounts.get(namespace)
        if not accounts:
            return
        for name in sorted(accounts):
            account = accounts[name]
            before = account.share(resource, commit.before.tree) if commit.before is not None else {}
            gone = commit.type is ChangeType.DELETED
            after = {} if gone else account.share(resource, commit.after.tree)
            if account.move(before, after):
                self._write(namespace, account)

    def _write(self, namespace: str, account: _Account) -> None:
        stored = self._storage.get(RESOURCE_QUOTAS, namespace, account.name)
        status = account.status()
        if stored is None or stored.tree.get("status") == status:
            return
        tree = {**stored.tree, "metadata": dict(stored.tree["metadata"]), "status": status}
        self._storage.put(RESOURCE_QUOTAS, stored.key, tree)
