"""What stands between a write and the storage: defaults, priorities, bounds, pod security, quotas."""

from collections.abc import Callable, Iterable

from cockpit.kube.resource import Resource
from cockpit.sim.port import Tree
from cockpit.sim.server.admission.limits import LimitRanges
from cockpit.sim.server.admission.pods import Accounts, keep_default_accounts, tolerate_outages
from cockpit.sim.server.admission.priority import PriorityAdmission, system_classes
from cockpit.sim.server.admission.quota import Quotas
from cockpit.sim.server.admission.security import PodSecurity
from cockpit.sim.server.request import Request
from cockpit.sim.server.storage import Storage

Admission = Callable[[Request, Tree, Tree | None], Tree]

__all__ = ["Admission", "Admissions", "keep_default_accounts", "system_classes"]


class Admissions:
    """The plugins of kube-apiserver that are served here, in its order: first those that write, then those
    that refuse. `chain` is what operations run; quotas come last and should stay last.

    `with_accounts` False leaves service accounts alone, as `--disable-admission-plugins ServiceAccount`;
    `with_quotas` False leaves quotas without status and effect, as they are while no controller runs.
    """

    def __init__(
        self,
        storage: Storage,
        served: Callable[[], Iterable[Resource]],
        *,
        with_accounts: bool = True,
        with_quotas: bool = True,
    ) -> None:
        self.security = PodSecurity(storage)
        self.quotas = Quotas(storage, served)
        if not with_quotas:
            self.quotas.close()
        self.chain: tuple[Admission, ...] = (
            *((Accounts(storage),) if with_accounts else ()),
            PriorityAdmission(storage),
            tolerate_outages,
            LimitRanges(storage),
            self.security,
            self.quotas,
        )

    def warnings(self, request: Request, new: Tree, old: Tree | None) -> tuple[str, ...]:
        """What the answer to an admitted write warns of (HTTP `Warning` headers)."""
        return self.security.warnings(request, new, old)

    def close(self) -> None:
        """Hear no more commits."""
        self.quotas.close()
