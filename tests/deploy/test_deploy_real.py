"""deploy/ by the tools that people use: kustomize (in kubectl), helm, promtool, and both API servers.

Real, because helm and kubectl are built from their Go modules and promtool is Debian's.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.bed.api import Api
from tests.bed.cache import BedError
from tests.bed.distro import ensure_program
from tests.bed.manifests import document
from tests.bed.modules import module_folder
from tests.bed.setup import apply_all, wait_established
from tests.contract.server import STARTERS
from tests.contract.test_exporter_pods import VARIANTS as POD_VARIANTS
from tests.contract.test_exporter_pods import daemon_set
from tests.deploy.alert_cases import FAULTS, HEALTHY
from tests.deploy.promql import queries_in, rules_in
from tests.deploy.rendering import (
    CHART,
    DEPLOY,
    FILES,
    NAMESPACE,
    VARIANTS,
    Tree,
    Variant,
    comparable,
    helm,
    kustomized,
    templated,
)

pytestmark = pytest.mark.real

ALERTS = FILES / "alert-rules/prometheusrule.yaml"
RECORDING = FILES / "recording-rules/prometheusrule.yaml"
OPERATOR = ("github.com/prometheus-operator/prometheus-operator", "v0.92.1")
DEFINITIONS = "example/prometheus-operator-crd-full/monitoring.coreos.com_{}.yaml"
STRICT = (("fieldValidation", "Strict"),)
EVERYTHING = VARIANTS[2]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda one: str(one.name))
def test_chart_and_kustomization_make_the_same_objects(variant: Variant, tmp_path: Path) -> None:
    by_kustomize = comparable(kustomized(variant, tmp_path / "kustomize"))
    by_helm = comparable(templated(variant.values, tmp_path))
    assert set(by_helm) == set(by_kustomize)
    for name, tree in by_kustomize.items():
        assert by_helm[name] == tree, name


@pytest.mark.parametrize("name", POD_VARIANTS)
def test_kustomize_makes_the_daemon_set_that_the_contract_suite_rehearses(name: str, tmp_path: Path) -> None:
    trees = kustomized(Variant(name, f"kustomize/{name}"), tmp_path)
    (made,) = (tree for tree in trees if tree["kind"] == "DaemonSet")
    assert made["metadata"].pop("namespace") == NAMESPACE
    assert made == daemon_set(name)


def test_claims_add_flag_token_rights_and_a_way_to_the_api_server(tmp_path: Path) -> None:
    trees = comparable(kustomized(EVERYTHING, tmp_path))
    spec = trees["DaemonSet", "cockpit-exporter"]["spec"]["template"]["spec"]
    assert spec["automountServiceAccountToken"] is True
    assert spec["containers"][0]["args"][-1] == "--resource-slices"
    binding = trees["ClusterRoleBinding", "cockpit-exporter-claims"]
    assert binding["subjects"][0]["namespace"] == NAMESPACE
    ports = trees["NetworkPolicy", "cockpit-exporter"]["spec"]["egress"][0]["ports"]
    assert [port["port"] for port in ports] == [443, 6443]


def test_another_release_and_an_image_by_digest(tmp_path: Path) -> None:
    digest = "sha256:" + "a" * 64
    values = {"image": {"repository": "registry.test/exporter", "digest": digest}, "nodeSelector": {}}
    trees = {
        (tree["kind"], tree["metadata"]["name"]): tree
        for tree in templated(values, tmp_path, "--set", "fullnameOverride=gpus")
    }
    assert {name for _, name in trees} == {"gpus", "gpus-reader"}
    template = trees["DaemonSet", "gpus"]["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == f"registry.test/exporter@{digest}"
    assert trees["Service", "gpus"]["spec"]["selector"].items() <= template["metadata"]["labels"].items()


def test_helm_finds_no_fault() -> None:
    done = helm("lint", "--strict", "--kube-version", "1.36.0", str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"imge": {}}, "'imge' not allowed"),
        ({"image": {"digest": "latest"}}, "does not match pattern"),
        ({"claims": True, "attribution": False}, "claims: needs attribution; set attribution to true"),
        (
            {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}},
            "serviceMonitor and podMonitor: would scrape each pod twice; enable one",
        ),
    ],
)
def test_bad_values_are_refused_with_a_sentence(values: Tree, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = helm("template", "x", str(CHART), "--kube-version", "1.36.0", "--values", str(file))
    assert done.returncode != 0
    assert sentence in done.stderr


@pytest.fixture(scope="module", params=["embedded", "real"])
def kind_of_server(request: pytest.FixtureRequest) -> str:
    """Of `STARTERS`."""
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def api(kind_of_server: str) -> Iterator[Api]:
    """Either server with the Prometheus operator's own definitions, and the namespace of the deployment."""
    module, version = OPERATOR
    folder = module_folder(module, version)
    kinds = ("servicemonitors", "podmonitors", "prometheusrules")
    definitions = [document(folder / DEFINITIONS.format(kind)) for kind in kinds]
    with STARTERS[kind_of_server](lambda: False) as server:
        api = server.api()
        apply_all(api, definitions, fresh=True)
        wait_established(api, [tree["metadata"]["name"] for tree in definitions])
        api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield api


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda one: str(one.name))
def test_a_server_takes_every_object_as_it_is(
    api: Api, kind_of_server: str, variant: Variant, tmp_path: Path
) -> None:
    trees = kustomized(variant, tmp_path)
    assert len(trees) >= 4
    for tree in trees:
        if "/" in tree["apiVersion"] and api.request("GET", f"/apis/{tree['apiVersion']}").status == 404:
            # The embedded server serves a stated list of kinds; network policies are not among them.
            assert (kind_of_server, tree["kind"]) == ("embedded", "NetworkPolicy")
            continue
        where = api.path_of(tree).rsplit("/", 1)[0]
        reply = api.request("POST", where, tree, query=(*STRICT, ("dryRun", "All")))
        assert reply.status == 201, (tree["kind"], reply.body)
        assert reply.warnings == ()


def test_the_roles_are_taken_as_they_are(api: Api) -> None:
    for path in sorted((DEPLOY / "roles").glob("*.yaml")):
        tree = document(path)
        where = api.path_of(tree).rsplit("/", 1)[0]
        reply = api.request("POST", where, tree, query=(*STRICT, ("dryRun", "All")))
        assert reply.status == 201, (path.name, reply.body)


@pytest.fixture(scope="module")
def promtool() -> Path:
    """Of Debian's Prometheus, on PATH or unpacked into the cache."""
    try:
        program = ensure_program("prometheus", print)
    except BedError as problem:
        pytest.skip(f"no promtool: {problem}")
    beside = (program.with_name("promtool"), program.parents[1] / "root/usr/bin/promtool")
    found = next((path for path in beside if path.exists()), None)
    if found is None:
        pytest.skip(f"no promtool beside {program}")
    return found


def _run(promtool: Path, *words: str) -> str:
    done = subprocess.run([promtool, *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _rule_file(path: Path, to: Path) -> Path:
    to.write_text(yaml.safe_dump(yaml.safe_load(path.read_text())["spec"]))
    return to


def test_promtool_takes_alerts_and_every_query_of_the_dashboard(promtool: Path, tmp_path: Path) -> None:
    alerts = _rule_file(ALERTS, tmp_path / "alerts.yaml")
    assert f"{len(rules_in(ALERTS))} rules found" in _run(promtool, "check", "rules", str(alerts))
    queries = queries_in(FILES / "dashboard/gpu-fleet.json")
    rules = [{"record": f"q:{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "q", "rules": rules}]}))
    told = _run(promtool, "check", "rules", str(tmp_path / "queries.yaml"))
    assert f"{len(queries)} rules found" in told


def _case(name: str, series: dict[str, str], expected: list[str]) -> Tree:
    """A promtool test: which alerts fire after half an hour, and no other."""
    every = dict(HEALTHY) | series
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in every.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": "30m",
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in expected],
            }
        ],
    }


def test_each_alert_fires_for_its_fault_and_for_no_other(promtool: Path, tmp_path: Path) -> None:
    assert set(FAULTS) == {rule["alert"] for rule in rules_in(ALERTS)}
    _rule_file(ALERTS, tmp_path / "alerts.yaml")
    cases = [_case("healthy", {}, []), *(_case(alert, fault, [alert]) for alert, fault in FAULTS.items())]
    cases[-1]["input_series"] = [
        one for one in cases[-1]["input_series"] if not one["series"].startswith("cockpit_exporter_info")
    ]
    tree = {"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tree))
    _run(promtool, "test", "rules", str(tmp_path / "tests.yaml"))


def test_an_alert_names_the_node_or_the_exporter(promtool: Path, tmp_path: Path) -> None:
    _rule_file(ALERTS, tmp_path / "alerts.yaml")
    (rule,) = (rule for rule in rules_in(ALERTS) if rule["alert"] == "CockpitGpuDriverDown")
    cases = []
    for labels, named in (({"node": "n1", "instance": "i1"}, "n1"), ({"instance": "i1"}, "i1")):
        told = {**labels, "reason": "hung"}
        series = ", ".join(f"{key}={json.dumps(value)}" for key, value in told.items())
        alert = {
            "exp_labels": {**told, "severity": "critical"},
            "exp_annotations": {
                **rule["annotations"],
                "summary": f"the GPU driver of {named} does not answer: hung",
            },
        }
        cases.append(
            {
                "interval": "1m",
                "input_series": [
                    {"series": f"cockpit_nvml_up{{{series}}}", "values": "0x20"},
                    {"series": "cockpit_exporter_info", "values": "1x20"},
                ],
                "alert_rule_test": [{"eval_time": "10m", "alertname": rule["alert"], "exp_alerts": [alert]}],
            }
        )
    tree = {"rule_files": ["alerts.yaml"], "evaluation_interval": "1m", "tests": cases}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tree))
    _run(promtool, "test", "rules", str(tmp_path / "tests.yaml"))
