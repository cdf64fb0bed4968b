"""`cockpit config`: a file with every setting, what is in force and from where, and what is wrong."""

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest

from cockpit.errors import BadInput, BadValues
from cockpit.local_state.cloud_settings import profiles
from cockpit.local_state.config import Settings, load_settings, read_settings
from cockpit.local_state.setting_list import (
    AWS,
    CONTEXT,
    FINDINGS,
    MACHINE,
    POOL,
    PRICES,
    SETTINGS,
    TOP,
    VENDOR,
    Setting,
    commented_file,
    json_schema,
    of_table,
    setting_of,
)
from tests.published import SCHEMAS
from tests.unit.cli.builders import read_json, run
from tests.unit.cli.test_commands import Capture
from tests.unit.local_state.test_config import WHOLE

HOMES = {
    TOP: "{line}",
    CONTEXT: '[context."c"]\n{line}',
    FINDINGS: "[findings]\n{line}",
    PRICES: "[prices]\n{line}",
    MACHINE: '[prices.machines."m"]\nhourly = 1\n{line}',
    VENDOR: '[accelerators.v]\nresource = "v.example/chip"\n{line}',
    AWS: '[context."c".aws]\n{line}',
    POOL: (
        '[context."c".outside-pools.p]\nprofile = "aks"\n'
        'values = {resource-group = "g", cluster = "t"}\n{line}'
    ),
}
"""A file around one line of each table."""
PLACES = [(setting, table) for setting in SETTINGS for table in setting.tables]


def file_with(setting: Setting, table: str, value: str) -> str:
    head = re.sub(rf"(?m)^{setting.name} = .*\n", "", HOMES[table])
    return head.replace("{line}", f"{setting.name} = {value}\n")


def config_file(home: Path) -> Path:
    return home / "config" / "gpu-cockpit" / "config.toml"


# ---- the list of settings


@pytest.mark.parametrize(("setting", "table"), PLACES, ids=lambda item: getattr(item, "name", item))
def test_every_example_is_read_and_allowed_by_the_schema(setting: Setting, table: str) -> None:
    text = file_with(setting, table, setting.example)
    if setting.name == "values":
        text = file_with(setting, table, '{resource-group = "g", cluster = "t", zone = "z"}')
    if setting.name == "limit":
        text += 'maximum = "machines.max"\n'
    read_settings(text, "c.toml", Path("/home/ann"))
    jsonschema.validate(tomllib.loads(text), json_schema())
    assert setting.about and setting.type_words


@pytest.mark.parametrize(("setting", "table"), PLACES, ids=lambda item: getattr(item, "name", item))
def test_a_value_of_another_type_is_refused_by_the_reader_and_the_schema(
    setting: Setting, table: str
) -> None:
    wrong = "true" if setting.schema["type"] != "boolean" else '"yes"'
    text = file_with(setting, table, wrong)
    with pytest.raises(BadInput, match=setting.name):
        read_settings(text, "c.toml", Path("/home/ann"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(text), json_schema())


def test_the_profiles_of_the_list_are_those_that_are_shipped() -> None:
    profile = setting_of(POOL, "profile")
    assert profile is not None and set(profile.schema["enum"]) == set(profiles())


def test_the_page_of_the_admin_has_only_valid_settings() -> None:
    text = (SCHEMAS.parent / "admin.md").read_text().partition("\n## Configuration\n")[2]
    [block] = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[:1]
    read_settings(block, "admin.md", Path("/home/ann"))
    jsonschema.validate(tomllib.loads(block), json_schema())
    assert "(configuration.md)" in text


# ---- init


def test_init_writes_a_private_file_that_sets_nothing(home: Path, capsys: Capture) -> None:
    path = config_file(home)
    assert run(capsys, "config", "init") == (0, f"{path}\n", "")
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_settings(path) == Settings()
    code, _out, err = run(capsys, "config", "init")
    assert code == 2 and "already exists and was not overwritten" in err
    assert path.read_text() == commented_file()


def test_each_setting_of_the_written_file_works_without_its_mark() -> None:
    lines = commented_file().splitlines()
    names = set()
    section = ""
    for line in lines:
        if line.startswith("# ["):
            section = line.removeprefix("# ")
        elif found := re.match(r"# ([a-z-]+) = ", line):
            names.add(found[1])
            own = line.removeprefix("# ")
            if section.startswith("[accelerators") and found[1] != "resource":
                own += '\nresource = "tensorwave.example/chip"'  # a vendor is nothing without it
            read_settings(f"{section}\n{own}\n", "c.toml", Path("/home/ann"))
    tables = (TOP, CONTEXT, FINDINGS, PRICES, VENDOR)
    wanted = {setting.name for table in tables for setting in of_table(table)}
    assert wanted - names == {"keys", "prices", "findings", "context", "accelerators"} and "kill" in names


# ---- validate


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("namespce = 'x'", "config.toml:1: namespce: unknown key; did you mean namespace?"),
        ("[context.c]\nwrit = true", 'context."c".writ: unknown key; did you mean write?'),
        ("bell = 1", "bell: give true or false"),
        ("shrink-at-once = 0", "give a whole number of nodes from 1 to 10,000, not 0"),
        ("theme = 'nrd'", "there is no theme 'nrd'; did you mean nord?"),
        ("a = [", "not TOML"),
    ],
)
def test_what_is_wrong_is_one_sentence(text: str, part: str, home: Path, capsys: Capture) -> None:
    config_file(home).write_text(text)
    code, out, err = run(capsys, "config", "validate")
    assert (code, out) == (2, "") and part in err and err.count("\n") == 1


def test_everything_that_is_wrong_is_named_a_line_each(home: Path, capsys: Capture) -> None:
    config_file(home).write_text(
        """
        theme = "nrd"
        bell = 1
        namespce = "x"
        [prices.machines."p5.48xlarge"]
        hourly = "dear"
        [prices.machines]
        small = -1
        [findings]
        slack = "no"
        headers = {A = 3}
        [context."prod.eu"]
        writ = true
        reclaim-grace = "soon"
        [context."prod.eu".aws]
        region = "here"
        [context."prod.eu".outside-pools."*"]
        timeout-seconds = 0
        """
    )
    code, out, err = run(capsys, "config", "validate")
    assert (code, out) == (2, "")
    wanted = (
        *("theme", "bell", "namespce", 'prices.machines."p5.48xlarge".hourly', "prices.machines.small"),
        *("findings.slack", "findings.headers.A", 'context."prod.eu".writ'),
        *('context."prod.eu".reclaim-grace', 'context."prod.eu".aws.region'),
        *('context."prod.eu".outside-pools.*.timeout-seconds', 'context."prod.eu".outside-pools.*.read'),
    )
    for place in wanted:
        assert sum(f" {place}: " in line for line in err.splitlines()) == 1, place
    assert len(err.splitlines()) == len(wanted)


@pytest.mark.parametrize(("setting", "table"), PLACES, ids=lambda item: getattr(item, "name", item))
def test_a_wrong_value_hides_no_other(setting: Setting, table: str) -> None:
    wrong = "true" if setting.schema["type"] != "boolean" else '"yes"'
    text = "unheard-of = 1\n" + file_with(setting, table, wrong)
    with pytest.raises(BadValues) as caught:
        read_settings(text, "c.toml", Path("/home/ann"))
    assert len(caught.value.faults) >= 2
    assert any("unheard-of" in field for field in caught.value.faults)
    assert any(setting.name in line for line in caught.value.sentences)


def test_a_valid_file_and_one_that_is_missing(home: Path, capsys: Capture) -> None:
    code, _out, err = run(capsys, "config", "validate")
    assert code == 2 and "there is no such file; write one by cockpit config init" in err
    other = home / "other.toml"
    other.write_text(WHOLE)
    assert run(capsys, "config", "validate", "--file", str(other)) == (0, f"{other}: valid\n", "")


def test_the_schema_is_printed(capsys: Capture) -> None:
    assert json.loads(run(capsys, "config", "schema")[1]) == json_schema()


# ---- show


def shown(capsys: Capture, *words: str) -> dict[str, tuple[object, str]]:
    code, out, err = run(capsys, "config", "show", "-o", "json", *words)
    assert (code, err) == (0, "")
    return {item["setting"]: (item["value"], item["source"]) for item in read_json(out)["items"]}


def test_show_says_where_each_value_comes_from(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file(home).write_text(WHOLE)
    monkeypatch.setenv("COCKPIT_PROMETHEUS_CA_FILE", "/ca.pem")
    found = shown(capsys, "--context", "prod-eu")
    assert found["theme"] == ("nord", "file")
    assert found["namespace"] == ("team-b", "context prod-eu")
    assert found["audit-keep"] == (None, "default")
    assert found["prometheus-ca-file"] == ("/ca.pem", "environment")
    assert found["prometheus-url"] == ("http://prometheus:9090", "file")
    assert found["keys.kill"] == ("ctrl+k", "file")
    assert shown(capsys, "--context", "other")["namespace"] == ("team-a", "file")
    assert shown(capsys, "--context", "prod-eu", "-n", "x")["namespace"] == ("x", "option")
    assert shown(capsys, "-A")["namespace"] == ("", "option")


def test_show_joins_the_metrics_server_as_it_is_used(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login is for the URL beside it, and never of two places."""
    config_file(home).write_text('prometheus-url = "http://a:1"\nprometheus-token-file = "/t"\n')
    monkeypatch.setenv("COCKPIT_PROMETHEUS_URL", "http://b:1")
    found = shown(capsys)
    assert found["prometheus-url"] == ("http://b:1", "environment")
    assert found["prometheus-token-file"] == (None, "default")


def test_no_secret_is_shown(home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    config_file(home).write_text(
        'prometheus-url = "http://ann:hunter2@a:1"\n[context.c.outside-pools.p]\nprofile = "aks"\n'
        'values = {resource-group = "g", cluster = "t", api-token = "hunter22"}\n'
        '[findings]\nslack = "https://hooks.example/hunter4"\nheaders = {X-Team = "hunter5"}\n'
    )
    monkeypatch.setenv("COCKPIT_PROMETHEUS_PASSWORD", "hunter3")
    for output in ("table", "json", "yaml", "csv"):
        code, out, _ = run(capsys, "config", "show", "--context", "c", "-o", output)
        assert code == 0 and "hunter" not in out and "[hidden]" in out


def test_a_file_that_cannot_be_read_is_not_shown(home: Path, capsys: Capture) -> None:
    config_file(home).write_text("bell = 1")
    code, out, err = run(capsys, "config", "show")
    assert (code, out) == (2, "") and "bell: give true or false" in err
