"""What a bed keeps apart: people and their tokens, certificates, the caller's clusters, namespaces."""

from pathlib import Path

import pytest
import yaml
from cryptography import x509

from tests.bed import credentials, people, sandbox
from tests.bed.bed import Bed, runner_environment
from tests.bed.cache import BedError
from tests.bed.layout import FULL, PORTS, Layout, closure


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


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(BedError, match=r"part 'kubelet' is not one of etcd, apiserver"):
        closure({"kubelet"})


def test_kueue_outside_a_namespace_is_refused() -> None:
    with pytest.raises(BedError, match="kueue run only in a namespace"):
        Bed({"kueue"}, namespace=False)
    assert Bed({"kueue"}).namespaced
    assert not Bed({"apiserver"}).namespaced


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
