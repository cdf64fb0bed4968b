"""Kubeconfig errors name file, line and remedy."""

import os
from pathlib import Path

import pytest

from cockpit.errors import NoConnection
from cockpit.kube.kubeconfig import choose, context_names, files
from tests.unit.kube.builders import kubeconfig

GOOD = """
apiVersion: v1
current-context: dev
clusters:
- {name: c1, cluster: {server: "https://one:6443"}}
users:
- {name: u1, user: {token: t}}
contexts:
- {name: dev, context: {cluster: c1, user: u1, namespace: team-a}}
- {name: prod, context: {cluster: c1, user: u1}}
- {name: nowhere, context: {cluster: c9, user: u1}}
- {name: nobody, context: {cluster: c1, user: u9}}
"""


def write(folder: Path, text: str, name: str = "config") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def sentence_of(path: str | None, context: str | None = None) -> str:
    with pytest.raises(NoConnection) as caught:
        choose(path, context, in_cluster=False)
    sentence = caught.value.sentence
    assert "\n" not in sentence
    assert caught.value.exit_code == 2
    return sentence


def test_the_current_context(tmp_path: Path) -> None:
    chosen = choose(write(tmp_path, GOOD), None, in_cluster=False)
    assert chosen is not None
    assert (chosen.context, chosen.namespace, chosen.user_name) == ("dev", "team-a", "u1")


def test_a_named_context(tmp_path: Path) -> None:
    chosen = choose(write(tmp_path, GOOD), "prod", in_cluster=False)
    assert chosen is not None
    assert (chosen.context, chosen.namespace) == ("prod", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clusters: [\n  broken", ["line 2", "not YAML"]),
        ("a: b: c", ["line 1", "not YAML"]),
        ("", ["empty or not a mapping"]),
        ("just text", ["empty or not a mapping"]),
        ("contexts: {}", ["contexts is not a list"]),
        ("contexts: [{context: {}}]", ["entry 1 of contexts has no name"]),
        ("clusters: [{name: x, cluster: 7}]", ["clusters entry 'x' is not a mapping"]),
        ("apiVersion: v1", ["has no contexts"]),
        (
            GOOD.replace("current-context: dev", ""),
            ["no current-context", "--context", "dev, nobody, nowhere, prod"],
        ),
        (GOOD.replace("https://one:6443", "one:6443"), ["no usable server URL", "one:6443"]),
        (GOOD.replace("dev\n", "dev: 1\n"), ["line 3"]),
    ],
)
def test_broken_files(tmp_path: Path, text: str, words: list[str]) -> None:
    path = write(tmp_path, text)
    sentence = sentence_of(path)
    for word in [path, *words]:
        assert word in sentence


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ("test", ["no context 'test'", "available: dev, nobody, nowhere, prod"]),
        ("nowhere", ["names the cluster 'c9'"]),
        ("nobody", ["names the user 'u9'"]),
    ],
)
def test_contexts_that_cannot_be_used(tmp_path: Path, context: str, words: list[str]) -> None:
    sentence = sentence_of(write(tmp_path, GOOD), context)
    for word in words:
        assert word in sentence


def test_names_from_the_file_are_cleaned(tmp_path: Path) -> None:
    text = GOOD.replace("name: prod", 'name: "pr\\x1b]0;x\\x07od"')
    assert "\x1b" not in sentence_of(write(tmp_path, text), "missing")
    assert "pr]0;xod" in context_names(write(tmp_path, text))


def test_a_missing_file(tmp_path: Path) -> None:
    sentence = sentence_of(str(tmp_path / "none"))
    assert str(tmp_path / "none") in sentence
    assert "KUBECONFIG" in sentence


def test_unreadable_files(tmp_path: Path) -> None:
    assert "cannot be read" in sentence_of(str(tmp_path))
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not text" in sentence_of(str(path))


def test_several_files_are_merged_first_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = write(tmp_path, GOOD, "one")
    other = write(tmp_path, GOOD.replace("dev", "stage").replace("team-a", "team-b"), "two")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join((one, str(tmp_path / "none"), other)))
    chosen = choose(None, None, in_cluster=False)
    assert chosen is not None
    assert chosen.context == "dev"
    stage = choose(None, "stage", in_cluster=False)
    assert stage is not None
    assert stage.namespace == "team-b"
    assert context_names() == ("dev", "prod", "nowhere", "nobody", "stage")


def test_home_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files(None) == (tmp_path / ".kube" / "config",)
    assert choose(None, None, in_cluster=True) is None
    assert ".kube/config" in sentence_of(None)


def test_a_context_is_never_looked_for_in_the_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(NoConnection):
        choose(None, "dev", in_cluster=True)


def test_the_builder_of_these_tests_is_a_kubeconfig(tmp_path: Path) -> None:
    assert choose(kubeconfig(tmp_path, "http://x:1"), "here", in_cluster=False) is not None
