"""The scripted estate with a pool that Karpenter sizes by itself, at zero, before a server that keeps what
asks for its nodes."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from tests.tui.estate import NOW
from tests.tui.why_app import GrowingApp, WhyEstate

POOL = "spot"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


class AskEstate(WhyEstate):
    """And the pool `spot` of machines with 8 GPUs."""

    def __init__(self, seed: int = 7) -> None:
        super().__init__(seed)
        self.add(
            Kind.POOL,
            PoolObject(
                uid="np-spot", name=POOL, resource_version="9", created_seconds=NOW - 86_400,
                api_version="karpenter.sh/v1", kind="NodePool", max_replicas=12,
                resource_path="/apis/karpenter.sh/v1/nodepools", instance_type="gpu-a100-8x",
                template_labels=(("karpenter.k8s.aws/instance-gpu-count", "8"),),
            ),
        )  # fmt: skip


class AskApp(GrowingApp):
    """Jobs that are made are there when they are listed; one that is deleted is gone."""

    def __init__(self, estate: AskEstate | None, **options: Any) -> None:
        super().__init__(estate, **options)
        self.jobs_made: list[dict[str, Any]] = []

    async def _answer(self, method: str, path: str, **more: Any) -> Any:
        is_real = ("dryRun", "All") not in (more.get("query") or ())
        found = await super()._answer(method, path, **more)
        if path == JOBS and method == "POST" and is_real:
            stamp = datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            made = {**more["body"]["metadata"], "uid": "u-ask", "creationTimestamp": stamp}
            self.jobs_made.append({**more["body"], "metadata": made})
        elif path.startswith(f"{JOBS}/") and method == "DELETE" and is_real:
            self.jobs_made.clear()
        if path == "/apis/batch/v1/jobs":
            return _told(200, {"items": list(self.jobs_made)})
        return _told(404, {}) if "/priorityclasses/" in path else found


def _told(status: int, tree: dict[str, Any]) -> SimpleNamespace:
    return SimpleNamespace(status=status, ok=status == 200, body=b"{}", json=lambda: tree, message=lambda: "")
