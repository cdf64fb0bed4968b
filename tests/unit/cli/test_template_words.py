"""`cockpit template`: what is listed, shown and found wrong."""

from pathlib import Path

from tests.unit.cli.builders import read_json, run
from tests.unit.cli.test_commands import Capture

# ---- templates


def test_templates_can_be_listed_and_shown(capsys: Capture) -> None:
    code, out, _err = run(capsys, "template", "list")
    assert code == 0
    known = [
        *(
            "cronjob",
            "job",
            "jobset",
            "leaderworkerset",
            "mpijob",
            "mpijob-ddp",
            "mpijob-deepspeed",
            "mpijob-elastic",
            "pod",
            "pytorchjob",
            "raycluster",
            "rayjob",
            "smoke-test",
            "trainjob",
            "volcano",
        ),
    ]
    assert [line.split()[0] for line in out.splitlines()] == ["NAME", *known]
    assert [
        one["name"] for one in read_json(run(capsys, "template", "list", "-o", "json")[1])["items"]
    ] == known
    code, out, _err = run(capsys, "template", "show", "mpijob")
    assert code == 0
    assert "makes MPIJob of kubeflow.org/v2beta1" in out
    assert "1 to 4096 pods" in out


def test_lint(capsys: Capture, home: Path) -> None:
    assert run(capsys, "template", "lint")[:2] == (0, "15 templates OK\n")
    broken = home / "broken.yaml"
    broken.write_text("template: {name: x, title: X}\nparameters: []\nmanifest: {kind: Pod}\n")
    own = str(home / "own")
    code, out, err = run(capsys, "template", "new", "mine", "--from", "jobset", "--folder", own)
    assert (code, out) == (0, f"{own}/mine.yaml\n")
    assert "add its folder to the configuration" in err
    assert run(capsys, "template", "lint", f"{own}/mine.yaml")[0] == 0
    assert "already exists" in run(capsys, "template", "new", "mine", "--folder", own)[2]
    code, out, err = run(capsys, "template", "lint", str(broken), str(home / "missing.yaml"))
    assert (code, out) == (2, "")
    assert "broken.yaml:3: manifest.apiVersion" in err
    assert "missing.yaml: cannot be read: No such file" in err


def test_a_users_broken_template_is_told_beside_the_list(capsys: Capture, home: Path) -> None:
    folder = home / "mine"
    folder.mkdir()
    (folder / "bad.yaml").write_text("a: [")
    (home / "config" / "gpu-cockpit" / "config.toml").write_text(f'template-folders = ["{folder}"]\n')
    code, out, err = run(capsys, "template", "list")
    assert code == 0
    assert "mpijob" in out
    assert "bad.yaml:1: not YAML" in err
