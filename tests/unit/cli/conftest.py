"""Each test has its own home, and a cluster that answers at once where it asks for one."""

from pathlib import Path

import msgspec
import pytest

from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, patch
from tests.unit.pools.builders import node
from tests.unit.views.builders import pod

NO_ROOM = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of this test's own; returns it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / "config" / "gpu-cockpit").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A cluster in the place of the network."""
    return patch(monkeypatch)


@pytest.fixture
def waiting(cluster: Cluster) -> Cluster:
    """Two nodes, and a pod that is larger than either."""
    cluster.add(Kind.NODE, *(node(name, pool="h100", gpus=8) for name in ("n1", "n2")))
    reason = {"scheduled": "False", "scheduled_reason": "Unschedulable", "scheduled_message": NO_ROOM}
    cluster.add(Kind.POD, msgspec.structs.replace(pod("big", phase="Pending", gpus=16), node="", **reason))
    return cluster
