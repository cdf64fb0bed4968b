"""What the bed's kubectl makes of the exporter's kustomizations is what the contract suite rehearses."""

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.bed.cache import cache_root
from tests.contract.test_exporter_pods import KUSTOMIZE, VARIANTS, daemon_set

pytestmark = pytest.mark.real


@pytest.mark.parametrize("variant", VARIANTS)
def test_kustomize_makes_the_same_of_the_folder_as_we_do(variant: str) -> None:
    (program, *_) = sorted(cache_root().glob("*/kubectl"))
    done = subprocess.run(
        [program, "kustomize", str(KUSTOMIZE / variant)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    trees = {tree["kind"]: tree for tree in yaml.safe_load_all(done.stdout)}
    assert trees["DaemonSet"] == daemon_set(variant)
    assert trees["ServiceMonitor"]["spec"]["endpoints"][0]["honorLabels"] is True
    labels = {"app.kubernetes.io/name": "cockpit-exporter"}
    assert trees["Service"]["spec"]["selector"] == labels
    assert trees["ServiceMonitor"]["spec"]["selector"]["matchLabels"] == labels


def test_the_component_for_claims_adds_flag_token_and_rights(tmp_path: Path) -> None:
    (program, *_) = sorted(cache_root().glob("*/kubectl"))
    folder = tmp_path / "kustomize"
    shutil.copytree(KUSTOMIZE, folder)
    overlay = {
        "namespace": "gpu-monitoring",
        "resources": ["../with-attribution"],
        "components": ["../claims"],
    }
    (folder / "overlay").mkdir()
    (folder / "overlay/kustomization.yaml").write_text(yaml.safe_dump(overlay))
    command = [str(program), "kustomize", str(folder / "overlay")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    trees = {tree["kind"]: tree for tree in yaml.safe_load_all(done.stdout)}
    spec = trees["DaemonSet"]["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is True
    assert spec["containers"][0]["args"][-1] == "--resource-slices"
    assert trees["ClusterRoleBinding"]["subjects"][0]["namespace"] == "gpu-monitoring"
