"""The configuration file: strict, and each refusal names file, line and remedy."""

from pathlib import Path

import pytest

from cockpit.errors import BadInput
from cockpit.local_state.config import ContextSettings, Settings, load_settings, read_settings
from cockpit.model.metrics_server import MetricsServer

HOME = Path("/home/somebody")
WHOLE = """
namespace = "team-a"
prometheus-url = "http://prometheus:9090"
theme = "nord"
template-folders = ["~/jobspecs", "/srv/templates"]
pool-labels = ["example.com/pool"]
bell = true
acknowledgements-folder = "~/on-call"
[keys]
kill = "ctrl+k"
[context."prod-eu"]
write = true
namespace = "team-b"
acknowledgements-folder = "/srv/on-call"
"""


def test_reads_everything() -> None:
    settings = read_settings(WHOLE, "c.toml", HOME)
    assert settings.template_folders == (HOME / "jobspecs", Path("/srv/templates"))
    assert settings.keys == (("kill", "ctrl+k"),)
    assert settings.pool_labels == ("example.com/pool",)
    assert settings.of_context("prod-eu") == ContextSettings(
        write=True,
        namespace="team-b",
        prometheus=MetricsServer("http://prometheus:9090"),
        acknowledgements_folder=Path("/srv/on-call"),
    )
    assert settings.bell
    assert settings.of_context("other").acknowledgements_folder == HOME / "on-call"
    assert settings.of_context("other").write is False
    assert settings.of_context("other").namespace == "team-a"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('promtheus-url = "x"\n', "c.toml:1: promtheus-url: unknown key; did you mean prometheus-url?"),
        (
            'theme = "a"\nprometheus_url = "x"\n',
            "c.toml:2: prometheus_url: unknown key; did you mean prometheus-url?",
        ),
        ("zzz = 1\n", "c.toml:1: zzz: unknown key; known keys: namespace, prometheus-url"),
        ("[context.a]\nwrit = true\n", 'c.toml:2: context."a".writ: unknown key; did you mean write?'),
        ('[context.a]\nwrite = "yes"\n', 'c.toml:2: context."a".write: give true or false'),
        ('bell = "loud"\n', "c.toml:1: bell: give true or false"),
        (
            'acknowledgements-folder = "notes"\n',
            "acknowledgements-folder: give an absolute path or one that begins with ~/, not 'notes'",
        ),
        ("namespace = 3\n", "c.toml:1: namespace: give one line of text, not 3"),
        ('namespace = "Team A"\n', "'Team A' is not a valid namespace name"),
        (
            'prometheus-url = "ftp://x"\n',
            "c.toml:1: prometheus-url: give a URL with http:// or https://",
        ),
        ('template-folders = "x"\n', "c.toml:1: template-folders: give a list of strings"),
        ('pool-labels = ["a b"]\n', "'a b' is not a valid label key"),
        ("keys = 1\n", "c.toml:1: keys: give a table"),
        ("context = []\n", "context: give a table"),
        ("a = \n", "c.toml: not TOML: Invalid value (at line 1, column 5)"),
    ],
)
def test_refuses_with_file_line_and_key(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_settings(text, "c.toml", HOME)
    assert sentence in caught.value.sentence


def test_no_file_is_no_settings_and_an_unreadable_one_is_a_sentence(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "none.toml") == Settings()
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(BadInput, match="cannot be read"):
        load_settings(tmp_path / "folder.toml")
    (tmp_path / "latin.toml").write_bytes(b'theme = "\xff"')
    with pytest.raises(BadInput, match="not UTF-8"):
        load_settings(tmp_path / "latin.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * 300_000)
    with pytest.raises(BadInput, match="larger than"):
        load_settings(tmp_path / "large.toml")
