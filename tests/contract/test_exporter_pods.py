"""The exporter's Pods in a namespace that enforces the restricted pod security level."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.sim.server.patch.strategic import strategic
from cockpit.sim.server.schema.kinds import shape_of
from tests.bed.api import Api, Reply
from tests.contract.asking import in_space
from tests.reliability.figures import Tell

ROOT = Path(__file__).resolve().parents[2]
KUSTOMIZE = ROOT / "deploy/kustomize"
README = ROOT / "deploy/README.md"
VARIANTS = ("non-root", "with-attribution")
Tree = dict[str, Any]


def daemon_set(variant: str) -> Tree:
    """The variant's DaemonSet: the base's, its labels, and the variant's own patches."""
    told = yaml.safe_load((KUSTOMIZE / variant / "kustomization.yaml").read_text())
    base = yaml.safe_load((KUSTOMIZE / "base/kustomization.yaml").read_text())
    tree: Tree = yaml.safe_load((KUSTOMIZE / "base/daemonset.yaml").read_text())
    selected, others = (one["pairs"] for one in base["labels"])
    tree["metadata"]["labels"] = selected | others
    tree["spec"]["selector"] = {"matchLabels": selected}
    tree["spec"]["template"]["metadata"] = {"labels": selected | others}
    (container,) = tree["spec"]["template"]["spec"]["containers"]
    container["image"] += f":{base['images'][0]['newTag']}"
    shape = shape_of("apps", "v1", "DaemonSet")
    for one in told.get("patches", ()):
        patch = yaml.safe_load((KUSTOMIZE / variant / one["path"]).read_text())
        tree = strategic(tree, patch, shape)
    return tree


def pod_of(tree: Tree, name: str) -> Tree:
    template = tree["spec"]["template"]
    meta = {**template["metadata"], "name": name}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


def documented(variant: str) -> list[str]:
    """The violations that README.md lists for the variant."""
    section = README.read_text().split(f"#### {variant}\n", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^- `(.+)`$", section, re.MULTILINE)


@pytest.fixture
def restricted(space: str, admin: Api) -> Iterator[str]:
    """A namespace that enforces the level, with what the Pods name."""
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    admin.merge(f"/api/v1/namespaces/{space}", {"metadata": {"labels": label}})
    admin.create(in_space(space, "serviceaccounts"), {"metadata": {"name": "cockpit-exporter"}})
    runtime = {"metadata": {"name": "nvidia"}, "handler": "nvidia"}
    made = admin.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtime)
    yield space
    if made.status == 201:
        admin.delete("/apis/node.k8s.io/v1/runtimeclasses/nvidia")


def rehearsed(admin: Api, path: str, tree: Tree) -> Reply:
    return admin.request("POST", path, tree, query=(("dryRun", "All"),))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_rehearsed_pod_is_refused_with_exactly_the_documented_violations(
    restricted: str, admin: Api, variant: str
) -> None:
    wanted = documented(variant)
    reply = rehearsed(admin, in_space(restricted, "pods"), pod_of(daemon_set(variant), "exporter-x"))
    if not wanted:
        assert reply.status == 201, reply.body
        return
    message = reply.json()["message"]
    head = 'pods "exporter-x" is forbidden: violates PodSecurity "restricted:latest": '
    assert (reply.status, message) == (403, head + ", ".join(wanted))


@pytest.mark.row(63, "pods admitted by the restricted level", least=1)
@pytest.mark.row(63, "of root, writable root, capabilities, token: what the pod has", most=0)
def test_the_pod_that_is_for_restricted_namespaces_is_admitted(
    restricted: str, admin: Api, figure: Tell
) -> None:
    tree = pod_of(daemon_set("non-root"), "exporter-x")
    reply = rehearsed(admin, in_space(restricted, "pods"), tree)
    figure("pods admitted by the restricted level", int(reply.status == 201))
    spec = reply.json()["spec"]
    had = [
        not spec["securityContext"]["runAsNonRoot"] or not spec["securityContext"]["runAsUser"],
        spec["automountServiceAccountToken"] is not False,
        any("serviceAccountToken" in str(volume) for volume in spec.get("volumes", ())),
    ]
    for container in spec["containers"]:
        rules = container["securityContext"]
        had += [
            not rules["readOnlyRootFilesystem"],
            rules["allowPrivilegeEscalation"],
            rules["capabilities"] != {"drop": ["ALL"]},
        ]
    figure("of root, writable root, capabilities, token: what the pod has", sum(had))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_rehearsed_daemon_set_is_only_warned_about(restricted: str, admin: Api, variant: str) -> None:
    path = f"/apis/apps/v1/namespaces/{restricted}/daemonsets"
    reply = rehearsed(admin, path, daemon_set(variant))
    assert reply.status == 201, reply.body
    warned = "".join(reply.warnings).replace('\\"', '"')
    assert ("PodSecurity" in warned) == bool(documented(variant))
    assert ", ".join(documented(variant)) in warned


def test_every_other_manifest_is_taken(space: str, admin: Api) -> None:
    for path in ("base/service.yaml", "base/rbac.yaml", "claims/rbac.yaml"):
        for tree in yaml.safe_load_all((KUSTOMIZE / path).read_text()):
            if tree["kind"] == "Service":
                tree["spec"]["selector"] = {"app.kubernetes.io/name": "cockpit-exporter"}
            if not tree["kind"].startswith("ClusterRole"):
                tree["metadata"]["namespace"] = space
            where = admin.path_of(tree).rsplit("/", 1)[0]
            reply = rehearsed(admin, where, tree)
            assert reply.status == 201, (path, reply.body)
