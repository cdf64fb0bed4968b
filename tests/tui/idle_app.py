"""The scripted estate with two nodes of a pool that nobody has used for a while, and the machines behind."""

from typing import Any, Final

from cockpit.model.pool import Machine
from cockpit.model.record import Kind
from cockpit.pools.idle import EmptyWatch
from tests.tui.estate import NOW, Estate
from tests.tui.why_app import GrowingApp

IDLE: Final = ("gpu-a100-09", "gpu-a100-10")
IDLE_SECONDS: Final = 2_520.0


class IdleEstate(Estate):
    """Two idle nodes of the a100 pool, whose Machines are seen."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        for name in IDLE:
            self.add(
                Kind.MACHINE,
                Machine(
                    uid=f"machine-{name}", name=name.removeprefix("gpu-"), namespace="fleet",
                    resource_version="9", api_version="cluster.x-k8s.io/v1beta1", kind="Machine", node=name,
                    resource_path="/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machines",
                    pool_kind="MachineDeployment", pool_key="fleet/a100",
                ),
            )  # fmt: skip


class IdleApp(GrowingApp):
    """A cockpit that has looked at them for 42 minutes."""

    def __init__(self, estate: Estate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        assert not self.pool_watch.empty_since, "it has just begun"
        self.pool_watch.empty = EmptyWatch(gap_seconds=10 * IDLE_SECONDS)
        self.pool_watch.empty.look(self.attachment.store, NOW - IDLE_SECONDS)
