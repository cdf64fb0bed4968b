"""`job edit`: what the editor leaves is patched where the job can change in place; else it is recreated."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bed.api import Api

JOBS = "/apis/batch/v1/namespaces/{}/jobs"
JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "fit", "labels": {"team": "vision"}},
    "spec": {
        "suspend": True,
        "parallelism": 2,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": "registry.test/train:1",
                        "resources": {"limits": {"nvidia.com/gpu": "1"}},
                        "args": ["--wandb-token", "Zq8vT2xYw0", "--lr", "0.1"],
                        "env": [{"name": "DB_PASSWORD", "value": "Zq8vT2xYw1"}],
                    }
                ],
            }
        },
    },
}
SECRETS = ("Zq8vT2xYw0", "Zq8vT2xYw1")
Editor = Callable[..., None]


@pytest.fixture
def made(admin: Api, space: str) -> str:
    admin.create(JOBS.format(space), JOB)
    return JOBS.format(space) + "/fit"


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """Have EDITOR replace the pairs of texts in its file, or run `code` with its path `p`; what it was given
    is in `seen`."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("KUBE_EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)

    def put(*pairs: tuple[str, str], code: str = "") -> None:
        lines = [
            "import pathlib, sys",
            "p = pathlib.Path(sys.argv[1])",
            f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(p.read_text())",
            *(f"assert {old!r} in p.read_text()" for old, _ in pairs),
            *(f"p.write_text(p.read_text().replace({old!r}, {new!r}))" for old, new in pairs),
            code,
        ]
        script = tmp_path / "editor.py"
        script.write_text("\n".join(lines))
        monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")

    return put


@pytest.fixture
def edit(said: Any, space: str) -> Any:
    """Run `job edit` on the job: (exit code, all that it said)."""

    async def run(*more: str, role: str = "admin") -> tuple[int, str]:
        code, text = await said("job", "edit", f"job/{space}/fit", "--write", "--yes", *more, role=role)
        return code, text

    return run


def files(tmp_path: Path) -> list[Path]:
    return list(tmp_path.glob("fit-*.yaml"))


def rewrite(path: Path) -> None:
    path.write_text(path.read_text().replace("team: vision", "team: speech"))


def kept(tmp_path: Path, text: str) -> str:
    """What stands in the one file that was kept; its path is in what was said."""
    [path] = files(tmp_path)
    assert str(path) in text and path.stat().st_mode & 0o077 == 0
    return path.read_text()


async def test_what_can_change_in_place_is_one_patch_of_the_same_object(
    edit: Any, editor: Editor, admin: Api, made: str, tmp_path: Path
) -> None:
    uid = admin.get(made)["metadata"]["uid"]
    editor(
        ("team: vision", "team: speech"),
        ("parallelism: 2", "parallelism: 3"),
        ("suspend: true", "suspend: false"),
    )
    code, text = await edit()
    assert code == 0 and "Edited job" in text, text
    job = admin.get(made)
    assert (job["metadata"]["uid"], job["metadata"]["labels"]["team"]) == (uid, "speech")
    assert (job["spec"]["parallelism"], job["spec"]["suspend"]) == (3, False)
    assert not files(tmp_path)


async def test_the_editor_sees_what_the_author_wrote_and_no_secret(
    edit: Any, editor: Editor, admin: Api, made: str, tmp_path: Path
) -> None:
    editor()
    code, text = await edit()
    assert (code, text) == (0, "the manifest was not changed: nothing is done\n")
    seen = (tmp_path / "seen").read_text()
    assert not any(secret in seen for secret in SECRETS) and "[hidden-1]" in seen and "[hidden-2]" in seen
    assert not any(word in seen for word in ("status:", "uid:", "controller-uid", "resourceVersion"))
    assert not files(tmp_path)


async def test_what_is_fixed_is_named_and_the_job_recreated_with_its_secrets_once_its_name_is_typed(
    edit: Any, editor: Editor, admin: Api, made: str, tmp_path: Path
) -> None:
    uid = admin.get(made)["metadata"]["uid"]
    editor(("train:1", "train:2"), ("'0.1'", "'0.2'"))
    code, text = await edit("--dry-run")
    assert code == 0, text
    place = "spec.template.spec.containers.0"
    assert f"cannot change while the job is there: {place}.image, {place}.args" in text
    assert "cockpit job recreate" in text and not any(secret in text for secret in SECRETS)
    code, text = await edit()
    assert code == 2 and "add --confirm fit" in text, text
    assert admin.get(made)["metadata"]["uid"] == uid
    code, text = await edit("--confirm", "fit")
    assert code == 0, text
    job = admin.get(made)
    [main] = job["spec"]["template"]["spec"]["containers"]
    assert job["metadata"]["uid"] != uid and main["image"] == "registry.test/train:2"
    assert main["args"] == ["--wandb-token", SECRETS[0], "--lr", "0.2"]
    assert main["env"] == [{"name": "DB_PASSWORD", "value": SECRETS[1]}]


async def test_nothing_is_deleted_for_what_the_server_would_not_take(
    edit: Any, editor: Editor, admin: Api, made: str, tmp_path: Path
) -> None:
    uid = admin.get(made)["metadata"]["uid"]
    editor(("restartPolicy: Never", "restartPolicy: Always"))
    code, text = await edit("--confirm", "fit")
    assert code == 1 and "restartPolicy" in text, text
    assert admin.get(made)["metadata"]["uid"] == uid
    assert "restartPolicy: Always" in kept(tmp_path, text)


@pytest.mark.parametrize(
    ("pair", "said_of_it"),
    [
        (("metadata:", "metadata: ["), "not YAML"),
        (("kind: Job", "kind: Job\n---\nkind: Job"), "one object belongs in it"),
        (("name: fit", "name: fat"), "/metadata/name cannot be changed"),
        (("parallelism: 2", "parallelism: two"), "spec.parallelism: 'two' is not a whole number"),
        (("[hidden-1]", "[hidden-7]"), "stands for no secret"),
    ],
)
async def test_a_file_that_is_no_manifest_of_the_job_is_kept(
    edit: Any, editor: Editor, admin: Api, made: str, tmp_path: Path, pair: tuple[str, str], said_of_it: str
) -> None:
    before = admin.get(made)
    editor(pair)
    code, text = await edit("--confirm", "fit")
    assert code == 2 and said_of_it in text, text
    after = admin.get(made)  # whose status its controller may have written meanwhile
    assert all(after["metadata"][key] == before["metadata"][key] for key in ("uid", "generation", "labels"))
    assert pair[1] in kept(tmp_path, text)


async def test_without_an_editor_or_with_one_that_fails_nothing_is_opened(
    edit: Any, editor: Editor, made: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EDITOR", "")
    editor_says: list[tuple[str, str]] = [
        ("", "no editor is set: set EDITOR to yours, such as EDITOR=vi"),
        ("/nowhere/vi -n", "editor /nowhere/vi: No such file or directory; set EDITOR to yours"),
        ("false", "editor false ended with exit code 1: nothing is done"),
        ("vi 'x", 'EDITOR: "vi \'x" is no command line: a quote in it has no end'),
    ]
    for word, sentence in editor_says:
        monkeypatch.setenv("EDITOR", word)
        code, text = await edit()
        assert code == 2 and sentence in text, text
        assert not files(tmp_path), word


@pytest.mark.parametrize("is_gone", [False, True], ids=["changed", "gone"])
async def test_a_job_that_changed_or_went_while_it_was_edited_is_left(
    edit: Any,
    editor: Editor,
    admin: Api,
    made: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_gone: bool,
) -> None:
    editor()

    async def change(path: Path) -> None:
        rewrite(path)
        if is_gone:
            admin.delete(made, {"propagationPolicy": "Background"})
        else:
            admin.merge(made, {"metadata": {"labels": {"team": "robots"}}})

    monkeypatch.setattr("cockpit.terminal.edit", change)
    code, text = await edit()
    assert code == 1 and ("is gone" if is_gone else "was modified in the meantime") in text, text
    assert "team: speech" in kept(tmp_path, text)
    if not is_gone:
        assert admin.get(made)["metadata"]["labels"]["team"] == "robots"


async def test_what_the_status_did_meanwhile_keeps_no_edit_back(
    edit: Any, editor: Editor, admin: Api, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor()

    async def change(path: Path) -> None:
        rewrite(path)
        admin.request("PUT", f"{made}/status", {**admin.get(made), "status": {"active": 0, "ready": 0}})

    monkeypatch.setattr("cockpit.terminal.edit", change)
    code, text = await edit()
    assert code == 0, text
    assert admin.get(made)["metadata"]["labels"]["team"] == "speech"


async def test_read_only_and_denied_are_a_sentence_each(
    said: Any, edit: Any, editor: Editor, made: str, space: str, tmp_path: Path
) -> None:
    editor(("team: vision", "team: speech"))
    code, text = await said("job", "edit", f"job/{space}/fit", "--yes")
    assert code == 2 and "read-only" in text and not (tmp_path / "seen").exists(), text
    code, text = await edit(role="viewer")
    assert code == 1 and "cannot patch jobs" in text, text
    assert "team: speech" in kept(tmp_path, text)


async def test_a_patch_does_the_same_without_an_editor(said: Any, admin: Api, made: str, space: str) -> None:
    steps = [
        {"op": "remove", "path": "/metadata/labels/team"},
        {"op": "add", "path": "/spec/backoffLimit", "value": 3},
    ]
    words = ("job", "edit", f"job/{space}/fit", "--patch", json.dumps(steps), "--write", "--yes")
    code, text = await said(*words)
    assert code == 0, text
    job = admin.get(made)
    assert "team" not in (job["metadata"].get("labels") or {}) and job["spec"]["backoffLimit"] == 3
    code, text = await said(*words)
    assert code == 2 and "no /metadata/labels/team" in text, text
