"""Parts, ports, people and the commands that enter a bed."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from cryptography import x509

from tests.bed import control_plane, credentials, kueue_objects, parts, people, pod_logs, sandbox
from tests.bed.bed import Bed, runner_environment
from tests.bed.cache import BedError
from tests.bed.layout import FULL, NEEDS, OPTIONAL, PORTS, PROGRAM_OF, Layout, closure, free_ports


def make_layout(run_dir: Path, names: tuple[str, ...] = ("etcd", "apiserver")) -> Layout:
    layout = Layout(
        run_dir,
        False,
        names,
        {name: 20000 + number for number, name in enumerate(PORTS)},
        dict.fromkeys([*FULL, "kubectl"], "/bin/true"),
        {"kueue": str(run_dir / "manifests")},
    )
    for folder in (layout.pki, layout.logs, run_dir / "hook"):
        folder.mkdir()
    return layout


def test_a_part_brings_what_it_needs_in_order_of_starting() -> None:
    assert closure({"apiserver"}) == ("etcd", "apiserver")
    assert closure({"kueue"}) == ("etcd", "apiserver", "kcm", "scheduler", "kwok", "kueue")
    assert set(closure(FULL)) == FULL
    assert set(NEEDS) == FULL | OPTIONAL and not FULL & OPTIONAL


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(BedError, match=r"part 'kubelet' is not one of etcd, apiserver"):
        closure({"kubelet"})


def test_kueue_outside_a_namespace_is_refused() -> None:
    with pytest.raises(BedError, match="kueue run only in a namespace"):
        Bed({"kueue"}, namespace=False)
    assert Bed({"kueue"}).namespaced
    assert not Bed({"apiserver"}).namespaced


def test_ports_are_all_different() -> None:
    ports = free_ports(PORTS)
    assert len(set(ports.values())) == len(PORTS)


def test_a_layout_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    layout = make_layout(tmp_path)
    layout.save()
    assert Layout.load(tmp_path) == layout


def test_a_folder_without_a_bed_says_so(tmp_path: Path) -> None:
    with pytest.raises(BedError, match="holds no bed"):
        Layout.load(tmp_path)


def test_every_part_is_started_once_after_what_it_needs(tmp_path: Path) -> None:
    layout = make_layout(tmp_path, closure(FULL))
    waves = parts.waves(layout)
    started = [name for wave in waves for name in wave]
    assert sorted(started) == sorted(FULL)
    assert waves[0] == ("etcd", "apiserver")


def test_optional_engines_start_after_the_control_plane_and_bring_no_part_of_the_full_bed(
    tmp_path: Path,
) -> None:
    names = closure({"native", "pod-groups", "coscheduling", "jobset"})
    layout = make_layout(tmp_path, names)
    waves = parts.waves(layout)
    assert {name for wave in waves for name in wave} == set(names) & (set(PROGRAM_OF) | {"kwok"})
    assert set(waves[-1]) == {"pod-groups", "coscheduling", "jobset"}
    assert not set(names) & {"kueue", "mpi", "prometheus"}


def test_the_gate_of_the_native_gang_is_switched_on_only_where_it_is_asked_for(tmp_path: Path) -> None:
    layout = make_layout(tmp_path, closure({"native"}))
    programs = (control_plane.apiserver, control_plane.controller_manager, control_plane.scheduler)
    for describe in programs:
        argv = describe(layout).argv
        assert "GenericWorkload=true" in argv[argv.index("--feature-gates") + 1]
    assert "scheduling.k8s.io/v1alpha2=true" in control_plane.apiserver(layout).argv
    plain = replace(layout, parts=closure({"scheduler"}))
    assert not any("--feature-gates" in describe(plain).argv for describe in programs)


def test_the_people_and_their_kubeconfig(tmp_path: Path) -> None:
    layout = make_layout(tmp_path)
    credentials.write_credentials(layout)
    tree = yaml.safe_load(layout.kubeconfig.read_text())
    assert [context["name"] for context in tree["contexts"]] == [
        "bed",
        "engineer",
        "viewer",
        "nobody",
        "expired",
        "certificate",
    ]
    assert "insecure-skip-tls-verify" not in layout.kubeconfig.read_text()
    tokens = {user["name"]: user["user"].get("token") for user in tree["users"]}
    known = layout.tokens.read_text()
    assert tokens["viewer"] in known
    assert tokens["expired"] not in known
    assert layout.kubeconfig.stat().st_mode & 0o077 == 0
    assert layout.tokens.stat().st_mode & 0o077 == 0


def test_tokens_differ_between_beds() -> None:
    assert people.make_tokens()["bed"] != people.make_tokens()["bed"]


def test_certificates_name_loopback_and_are_signed_by_the_bed(tmp_path: Path) -> None:
    layout = make_layout(tmp_path)
    credentials.write_credentials(layout)
    ca = x509.load_pem_x509_certificate(layout.ca_file.read_bytes())
    server = x509.load_pem_x509_certificate((layout.pki / "server.crt").read_bytes())
    server.verify_directly_issued_by(ca)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert "127.0.0.1" in map(str, names.get_values_for_type(x509.IPAddress))
    admin = x509.load_pem_x509_certificate((layout.pki / "admin.crt").read_bytes())
    assert admin.subject.rfc4514_string() == "O=system:masters,CN=admin"


def test_viewer_and_engineer_may_not_read_secrets() -> None:
    for role in people.objects():
        for rule in role.get("rules", ()):
            assert "secrets" not in rule["resources"]
            assert not ("" in rule["apiGroups"] and "*" in rule["resources"])


def test_kueue_objects_point_at_loopback(tmp_path: Path) -> None:
    layout = make_layout(tmp_path)
    credentials.write_credentials(layout)
    base = tmp_path / "manifests" / "config" / "components"
    for folder in ("crd/bases", "crd/patches", "webhook"):
        (base / folder).mkdir(parents=True)
    (base / "crd/bases/a.yaml").write_text("metadata: {name: workloads.kueue.x-k8s.io}\nspec: {}\n")
    (base / "crd/bases/b.yaml").write_text("metadata: {name: topologies.kueue.x-k8s.io}\nspec: {}\n")
    (base / "crd/patches/webhook_in_a.yaml").write_text("metadata: {name: workloads.kueue.x-k8s.io}\n")
    hooks = [
        {"name": "mjob", "clientConfig": {"service": {"path": "/mutate-batch-v1-job"}}},
        {"name": "mpod", "clientConfig": {"service": {"path": "/mutate--v1-pod"}}},
    ]
    tree = {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "m"}, "webhooks": hooks}
    (base / "webhook/manifests.yaml").write_text(yaml.safe_dump(tree))
    port = layout.ports["kueue-webhook"]
    workloads, topologies = kueue_objects.definitions(layout)
    config = workloads["spec"]["conversion"]["webhook"]["clientConfig"]
    assert config["url"] == f"https://127.0.0.1:{port}/convert"
    assert "conversion" not in topologies["spec"]
    (kept,) = kueue_objects.webhooks(layout)
    assert [hook["clientConfig"]["url"] for hook in kept["webhooks"]] == [
        f"https://127.0.0.1:{port}/mutate-batch-v1-job"
    ]


def test_entering_keeps_the_folder_and_the_variables() -> None:
    prefix = sandbox.enter_prefix(41, "user")
    assert prefix[:3] == ["nsenter", "--target", "41"]
    assert "--preserve-credentials" in prefix
    assert "--user" not in sandbox.enter_prefix(41, "root")
    assert sandbox.in_folder(Path("/x y"), ["env", "A=b c", "true"])[-4:] == ["/x y", "env", "A=b c", "true"]


def test_the_namespace_is_never_prepared_outside_one(tmp_path: Path) -> None:
    with pytest.raises(BedError, match="only by its first process"):
        sandbox.prepare_inside(make_layout(tmp_path))


def test_the_parts_never_see_the_callers_clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mpi-operator puts $KUBECONFIG before its own flag."""
    monkeypatch.setenv("KUBECONFIG", "/elsewhere")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    environment = runner_environment(tmp_path)
    assert not {"KUBECONFIG", "HTTPS_PROXY"} & set(environment)
    assert environment["HOME"] == str(tmp_path)


def test_logs_are_in_the_runtimes_format(tmp_path: Path) -> None:
    pod_logs.prepare(tmp_path)
    pod_logs.append(tmp_path, "main", "step 9")
    last = pod_logs.path_of(tmp_path, "anything").read_text().splitlines()[-1]
    assert last == "2026-01-05T09:00:03.000000000Z stdout F step 9"
    entries = pod_logs.configuration(tmp_path)["spec"]["logs"]
    assert [entry.get("containers") for entry in entries] == [["launcher"], ["worker"], None]
