"""The configuration file: strict, and each refusal names file, line and remedy."""

import argparse
from pathlib import Path

import pytest

from cockpit.commands.settings import attach_options
from cockpit.errors import BadInput
from cockpit.local_state.config import ContextSettings, Settings, load_settings, read_settings
from cockpit.model.metrics_server import MetricsServer
from cockpit.model.namespaces import Namespaces
from cockpit.model.price import Prices

HOME = Path("/home/somebody")
WHOLE = """
namespace = "team-a"
prometheus-url = "http://prometheus:9090"
theme = "nord"
template-folders = ["~/jobspecs", "/srv/templates"]
docs-url = "https://docs.example/gpu/"
bell = true
acknowledgements-folder = "~/on-call"
[keys]
kill = "ctrl+k"
[context."prod-eu"]
write = true
namespace = "team-b"
acknowledgements-folder = "/srv/on-call"
lease-namespace = "locks"
shrink-at-once = 4
reclaim-idle-for = "45m"
reclaim-grace = "1h"
autoscaler-status = "scaling/status-of.h100"
"""


def test_reads_everything() -> None:
    settings = read_settings(WHOLE, "c.toml", HOME)
    assert settings.template_folders == (HOME / "jobspecs", Path("/srv/templates"))
    assert settings.keys == (("kill", "ctrl+k"),)
    assert settings.of_context("prod-eu") == ContextSettings(
        write=True,
        namespaces=Namespaces(("team-b",)),
        prometheus=MetricsServer("http://prometheus:9090"),
        acknowledgements_folder=Path("/srv/on-call"),
        lease_namespace="locks",
        shrink_at_once=4,
        reclaim_idle_for_seconds=2_700.0,
        reclaim_grace_seconds=3_600.0,
        autoscaler_status="scaling/status-of.h100",
    )
    assert settings.of_context("other").lease_namespace == "default"
    assert settings.of_context("other").shrink_at_once is None
    assert settings.of_context("other").autoscaler_status == ""
    assert read_settings("shrink-at-once = 9", "c.toml", HOME).of_context("any").shrink_at_once == 9
    assert settings.bell and settings.docs_url == "https://docs.example/gpu/"
    assert settings.of_context("other").acknowledgements_folder == HOME / "on-call"
    assert settings.of_context("other").write is False
    assert settings.of_context("other").namespaces == Namespaces(("team-a",))


def test_the_status_of_the_autoscaler_is_read_where_the_context_says() -> None:
    settings = read_settings(WHOLE, "c.toml", HOME)
    there = attach_options(argparse.Namespace(context="prod-eu"), settings)
    assert there.autoscaler_status == "scaling/status-of.h100"
    other = attach_options(argparse.Namespace(context="other"), settings)
    assert other.autoscaler_status == ""


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
        ('lease-namespace = "a/b"\n', "lease-namespace: 'a/b' is not a valid namespace name"),
        (
            "shrink-at-once = 0\n",
            "c.toml:1: shrink-at-once: give a whole number of nodes from 1 to 10,000, not 0",
        ),
        (
            'autoscaler-status = "status"\n',
            "c.toml:1: autoscaler-status: give namespace/name such as scaling/status, not 'status'",
        ),
        (
            '[context.a]\nautoscaler-status = "a/b/c"\n',
            'c.toml:2: context."a".autoscaler-status: give',
        ),
        ('reclaim-idle-for = "5m"\n', 'reclaim-idle-for: give a time from "10m" to "3h", not \'5m\''),
        ('reclaim-grace = "soon"\n', 'reclaim-grace: give a time from "0" to "30d", not \'soon\''),
        ("reclaim-grace = 15\n", 'reclaim-grace: give a time from "0" to "30d", not 15'),
        ("shrink-at-once = 2.5\n", "shrink-at-once: give a whole number of nodes from 1 to 10,000, not 2.5"),
        (
            "shrink-at-once = true\n",
            "shrink-at-once: give a whole number of nodes from 1 to 10,000, not True",
        ),
        ('namespace = "Team A"\n', "'Team A' is not a valid namespace name"),
        (
            'prometheus-url = "ftp://x"\n',
            "c.toml:1: prometheus-url: give a URL with http:// or https://",
        ),
        ('docs-url = "docs"\n', "c.toml:1: docs-url: give a URL with http:// or https://, not 'docs'"),
        ('template-folders = "x"\n', "c.toml:1: template-folders: give a list of strings"),
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


PRICES = """
[prices]
currency = "EUR"
billed = "minute"
[prices.machines]
"p5.48xlarge" = 98.32
"g5.xlarge" = {hourly = 1, spot = 0.4, billed = "second"}
"""


def test_prices_are_read_and_machines_without_one_stay_unknown() -> None:
    prices = read_settings(PRICES, "c.toml", HOME).prices
    assert prices.hourly("p5.48xlarge") == 98.32 and prices.hourly("g5.xlarge", is_spot=True) == 0.4
    assert prices.hourly("p5.48xlarge", is_spot=True) is None, "the price on demand is not that of spot"
    assert prices.hourly("other") is None and prices.cost("other", 2, 60) is None
    assert prices.cost("p5.48xlarge", 2, 61) == pytest.approx(2 * 98.32 * 120 / 3_600), "per started minute"
    assert prices.cost("g5.xlarge", 1, 60.2) == pytest.approx(61 / 3_600), "per started second"
    assert read_settings("", "c.toml", HOME).prices == Prices()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("prices = 3\n", "c.toml:1: prices: give a table"),
        ('[prices]\nbilled = "hour"\n', 'c.toml:2: prices.billed: give "second" or "minute", not \'hour\''),
        (
            '[prices]\ncurrency = "dollars"\n',
            "c.toml:2: prices.currency: give a sign or a code such as $ or EUR",
        ),
        ('[prices]\ncurrency = "\\u0007"\n', "c.toml:2: prices.currency: give one line of text"),
        ("[prices]\nhourly = 3\n", "c.toml:2: prices.hourly: unknown key"),
        (
            "[prices.machines]\np5 = -1\n",
            "c.toml:2: prices.machines.p5: give money an hour from 0 to 1,000,000, not -1",
        ),
        (
            '[prices.machines]\np5 = "3"\n',
            "prices.machines.p5: give money an hour from 0 to 1,000,000, not '3'",
        ),
        (
            "[prices.machines]\np5 = nan\n",
            "prices.machines.p5: give money an hour from 0 to 1,000,000, not nan",
        ),
        ("[prices.machines]\np5 = true\n", "prices.machines.p5: give money an hour"),
        ("[prices.machines.p5]\nspot = 3\n", 'prices.machines."p5".hourly: give the money for an hour'),
    ],
)
def test_prices_that_cannot_be_used_are_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_settings(text, "c.toml", HOME)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (64.0, "$", "$64"),
        (0.4166, "$", "$0.42"),
        (3.0, "$", "$3"),
        (12.34, "€", "€12.3"),
        (1280.4, "EUR", "1,280 EUR"),
        (-5.0, "$", "-$5"),
        (99.96, "$", "$100"),
        (0.0, "$", "$0"),
    ],
)
def test_money_is_short(amount: float, currency: str, text: str) -> None:
    assert Prices(currency=currency).money(amount) == text
