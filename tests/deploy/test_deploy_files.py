"""deploy/ is whole and true: labels, versions, switches, and metrics that the exporter has."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from cockpit_exporter.families import CARD_FAMILIES, DEVICE_LABELS, FAMILIES, HOLDER_LABELS, MIG_LABELS

from tests.deploy.promql import matchers_in, metrics_in, queries_in, rules_in
from tests.deploy.rendering import CHART, DEPLOY, FILES, KUSTOMIZE, VARIANTS, folders_with
from tests.release.bill_of_materials import COCKPIT

RECORDING = FILES / "recording-rules/prometheusrule.yaml"
ALERTS = FILES / "alert-rules/prometheusrule.yaml"
DASHBOARD = FILES / "dashboard/gpu-fleet.json"
CONTAINERS = sorted((DEPLOY / "containers").glob("*.Containerfile"))
RECOMMENDED = {
    f"app.kubernetes.io/{name}" for name in ("name", "instance", "component", "part-of", "version")
}
NO_OBJECTS = ("kustomization.yaml", "values.yaml", "Chart.yaml")
RECORDED = {rule["record"] for rule in rules_in(RECORDING)}
VERSIONS = re.compile(
    r'(?:/version: |^version: |appVersion: |newTag: |image\.version=)"?([\d.]+)"?', re.MULTILINE
)
TARGET_LABELS = {"node", "instance", "job"}
"""Labels that the scrape itself gives: the monitors of deploy/ set `node`."""
EXPRESSIONS = [
    *(pytest.param(rule["expr"], id=rule["record"]) for rule in rules_in(RECORDING)),
    *(pytest.param(rule["expr"], id=rule["alert"]) for rule in rules_in(ALERTS)),
    *(pytest.param(query, id=f"dashboard-{number}") for number, query in enumerate(queries_in(DASHBOARD))),
]


def manifests() -> list[tuple[Path, dict]]:  # type: ignore[type-arg]
    """Every whole object that deploy/ holds, with its file."""
    paths = [
        path
        for path in DEPLOY.rglob("*.yaml")
        if "templates" not in path.parts and path.name not in NO_OBJECTS
    ]
    return [(path, tree) for path in sorted(paths) for tree in yaml.safe_load_all(path.read_text())]


def test_every_manifest_is_an_object() -> None:
    found = manifests()
    assert len(found) > 12
    for path, tree in found:
        assert {"apiVersion", "kind", "metadata"} <= set(tree), path


def test_what_no_base_labels_has_the_recommended_labels_itself() -> None:
    for path, tree in manifests():
        if path.parent in (KUSTOMIZE / "base", KUSTOMIZE / "with-attribution", DEPLOY / "triage"):
            continue  # labelled by the kustomization of the base, or their own
        labels = set(tree["metadata"].get("labels", {}))
        wanted = RECOMMENDED - ({"app.kubernetes.io/instance"} if path.parent.name == "roles" else set())
        assert wanted <= labels, f"{path}: {wanted - labels}"


def test_the_base_needs_nothing_but_kubernetes() -> None:
    for variant in ("base", "non-root", "with-attribution"):
        text = "".join(path.read_text() for path in (KUSTOMIZE / variant).glob("*.yaml"))
        assert "monitoring.coreos.com" not in text
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert not any(values[kind]["enabled"] for kind in ("serviceMonitor", "podMonitor", "networkPolicy"))
    assert not values["rules"]["recording"] and not values["rules"]["alerts"]


def test_every_kustomization_names_files_that_exist_and_is_rendered_by_a_variant() -> None:
    rendered = {name for variant in VARIANTS for name in (variant.base, *variant.components)}
    rendered.add("triage")  # test_triage_files
    for folder in folders_with("kustomization.yaml"):
        tree = yaml.safe_load((folder / "kustomization.yaml").read_text())
        for name in tree.get("resources", ()):
            assert (folder / name).exists(), f"{folder}: {name}"
        listed = {"kustomization.yaml", *tree.get("resources", ())}
        listed |= {patch["path"] for patch in tree.get("patches", ()) if "path" in patch}
        listed |= {name for made in tree.get("configMapGenerator", ()) for name in made["files"]}
        assert {path.name for path in folder.iterdir()} <= listed, f"{folder}: a file that nothing lists"
        relative = str(folder.relative_to(DEPLOY))
        assert relative == "kustomize/base" or relative in rendered, relative


@pytest.mark.parametrize("path", [path for path in DEPLOY.rglob("*") if path.is_file()], ids=str)
def test_every_version_is_that_of_the_distribution(path: Path) -> None:
    text = path.read_text()
    told = VERSIONS.findall(text)
    assert set(told) <= {COCKPIT.version()}


def test_the_chart_says_its_version() -> None:
    tree = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (tree["version"], tree["appVersion"]) == (COCKPIT.version(),) * 2


def test_every_value_is_in_the_schema_and_used_by_a_template() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    templates = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    assert set(schema["properties"]) - {"global"} == set(values)
    assert schema["additionalProperties"] is False
    for name, value in values.items():
        assert f".Values.{name}" in templates, name
        inner = schema["properties"][name].get("properties")
        if inner is not None:
            assert set(inner) == set(value), name


def labels_of(metric: str) -> set[str]:
    """Every label that a series of the metric can have."""
    labels = set(FAMILIES[metric].labels) | TARGET_LABELS
    if metric in {family.name for family in CARD_FAMILIES.values()}:
        labels |= {*DEVICE_LABELS, *MIG_LABELS, *HOLDER_LABELS}
    return labels


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_is_one_that_the_exporter_has_or_a_rule_records(expression: str) -> None:
    names = metrics_in(expression)
    assert names, expression
    assert names <= set(FAMILIES) | RECORDED
    for metric, label in matchers_in(expression):
        if metric in FAMILIES:
            assert label in labels_of(metric), f"{metric} has no label {label}"


def test_names_that_the_exporter_lacks_are_found() -> None:
    asked = 'sum by (node) (rate(cockpit_gpu_watts{node="a b"}[5m])) / on (node) up > bool 0.5'
    assert metrics_in(asked) == {"cockpit_gpu_watts", "up"}
    assert list(matchers_in(asked)) == [("cockpit_gpu_watts", "node")]


def test_alerts_say_how_grave_they_are_and_what_to_do() -> None:
    rules = rules_in(ALERTS)
    assert len({rule["alert"] for rule in rules}) == len(rules) >= 12
    for rule in rules:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"] and rule["annotations"]["description"].endswith(".")


def test_panels_of_the_dashboard_do_not_overlap() -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in panels}) == len(panels)


def bases_of(paths: Iterable[Path]) -> set[str]:
    """What the images are made of, unless a person says otherwise."""
    return {base for path in paths for base in re.findall(r"^ARG BASE=(.+)$", path.read_text(), re.MULTILINE)}


@pytest.mark.parametrize("path", CONTAINERS, ids=lambda path: path.stem)
def test_an_image_is_made_of_locked_packages_and_runs_without_root(path: Path) -> None:
    text = path.read_text()
    assert "--require-hashes" in text and "--only-binary=:all:" in text
    assert len(bases_of(CONTAINERS)) == 1, "all have one base"
    (base,) = bases_of([path])
    assert re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", base)
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
    last = text.rsplit("\nFROM ", 1)[1]
    assert re.search(r"^USER 65532:65532$", last, re.MULTILINE)
    assert "ENTRYPOINT" in last
