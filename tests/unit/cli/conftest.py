"""Each test has its own home, and a cluster that answers at once where it asks for one."""

from pathlib import Path

import pytest

from tests.unit.cli.builders import Cluster, patch


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
