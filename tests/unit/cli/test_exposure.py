"""Files with credentials that others can read are named once, with what closes them; others are not."""

import subprocess
from pathlib import Path

import pytest
from cockpit_widgets.calm_themes import CALM
from textual.theme import BUILTIN_THEMES

from cockpit.attach import AttachOptions
from cockpit.commands import demo
from cockpit.commands.exposure import exposed, exposure_notes
from cockpit.errors import BadInput
from cockpit.local_state.config import Settings, read_settings
from cockpit.local_state.setting_list import THEMES
from cockpit.model.metrics_server import MetricsServer

KUBECONFIG = """
users:
- {name: a, user: {tokenFile: token}}
- {name: b, user: {client-key: /nowhere/key.pem}}
- {name: c, user: {token: t}}
"""


@pytest.mark.parametrize(
    ("mode", "who"), [(0o600, ""), (0o640, "its group"), (0o604, "all users of this host"), (0o200, "")]
)
def test_who_can_read_a_file(tmp_path: Path, mode: int, who: str) -> None:
    file = tmp_path / "secret"
    file.touch()
    file.chmod(mode)
    said = (f"the token file {file} can be read by {who}; run chmod 600 {file}",) if who else ()
    assert exposed([("token file", file), ("token file", file), ("token file", tmp_path / "none")]) == said


def test_every_file_of_credentials_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    config = tmp_path / "config" / "gpu-cockpit" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    kubeconfig, token, bearer, password = (tmp_path / name for name in ("kc", "token", "bearer", "password"))
    kubeconfig.write_text(KUBECONFIG)
    for file in (config, token, bearer, password):
        file.touch()
    for file in (config, kubeconfig, token, bearer, password):
        file.chmod(0o644)
    chosen = AttachOptions(
        kubeconfig=str(kubeconfig),
        prometheus=MetricsServer(token_file=str(bearer), password_file=str(password)),
    )
    settings = Settings(prometheus=MetricsServer(url="https://me:pw@prometheus.example"))
    found = exposure_notes(chosen, settings)
    assert [note.split(" can be")[0] for note in found] == [
        f"the token file {token}",
        f"the kubeconfig {kubeconfig}",
        f"the Prometheus token file {bearer}",
        f"the Prometheus password file {password}",
        f"the configuration {config}",
    ]
    assert "pw@" not in " ".join(found)
    for file in (config, kubeconfig, token, bearer, password):
        file.chmod(0o600)
    assert exposure_notes(chosen, settings) == ()


def test_a_kubeconfig_without_a_credential_may_be_read_by_all(tmp_path: Path) -> None:
    file = tmp_path / "kc"
    file.write_text("users: [{name: a, user: {exec: {command: login, args: [token]}}}]")
    file.chmod(0o644)
    assert exposure_notes(AttachOptions(kubeconfig=str(file)), Settings()) == ()


# ---- the configuration is in force everywhere


def test_an_unknown_theme_is_a_sentence_with_the_nearest() -> None:
    with pytest.raises(BadInput) as raised:
        read_settings('bell = true\ntheme = "textual-drak"', "config.toml", Path("/"))
    assert raised.value.sentence == (
        "config.toml:2: theme: there is no theme 'textual-drak'; did you mean textual-dark?"
    )
    with pytest.raises(BadInput, match="there is no theme 'zzz'; there are dark, light"):
        read_settings('theme = "zzz"', "config.toml", Path("/"))


def test_the_themes_are_those_that_the_screens_have() -> None:
    assert sorted(THEMES) == sorted({*BUILTIN_THEMES, *CALM})


def test_the_demo_refuses_a_configuration_that_every_command_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cockpit.cli import build_parser

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "gpu-cockpit").mkdir()
    (tmp_path / "gpu-cockpit" / "config.toml").write_text('theme = "nordd"')
    monkeypatch.setattr(subprocess, "Popen", None)
    for more in ((), ("--serve",)):
        with pytest.raises(BadInput, match="did you mean nord"):
            demo.run(build_parser().parse_args(["demo", *more]))
