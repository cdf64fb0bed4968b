"""Files of manifests: what is in them, and one sentence for what cannot be used."""

import io
import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.jobs.manifest_file import read_manifests

OBJECT = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "fit"}, "spec": {}}


def read(text: str) -> list[dict[str, object]]:
    return [item.manifest for item in read_manifests("-", io.StringIO(text), Random(1))]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OBJECT),
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [OBJECT]}),
        json.dumps({"apiVersion": "batch/v1", "kind": "JobList", "items": [OBJECT]}),
        f"---\n# nothing\n---\n{json.dumps(OBJECT)}\n---\n",
        json.dumps({**OBJECT, "status": {"active": 1}}),
        json.dumps({**OBJECT, "metadata": {"name": "fit", "uid": "u", "managedFields": [], "generation": 4}}),
        "apiVersion: &v batch/v1\nkind: Job\nmetadata: {name: fit}\nspec: {}\n",
    ],
)
def test_an_object_in_any_wrapping_is_the_object(text: str) -> None:
    assert read(text) == [OBJECT]


def test_a_name_that_is_left_to_the_server_is_chosen_and_short_enough() -> None:
    [made] = read(json.dumps({**OBJECT, "metadata": {"generateName": "x" * 70}}))
    assert isinstance(made["metadata"], dict)
    assert len(made["metadata"]["name"]) == 63 and "generateName" not in made["metadata"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no object in it"),
        ("---\n---\n", "there is no object in it"),
        ("[1, 2]", "list where an object with apiVersion and kind belongs"),
        ("just words", "str where an object"),
        ("kind: Job\nmetadata: {name: a}\n", "apiVersion is missing"),
        ("apiVersion: v1\nmetadata: {name: a}\n", "kind is missing"),
        ("apiVersion: v1\nkind: Pod\n", "metadata.name of the Pod is missing"),
        ("apiVersion: v1\nkind: Pod\nmetadata: []\n", "metadata.name of the Pod is missing"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "Secrets are not sent from here"),
        ("a: [1\n", "not YAML"),
        ("a: !!python/object:os.system {}\n", "not YAML"),
        (json.dumps({"apiVersion": "v1", "kind": "List", "items": [OBJECT] * 201}), "at most 200"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: " + "[" * 5000, ""),
    ],
)
def test_what_cannot_be_used_is_told_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        read(text)
    assert said in caught.value.sentence
    assert "\n" not in caught.value.sentence


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(BadInput) as caught:
            read_manifests(str(name), io.StringIO(), Random(1))
        assert caught.value.sentence.startswith(str(name))
    with pytest.raises(BadInput, match="no user of that name"):
        read_manifests("~nobody-has-this-name/job.yaml", io.StringIO(), Random(1))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="not text in UTF-8"):
        read_manifests(str(binary), io.StringIO(), Random(1))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except BadInput as error:
        assert error.sentence
