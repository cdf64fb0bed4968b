"""What stands between a write and the storage: accounts, priorities and tolerations of pods."""

from collections.abc import Callable

from cockpit.sim.port import Tree
from cockpit.sim.server.admission.pods import Accounts, keep_default_accounts, tolerate_outages
from cockpit.sim.server.admission.priority import PriorityAdmission, system_classes
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

Admission = Callable[[Request, Tree, Tree | None], Tree]

__all__ = ["Admission", "admissions", "keep_default_accounts", "system_classes"]


def admissions(storage: Storage, *, with_accounts: bool = True) -> list[Admission]:
    """The plugins of kube-apiserver that are served here, in its order.

    `with_accounts` False leaves service accounts alone, as `--disable-admission-plugins ServiceAccount`.
    """
    accounts: list[Admission] = [Accounts(storage)] if with_accounts else []
    return [*accounts, PriorityAdmission(storage), tolerate_outages]
