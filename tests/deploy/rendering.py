"""What is in deploy/, and what kustomize and helm make of it."""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.bed.builder import ensure

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
CHART = DEPLOY / "chart/cockpit-exporter"
FILES = CHART / "files"
NAMESPACE = "gpu-monitoring"
KUBERNETES = "1.36.0"
RENDER_SECONDS = 60.0
Tree = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """One deployment in both ways: folders below deploy/ for kustomize, and values for the chart."""

    name: str
    base: str
    components: tuple[str, ...] = ()
    values: Tree = field(default_factory=dict)


_FILES = "chart/cockpit-exporter/files"
VARIANTS = (
    Variant("with attribution", "kustomize/with-attribution"),
    Variant("non-root", "kustomize/non-root", (), {"attribution": False}),
    Variant(
        "everything",
        "kustomize/with-attribution",
        (
            "kustomize/network-policy",
            "kustomize/claims",
            "kustomize/host-processes",
            "kustomize/service-monitor",
            f"{_FILES}/recording-rules",
            f"{_FILES}/alert-rules",
            f"{_FILES}/dashboard",
        ),
        {
            "claims": True,
            "hostProcesses": True,
            "serviceMonitor": {"enabled": True},
            "rules": {"recording": True, "alerts": True},
            "dashboard": {"enabled": True},
            "networkPolicy": {"enabled": True},
        },
    ),
    Variant(
        "pods scraped, closed network",
        "kustomize/non-root",
        ("kustomize/network-policy", "kustomize/pod-monitor"),
        {"attribution": False, "podMonitor": {"enabled": True}, "networkPolicy": {"enabled": True}},
    ),
)


def documents(text: str) -> list[Tree]:
    """All objects of a stream of YAML documents."""
    return [tree for tree in yaml.safe_load_all(text) if tree]


def kustomized(variant: Variant, folder: Path) -> list[Tree]:
    """What kubectl's kustomize makes of an overlay as deploy/README.md shows one, in an empty `folder`."""
    shutil.copytree(DEPLOY, folder / "deploy")
    overlay = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": NAMESPACE,
        "resources": [f"../deploy/{variant.base}"],
        "components": [f"../deploy/{name}" for name in variant.components],
    }
    (folder / "overlay").mkdir()
    (folder / "overlay/kustomization.yaml").write_text(yaml.safe_dump(overlay))
    command = [str(ensure("kubectl").path), "kustomize", str(folder / "overlay")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RENDER_SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    return documents(done.stdout)


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the real helm."""
    command = [str(ensure("helm").path), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=RENDER_SECONDS)


def templated(values: Tree, folder: Path, *more: str) -> list[Tree]:
    """What helm makes of the chart with these values; the release is called cockpit-exporter."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    where = ["--namespace", NAMESPACE, "--kube-version", KUBERNETES, "--values", str(file)]
    done = helm("template", "cockpit-exporter", str(CHART), *where, *more)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


def comparable(trees: Iterable[Tree]) -> dict[tuple[str, str], Tree]:
    """Objects by kind and name, without their namespace, which helm leaves to the request, and without the
    labels by which Helm says that it manages them."""
    found = {}
    for tree in trees:
        meta = dict(tree["metadata"])
        meta.pop("namespace", None)
        labels = dict(meta.get("labels", {}))
        for name in ("app.kubernetes.io/managed-by", "helm.sh/chart"):
            labels.pop(name, None)
        found[tree["kind"], meta["name"]] = tree | {"metadata": meta | {"labels": labels}}
    return found


def folders_with(name: str, below: Sequence[Path] = (DEPLOY,)) -> list[Path]:
    """Folders that hold a file of that name."""
    return sorted(path.parent for folder in below for path in folder.rglob(name))
