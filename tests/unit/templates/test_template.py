"""The schema of a template file: sentences name file, line and field."""

from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.jobs.render import lint
from cockpit.jobs.template import built_in_folder, load_library, read_template
from tests.unit.templates.builders import HEAD, MANIFEST, PARAMETERS, small, text


def _refusal(whole: str) -> str:
    with pytest.raises(BadInput) as caught:
        read_template(whole, "t.yaml")
    return caught.value.sentence


def test_reads_parameters_in_order() -> None:
    template = small()
    assert [one.name for one in template.parameters] == ["name", "workers", "gpus", "queue", "command"]
    assert template.kind == "Job"
    workers = template.parameter("workers")
    assert workers is not None
    assert (workers.minimum_integer, workers.maximum_integer, workers.default) == (1, 64, "2")
    name = template.parameter("name")
    assert name is not None
    assert name.is_required


@pytest.mark.parametrize(
    ("whole", "sentence"),
    [
        (text(head="template: {name: small}\n"), "t.yaml:1: template.title: this field is required"),
        (
            text(head="template: {name: Small, title: x}\n"),
            "t.yaml:1: template.name: 'Small' is not a valid name",
        ),
        (text(more="extra: 1\n"), "extra: unknown field; known fields: template, parameters"),
        (HEAD + PARAMETERS, "manifest: this field is required"),
        ("- 1\n", "t.yaml:1: this must have the fields"),
        (text(parameters="parameters: 3\n"), "t.yaml:2: parameters: this must be a list"),
        (
            text(parameters="parameters:\n  - {name: a, type: number}\n"),
            "t.yaml:3: parameters[0].type: 'number' is not one of dns-label",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: text}\n  - {name: a, type: text}\n"),
            "t.yaml:4: parameters[1].name: 'a' appears twice",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: text, minimum: 1}\n"),
            "parameters[0].minimum: only integer and quantity have bounds",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: integer, default: 0, minimum: 1}\n"),
            "parameters[0].default: 0 is too small, at least 1",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: integer, minimum: few}\n"),
            "parameters[0].minimum: 'few' is not a valid bound of type integer",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: choice}\n"),
            "parameters[0].type: a choice needs `choices` or `choices-from`",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: text, choices-from: moods}\n"),
            "choices-from: 'moods' is not one of namespaces, localqueues",
        ),
        (
            text(parameters="parameters:\n  - {name: a, type: text, colour: red}\n"),
            "t.yaml:3: parameters[0].colour: unknown field",
        ),
        (text(manifest="manifest: {kind: Job}\n"), "manifest.apiVersion: this must be text"),
        (
            text(manifest="manifest: {apiVersion: v1, kind: Pod, a: {$param: nobody}}\n"),
            "manifest.a.$param: no parameter 'nobody'; parameters: name, workers",
        ),
        (
            text(manifest="manifest: {apiVersion: v1, kind: Pod, a: {$eval: 1+1}}\n"),
            "manifest.a.$eval: unknown marker",
        ),
        (
            text(manifest="manifest: {apiVersion: v1, kind: Pod, a: {$param: name, b: 1}}\n"),
            "a marker must be the only key",
        ),
        (
            text(manifest="manifest: {apiVersion: v1, kind: Pod, a: {$product: [workers, name]}}\n"),
            "manifest.a.$product[1]: 'name' is not an integer parameter",
        ),
        (
            text(manifest="manifest: {apiVersion: v1, kind: Pod, a: {$splice: command}}\n"),
            "only a parameter of type command, inside a list",
        ),
        (
            text(manifest="manifest: {apiVersion: v1, kind: Pod, a: {$text: {$param: name}}}\n"),
            "only an integer or a command needs to be turned into text",
        ),
        (text(more="progress: [{name: s, pattern: '('}]\n"), "progress[0].pattern: not a regular expression"),
        (text(more="progress: [{name: s, pattern: 'x'}]\n"), "progress[0].pattern: give a named group"),
    ],
)
def test_refuses_with_file_line_and_field(whole: str, sentence: str) -> None:
    said = _refusal(whole)
    assert sentence in said
    assert said.startswith("t.yaml:")


@pytest.mark.parametrize("name", ["mpijob", "job", "pod"])
def test_built_in_templates_are_clean(name: str) -> None:
    library = load_library()
    assert library.problems == ()
    assert lint(library.templates[name]) == ()


def test_every_built_in_file_is_a_template_named_like_the_file() -> None:
    files = sorted(one.name.removesuffix(".yaml") for one in built_in_folder().iterdir())
    assert files == sorted(load_library().templates)


def test_a_users_folder_adds_and_replaces_and_a_broken_file_harms_only_itself(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text())
    (tmp_path / "mpijob.yaml").write_text(text().replace("name: small", "name: mpijob", 1))
    (tmp_path / "broken.yaml").write_text("template: [")
    (tmp_path / "latin.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "notes.txt").write_text("not a template")
    library = load_library((tmp_path, tmp_path / "missing"))
    assert library.templates["small"].source.endswith("mine.yaml")
    assert library.templates["mpijob"].title == "A small one"
    assert len(library.problems) == 3
    with pytest.raises(BadInput, match=r"template 'broken' cannot be used: .*broken\.yaml:1"):
        library.named("broken")
    with pytest.raises(
        BadInput,
        match="there is no template 'nothing'; known templates: cronjob, job, jobset, leaderworkerset",
    ):
        library.named("nothing")


def test_lint_names_what_is_unused_and_what_is_missing() -> None:
    lines = [one for one in MANIFEST.splitlines(keepends=True) if "command" not in one]
    found = lint(read_template(text(manifest="".join(lines)), "t.yaml"))
    assert any("'command' is not used" in one for one in found)
    nameless = "parameters: []\n"
    found = lint(read_template(HEAD + nameless + "manifest: {apiVersion: v1, kind: Pod}\n", "t.yaml"))
    assert any("a parameter `name` is required" in one for one in found)
    assert any("metadata.name is missing" in one for one in found)
