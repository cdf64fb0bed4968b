"""deploy/triage: what it starts is what the command line takes, with rights that are there."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.cli import build_parser
from cockpit.commands.findings_out import address
from cockpit.local_state.config import load_settings
from cockpit.local_state.paths import config_folder, state_folder
from tests.deploy.rendering import NAMESPACE, Variant, kustomized

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    folder = DEPLOY / "triage"
    names = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted(names) == sorted(
        path.name for path in folder.glob("*.yaml") if path.stem != "kustomization"
    )
    trees = [tree for name in names for tree in yaml.safe_load_all((folder / name).read_text())]
    return {f"{tree['kind']}/{tree['metadata']['name']}": tree for tree in trees}


def container(objects: dict[str, Any]) -> Any:
    return objects["Deployment/gpu-cockpit-triage"]["spec"]["template"]["spec"]["containers"][0]


def test_the_arguments_are_those_of_the_command_line(objects: dict[str, Any]) -> None:
    options = build_parser().parse_args(container(objects)["args"])
    assert (options.command, options.watch) == ("triage:run", True)
    [port] = container(objects)["ports"]
    assert address(options.metrics_listen) == ("0.0.0.0", port["containerPort"])
    assert not options.__dict__.get("write")


def test_state_and_configuration_are_where_they_are_mounted(objects: dict[str, Any], tmp_path: Path) -> None:
    environment = {item["name"]: item["value"] for item in container(objects)["env"]}
    mounts = {item["name"]: Path(item["mountPath"]) for item in container(objects)["volumeMounts"]}
    assert state_folder(environment).is_relative_to(mounts["state"])
    assert config_folder(environment) / "config.toml" == mounts["config"]
    example = tmp_path / "config.toml"
    example.write_text('[findings]\nalertmanager = "http://alertmanager.monitoring:9093"\n')
    assert load_settings(example).findings.alertmanager


def test_it_has_the_roles_of_a_reader(objects: dict[str, Any]) -> None:
    there = {
        tree["metadata"]["name"]
        for name in ("viewer", "metrics")
        for tree in yaml.safe_load_all((DEPLOY / "roles" / f"{name}.yaml").read_text())
    }
    bound = {tree["roleRef"]["name"] for tree in objects.values() if tree["kind"] == "ClusterRoleBinding"}
    assert bound == there
    accounts = {tree["subjects"][0]["name"] for tree in objects.values() if "subjects" in tree}
    pod = objects["Deployment/gpu-cockpit-triage"]["spec"]["template"]["spec"]
    assert accounts == {pod["serviceAccountName"]} == {"gpu-cockpit-triage"}


@pytest.mark.real
def test_kustomize_makes_it_with_labels(objects: dict[str, Any], tmp_path: Path) -> None:
    made = kustomized(Variant("triage", "triage"), tmp_path)
    assert {f"{tree['kind']}/{tree['metadata']['name']}" for tree in made} == set(objects)
    for tree in made:
        assert tree["metadata"]["labels"]["app.kubernetes.io/component"] == "triage"
    [deployment] = [tree for tree in made if tree["kind"] == "Deployment"]
    [service] = [tree for tree in made if tree["kind"] == "Service"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    assert {tree["subjects"][0]["namespace"] for tree in made if "subjects" in tree} == {NAMESPACE}


def test_there_is_one_of_it(objects: dict[str, Any]) -> None:
    spec = objects["Deployment/gpu-cockpit-triage"]["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
