"""Places in line as the real Kueue's visibility server tells them, read by the cockpit."""

import asyncio
import contextlib
import random
from collections.abc import Iterator

import pytest

from cockpit.attach import Attachment, AttachOptions
from cockpit.clock import SystemClock
from cockpit.model.record import Kind
from tests.bed import sandbox
from tests.bed.api import Api, Tree
from tests.bed.bed import Bed
from tests.bed.fixtures import fresh
from tests.bed.setup import apply_all

pytestmark = pytest.mark.real
SPACE = "places"
KUEUE = "kueue.x-k8s.io/v1beta1"
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """Real Kueue without nodes: a queue of four GPUs, and jobs of four that wait for it."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    for one in fresh({"kueue"}, request):
        _fill(one.api())
        yield one


def _fill(api: Api) -> None:
    quota: Tree = {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [{"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 4}]}],
    }
    queue = {"namespaceSelector": {}, "resourceGroups": [quota]}
    objects: list[Tree] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}},
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "h100"}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "research"}, "spec": queue},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": SPACE},
            "spec": {"clusterQueue": "research"},
        },
    ]
    for one in objects:
        apply_all(api, [one])
    for name in ("first", "second", "third"):
        apply_all(api, [_job(name)])


def _job(name: str) -> Tree:
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": 4}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {
            "suspend": True,
            "parallelism": 1,
            "completions": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


async def test_the_places_of_a_real_line_are_told_not_estimated(bed: Bed) -> None:
    moved = asyncio.Event()
    options = AttachOptions(kubeconfig=str(bed.kubeconfig))
    attachment = Attachment(options, SystemClock(), random.Random(1), moved.set)
    task = asyncio.create_task(attachment.run())

    def waiting() -> dict[str, tuple[int | None, bool]]:
        attachment.jobs.catch_up()
        jobs = attachment.jobs.jobs.values()
        return {one.name: (one.position, one.is_position_estimate) for one in jobs if one.state == "queued"}

    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while sorted(waiting().values(), key=str) != [(1, False), (2, False)]:  # None: not in line yet
                moved.clear()
                await moved.wait()
    except TimeoutError:
        pytest.fail(f"places {waiting()}, told {dict(attachment.store.records(Kind.PLACE))}")
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
