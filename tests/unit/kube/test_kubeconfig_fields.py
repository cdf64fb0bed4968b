"""Every field of client-go's kubeconfig schema is honoured, or refuses the context by its name."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cockpit.errors import NoConnection
from cockpit.kube import kubeconfig_fields as fields
from cockpit.kube.kubeconfig import Chosen, choose
from cockpit.model.acts_as import ActsAs

SERVER = "https://one.example:6443"
PEM = base64.b64encode(b"-----BEGIN CERTIFICATE-----").decode()
V1 = "client.authentication.k8s.io/v1"
PLUGIN = {"apiVersion": V1, "command": "login", "interactiveMode": "Never"}
OIDC = {"idp-issuer-url": "https://issuer.example", "client-id": "me", "id-token": "a.b.c"}


def chosen(
    folder: Path,
    *,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
    context: dict[str, Any] | None = None,
    **config: Any,
) -> Chosen:
    """What is chosen from a kubeconfig with one context, whose parts hold these fields besides."""
    tree = {
        "clusters": [{"name": "c", "cluster": {"server": SERVER, **(cluster or {})}}],
        "users": [{"name": "u", "user": user if user is not None else {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", **(context or {})}}],
        "current-context": "x",
        **config,
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(tree))
    found = choose(str(path), None, in_cluster=False)
    assert found is not None
    return found


def sentence_of(folder: Path, **parts: Any) -> str:
    with pytest.raises(NoConnection) as caught:
        chosen(folder, **parts)
    assert caught.value.sentence.isprintable()
    return caught.value.sentence


def of_cluster(value: Any) -> Callable[[Path, str], Any]:
    return lambda folder, name: chosen(folder, cluster={name: value}).cluster[name]


def of_user(value: Any, **more: Any) -> Callable[[Path, str], Any]:
    return lambda folder, name: chosen(folder, user={name: value, **more}).user[name]


def of_plugin(value: Any) -> Callable[[Path, str], Any]:
    return lambda folder, name: chosen(folder, user={"exec": {**PLUGIN, name: value}}).user["exec"][name]


def of_oidc(value: Any) -> Callable[[Path, str], Any]:
    def read(folder: Path, name: str) -> Any:
        provider = {"name": "oidc", "config": {**OIDC, name: value}}
        return chosen(folder, user={"auth-provider": provider}).user["auth-provider"]["config"][name]

    return read


def acting(name: str, value: Any) -> Callable[[Path, str], Any]:
    return lambda folder, _: chosen(folder, user={"token": "t", "as": "viewer", name: value}).acts_as


HONOURED: dict[str, tuple[Callable[[Path, str], Any], Any]] = {
    # field -> how it is read here, and what comes of it; a path is relative to the file that names it
    "config.kind": (lambda folder, _: chosen(folder, kind="Config").context, "x"),
    "config.apiVersion": (lambda folder, _: chosen(folder, apiVersion="v1").context, "x"),
    "config.clusters": (lambda folder, _: chosen(folder).cluster["server"], SERVER),
    "config.users": (lambda folder, _: chosen(folder).user, {"token": "t"}),
    "config.contexts": (lambda folder, _: chosen(folder, context={"namespace": "a"}).namespace, "a"),
    "config.current-context": (lambda folder, _: chosen(folder).context, "x"),
    "cluster.server": (lambda folder, name: chosen(folder).cluster[name], SERVER),
    "cluster.tls-server-name": (of_cluster("other.example"), "other.example"),
    "cluster.insecure-skip-tls-verify": (of_cluster(True), True),
    "cluster.certificate-authority": (of_cluster("ca.crt"), "{folder}/ca.crt"),
    "cluster.certificate-authority-data": (of_cluster(PEM), PEM),
    "cluster.proxy-url": (of_cluster("http://proxy.example:3128"), "http://proxy.example:3128"),
    "cluster.disable-compression": (of_cluster(True), True),
    "cluster.extensions": (
        lambda folder, _: fields.exec_config(
            chosen(
                folder, cluster={"extensions": [{"name": fields.EXEC_EXTENSION, "extension": {"a": 1}}]}
            ).cluster
        ),
        {"a": 1},
    ),
    "user.client-certificate": (of_user("a.crt", **{"client-key": "a.key"}), "{folder}/a.crt"),
    "user.client-certificate-data": (of_user(PEM, **{"client-key-data": PEM}), PEM),
    "user.client-key": (of_user("a.key", **{"client-certificate": "a.crt"}), "{folder}/a.key"),
    "user.client-key-data": (of_user(PEM, **{"client-certificate-data": PEM}), PEM),
    "user.token": (of_user("secret"), "secret"),
    "user.tokenFile": (of_user("a.token"), "{folder}/a.token"),
    "user.as": (acting("as-uid", ""), ActsAs("viewer")),
    "user.as-uid": (acting("as-uid", "7"), ActsAs("viewer", "7")),
    "user.as-groups": (acting("as-groups", ["a", "b"]), ActsAs("viewer", "", ("a", "b"))),
    "user.as-user-extra": (
        acting("as-user-extra", {"scopes": ["x", "y"]}),
        ActsAs("viewer", "", (), (("scopes", ("x", "y")),)),
    ),
    "user.username": (of_user("ann", password="p"), "ann"),
    "user.password": (of_user("p", username="ann"), "p"),
    "user.auth-provider": (
        lambda folder, name: chosen(folder, user={name: {"name": "oidc", "config": OIDC}}).user[name],
        {"name": "oidc", "config": OIDC},
    ),
    "user.exec": (lambda folder, name: chosen(folder, user={name: PLUGIN}).user[name], PLUGIN),
    "context.cluster": (lambda folder, _: chosen(folder).cluster["server"], SERVER),
    "context.user": (lambda folder, _: chosen(folder).user_name, "u"),
    "context.namespace": (lambda folder, _: chosen(folder, context={"namespace": "a"}).namespace, "a"),
    "exec.command": (of_plugin("bin/login"), "{folder}/bin/login"),
    "exec.args": (of_plugin(["a"]), ["a"]),
    "exec.env": (of_plugin([{"name": "A", "value": "b"}]), [{"name": "A", "value": "b"}]),
    "exec.apiVersion": (of_plugin(f"{V1}beta1"), f"{V1}beta1"),
    "exec.installHint": (of_plugin("brew install login"), "brew install login"),
    "exec.provideClusterInfo": (of_plugin(True), True),
    "exec.interactiveMode": (of_plugin("Always"), "Always"),
    "auth-provider.name": (lambda _folder, _name: "oidc", "oidc"),
    "auth-provider.config": (lambda _folder, _name: OIDC, OIDC),
    "oidc.idp-issuer-url": (of_oidc("https://other.example"), "https://other.example"),
    "oidc.client-id": (of_oidc("other"), "other"),
    "oidc.client-secret": (of_oidc("s"), "s"),
    "oidc.idp-certificate-authority": (of_oidc("idp.crt"), "{folder}/idp.crt"),
    "oidc.idp-certificate-authority-data": (of_oidc(PEM), PEM),
    "oidc.id-token": (of_oidc("d.e.f"), "d.e.f"),
    "oidc.refresh-token": (of_oidc("r"), "r"),
}
WITHOUT_EFFECT = {
    # kubectl reads these as well, and no request depends on them
    "config.preferences",
    "config.extensions",
    "user.extensions",
    "context.extensions",
    "oidc.extra-scopes",
}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    # what no client honours any more, or no other way than by refusing
    "config.kind": ({"kind": "Pod"}, "must be Config"),
    "config.apiVersion": ({"apiVersion": "v2"}, "must be v1"),
    "cluster.insecure-skip-tls-verify": (
        {"cluster": {"insecure-skip-tls-verify": True, "certificate-authority-data": PEM}},
        "remove one of the two",
    ),
    "cluster.certificate-authority-data": ({"cluster": {"certificate-authority-data": "%%"}}, "not base64"),
    "cluster.proxy-url": ({"cluster": {"proxy-url": "socks5://p.example:1"}}, "socks5 is not supported"),
    "user.client-key": ({"user": {"client-certificate": "a"}}, "is missing beside client-certificate"),
    "user.client-certificate": ({"user": {"client-key": "a"}}, "is missing beside client-key"),
    "user.username": ({"user": {"username": "ann", "token": "t"}}, "remove one of the two ways"),
    "user.as-groups": ({"user": {"token": "t", "as-groups": ["a"]}}, "add `as` or remove it"),
    "user.as-uid": ({"user": {"token": "t", "as-uid": "1"}}, "add `as` or remove it"),
    "user.as-user-extra": ({"user": {"token": "t", "as": "v", "as-user-extra": {"a": "b"}}}, "list of texts"),
    "user.as": ({"user": {"token": "t", "as": "a\nb"}}, "control character"),
    "user.auth-provider": (
        {"user": {"exec": PLUGIN, "auth-provider": {"name": "oidc", "config": OIDC}}},
        "remove one of the two",
    ),
    "auth-provider.name": ({"user": {"auth-provider": {"name": "gcp"}}}, "gke-gcloud-auth-plugin"),
    "oidc.client-id": (
        {"user": {"auth-provider": {"name": "oidc", "config": {**OIDC, "client-id": ""}}}},
        "is missing",
    ),
    "exec.apiVersion": ({"user": {"exec": {**PLUGIN, "apiVersion": f"{V1}alpha1"}}}, "is not supported"),
    "exec.command": ({"user": {"exec": {**PLUGIN, "command": ""}}}, "is missing"),
    "exec.interactiveMode": ({"user": {"exec": {**PLUGIN, "interactiveMode": "Maybe"}}}, "IfAvailable"),
    "exec.args": ({"user": {"exec": {**PLUGIN, "args": [1]}}}, "put numbers in quotes"),
    "exec.env": ({"user": {"exec": {**PLUGIN, "env": [{"value": "x"}]}}}, "needs a name and a value"),
}
SCHEMA = {
    # client-go, tools/clientcmd/api/v1/types.go, and the settings of its oidc plugin: every field
    "config": "kind apiVersion preferences clusters users contexts current-context extensions",
    "cluster": "server tls-server-name insecure-skip-tls-verify certificate-authority"
    " certificate-authority-data proxy-url disable-compression extensions",
    "user": "client-certificate client-certificate-data client-key client-key-data token tokenFile as as-uid"
    " as-groups as-user-extra username password auth-provider exec extensions",
    "context": "cluster user namespace extensions",
    "exec": "command args env apiVersion installHint provideClusterInfo interactiveMode",
    "auth-provider": "name config",
    "oidc": "idp-issuer-url client-id client-secret idp-certificate-authority"
    " idp-certificate-authority-data id-token refresh-token extra-scopes",
}
OURS = {
    "config": fields.CONFIG,
    "cluster": fields.CLUSTER,
    "user": fields.USER,
    "context": fields.CONTEXT,
    "exec": fields.EXEC,
    "auth-provider": fields.PROVIDER,
    "oidc": fields.OIDC,
}
ALL = [f"{section}.{name}" for section, names in SCHEMA.items() for name in names.split()]


def test_no_field_of_the_schema_is_in_no_column() -> None:
    assert set(ALL) == HONOURED.keys() | WITHOUT_EFFECT
    assert REFUSED.keys() <= set(ALL)
    assert not HONOURED.keys() & WITHOUT_EFFECT
    assert {section: set(names.split()) for section, names in SCHEMA.items()} == {
        section: set(schema) for section, schema in OURS.items()
    }


@pytest.mark.parametrize("field", HONOURED)
def test_a_field_is_honoured(tmp_path: Path, field: str) -> None:
    read, wanted = HONOURED[field]
    if isinstance(wanted, str):
        wanted = wanted.format(folder=tmp_path)
    assert read(tmp_path, field.partition(".")[2]) == wanted


@pytest.mark.parametrize("field", REFUSED)
def test_a_value_that_cannot_be_honoured_refuses_the_context_by_the_fields_name(
    tmp_path: Path, field: str
) -> None:
    parts, words = REFUSED[field]
    sentence = sentence_of(tmp_path, **parts)
    section, _, name = field.partition(".")
    assert {"oidc": "auth-provider.config.", "exec": "exec.", "auth-provider": "auth-provider."}.get(
        section, ""
    ) + name in sentence
    assert words in sentence
    assert str(tmp_path) in sentence


@pytest.mark.parametrize(
    "field", [one for one in ALL if one.partition(".")[0] in ("cluster", "user", "exec")]
)
def test_a_value_of_another_shape_is_no_value(tmp_path: Path, field: str) -> None:
    """`insecure-skip-tls-verify: "false"` is no yes, and no no either."""
    section, _, name = field.partition(".")
    wrong = 7 if OURS[section][name] is not bool else "false"
    if section == "exec":
        sentence = sentence_of(tmp_path, user={"exec": {**PLUGIN, name: wrong}})
    else:
        user = {"user": {"token": "t", name: wrong}} if section == "user" else {}
        sentence = sentence_of(tmp_path, **(user or {section: {name: wrong}}))
    assert name in sentence


def test_data_goes_before_a_file_and_a_token_file_stays_beside_its_token(tmp_path: Path) -> None:
    found = chosen(
        tmp_path,
        cluster={"certificate-authority": "ca.crt", "certificate-authority-data": PEM},
        user={
            "client-certificate": "a.crt",
            "client-certificate-data": PEM,
            "client-key": "a.key",
            "client-key-data": PEM,
        },
    )
    assert found.cluster == {"server": SERVER, "certificate-authority-data": PEM}
    assert found.user == {"client-certificate-data": PEM, "client-key-data": PEM}
    both = chosen(tmp_path, user={"token": "t", "tokenFile": "f"})
    assert both.user == {"token": "t", "tokenFile": f"{tmp_path}/f"}, "which one is told when they are read"


@pytest.mark.parametrize(
    ("user", "left", "told"),
    [
        ({"token": "t", "exec": PLUGIN}, {"token": "t"}, "exec is not used: kubectl logs in by the token"),
        (
            {"username": "ann", "password": "p", "exec": PLUGIN},
            {"username": "ann", "password": "p"},
            "exec is not used: kubectl logs in by the password",
        ),
        (
            {"client-certificate-data": PEM, "client-key-data": PEM, "exec": PLUGIN},
            {"client-certificate-data": PEM, "client-key-data": PEM},
            "exec is not used: kubectl logs in by the client certificate",
        ),
        (
            {"token": "t", "auth-provider": {"name": "oidc", "config": OIDC}},
            {"token": "t"},
            "auth-provider is not used: kubectl logs in by the token",
        ),
    ],
)
def test_of_two_ways_to_log_in_the_one_that_kubectl_takes_is_taken(
    tmp_path: Path, user: dict[str, Any], left: dict[str, Any], told: str
) -> None:
    found = chosen(tmp_path, user=user)
    assert found.user == left
    assert [told in note for note in found.notes] == [True]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"user": {"token": "t", "as-group": ["a"]}}, ["as-group", "no effect", "did you mean as-groups?"]),
        ({"user": {"exec": {**PLUGIN, "installhint": "x"}}}, ["exec.installhint", "exec.installHint"]),
        ({"cluster": {"proxy_url": "http://p"}}, ["proxy_url", "proxy-url"]),
        ({"context": {"namspace": "a"}}, ["namspace", "did you mean namespace?"]),
        ({"colour": True}, ["colour", "no effect"]),
    ],
)
def test_what_is_not_of_the_schema_is_said(tmp_path: Path, parts: dict[str, Any], words: list[str]) -> None:
    (note,) = chosen(tmp_path, **parts).notes
    for word in [*words, str(tmp_path)]:
        assert word in note


def test_a_v1_plugin_without_a_mode_is_told(tmp_path: Path) -> None:
    spec = {"apiVersion": V1, "command": "login"}
    found = chosen(tmp_path, user={"exec": spec})
    assert found.user["exec"]["interactiveMode"] == "IfAvailable"
    assert "exec.interactiveMode is missing, which kubectl refuses" in found.notes[0]
    beta = chosen(tmp_path, user={"exec": {**spec, "apiVersion": f"{V1}beta1"}})
    assert (beta.user["exec"]["interactiveMode"], beta.notes) == ("IfAvailable", ())


@pytest.mark.parametrize("section", ["clusters", "users", "contexts"])
def test_a_name_given_twice_in_one_file_is_refused(tmp_path: Path, section: str) -> None:
    inner = section[:-1]
    twice = [{"name": "x", inner: {"server": SERVER}}, {"name": "x", inner: {"server": "https://two"}}]
    sentence = sentence_of(tmp_path, **{section: twice})
    assert f"{section} has the name 'x' twice" in sentence


def test_parts_from_several_files_are_relative_to_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, tree in {
        "a": {"clusters": [{"name": "c", "cluster": {"server": SERVER, "certificate-authority": "ca.crt"}}]},
        "b": {
            "users": [
                {"name": "u", "user": {"client-certificate": "u.crt", "client-key": "u.key", "as": "viewer"}}
            ],
            "clusters": [{"name": "c", "cluster": {"server": "https://other"}}],
        },
        "c": {
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {"token": "of the second"}}],
            "current-context": "x",
        },
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config").write_text(json.dumps(tree))
    monkeypatch.setenv("KUBECONFIG", ":".join(str(tmp_path / name / "config") for name in "abc"))
    found = choose(None, None, in_cluster=False)
    assert found is not None
    assert found.cluster == {"server": SERVER, "certificate-authority": f"{tmp_path}/a/ca.crt"}
    assert found.user == {
        "client-certificate": f"{tmp_path}/b/u.crt",
        "client-key": f"{tmp_path}/b/u.key",
        "as": "viewer",
    }
    assert found.acts_as == ActsAs("viewer")


def test_nothing_of_a_login_is_in_the_repr(tmp_path: Path) -> None:
    assert "secret" not in repr(chosen(tmp_path, user={"token": "secret"}))
