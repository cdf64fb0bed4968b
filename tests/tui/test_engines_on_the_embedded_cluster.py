"""Gangs of Kueue's shape, coscheduling and the native gang on the embedded cluster: the real engines' tests.

By keys in a pseudo-terminal, the truth over HTTPS past the cockpit (`engine_life`, `engine_ways`).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.embedded import embedded
from tests.tui.emulated import Emulated
from tests.tui.engine_ground import Embedded
from tests.tui.engine_life import bare_pods, half_binds, life
from tests.tui.engine_ways import BY_QUOTA, COSCHEDULING, KUEUE_JOB, KUEUE_MPIJOB, NATIVE

pytestmark = pytest.mark.waits

HERE = Path(__file__).parent


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Embedded]:
    """Two nodes of eight GPUs in a child process that ends with this test."""
    with embedded(tmp_path / "cluster", HERE / "engines.yaml", 30) as kubeconfig:
        yield Embedded(kubeconfig)


@pytest.fixture
def terminal(cluster: Embedded, tmp_path: Path) -> Iterator[Emulated]:
    environment = {"KUBECONFIG": str(cluster.kubeconfig)}
    with Emulated(tmp_path, ["--write"], environment) as opened:
        opened.until("live · rw", "2 nodes")
        yield opened


def test_a_job_under_kueue(terminal: Emulated, cluster: Embedded) -> None:
    life(terminal, cluster, KUEUE_JOB, "kue")


def test_an_mpijob_under_kueue(terminal: Emulated, cluster: Embedded) -> None:
    life(terminal, cluster, KUEUE_MPIJOB, "mpi")


def test_a_gang_of_coscheduling(terminal: Emulated, cluster: Embedded) -> None:
    life(terminal, cluster, COSCHEDULING, "cos")


def test_a_gang_of_bare_pods_cannot_be_held_and_says_so(terminal: Emulated, cluster: Embedded) -> None:
    bare_pods(terminal, cluster, "bare")


def test_a_gang_of_the_native_engine(terminal: Emulated, cluster: Embedded) -> None:
    life(terminal, cluster, NATIVE, "nat")


def test_without_places_in_its_quota_a_gang_half_binds_and_the_form_warned(
    terminal: Emulated, cluster: Embedded
) -> None:
    widened = {"name": "nvidia.com/gpu", "nominalQuota": "64"}
    path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/research"
    (group,) = cluster.api.get(path)["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    quotas = [widened, *(one for one in flavor["resources"] if one["name"] != widened["name"])]
    groups = [{**group, "flavors": [{**flavor, "resources": quotas}]}]
    cluster.api.merge(path, {"spec": {"resourceGroups": groups}})
    half_binds(terminal, cluster, BY_QUOTA, "half")
