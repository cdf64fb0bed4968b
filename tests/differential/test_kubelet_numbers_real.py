"""The real API server's node proxy, by which CPU and network of pods come where there is no Prometheus.

The bed's kubelets listen on loopback, where this proxy leads nobody (`address not allowed`): what can be seen
here is that the path is the right one, and that a refusal costs nothing. The numbers themselves are seen on
the embedded cluster (tests/unit/sim/kubelet/test_cadvisor.py).
"""

from pathlib import Path

import pytest

from cockpit.clock import SystemClock
from cockpit.errors import Refused
from cockpit.kube.session import SessionOptions, open_session
from cockpit.model.pod import Pod
from cockpit.telemetry.kubelets import KubeletPages
from tests.bed.bed import Bed
from tests.differential import test_kubelets_on_the_bed_real as kubelets

pytestmark = pytest.mark.real

bed, pki = kubelets.bed, kubelets.pki


async def test_the_path_is_the_real_servers_and_a_refusal_is_no_number(
    bed: Bed, pki: tuple[Path, Path], tmp_path: Path
) -> None:
    said: list[tuple[str, int, str]] = []
    worker = Pod(uid="u", namespace="default", name="waits", node="simulated")
    async with kubelets.kubelets_on(bed, pki, tmp_path) as port:
        tree = kubelets.pod("waits", "simulated", duration="forever", gpu_load="network-bound")
        await kubelets.create(port, tree)
        await kubelets.until_phase(port, "waits", "Running")
        options = SessionOptions(kubeconfig=str(bed.kubeconfig), read_only=False)
        session = await open_session(options, SystemClock())

        async def read(path: str, query: tuple[tuple[str, str], ...], most_bytes: int) -> bytes:
            answer = await session.request("GET", path, query=query, accept="*/*", limit_bytes=most_bytes)
            said.append((path, answer.status, answer.message()))
            raise Refused(answer.message())

        try:
            pages = KubeletPages(read, SystemClock())
            assert await pages.uses([worker]) == await pages.uses([worker]) == []
        finally:
            await session.close()
    ((path, status, message),) = said
    assert path == "/api/v1/nodes/simulated/proxy/metrics/cadvisor"
    assert (status, "address not allowed" in message) == (400, True), message
