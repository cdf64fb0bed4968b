"""What is read of the pages of all vendors' exporters, by example.

`python -m tests.unit.telemetry.test_exporter_pages` writes the page of the documentation that says so.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from cockpit.model.gpu import Gpu
from cockpit.model.quantity import Absent
from cockpit.telemetry.cards.round import gpus
from cockpit.telemetry.names import MEANINGS, TABLE, ExporterFamily
from cockpit.telemetry.sample import parse_exposition
from tests.unit.kube.test_node_shapes import NODES
from tests.unit.telemetry import oracle
from tests.unit.telemetry.builders import NOW
from tests.unit.telemetry.test_site_vendors import CONFIG

_FILE = Path(__file__).with_name("exporter_pages.toml")
PAGES: list[dict[str, Any]] = tomllib.loads(_FILE.read_text("utf-8"))["page"]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "accelerators.md"
_MIB = 2**20
_NUMBERS = {
    "duty": ("duty_ratio", 1.0),
    "used": ("memory_used_bytes", _MIB),
    "total": ("memory_total_bytes", _MIB),
    "temperature": ("temperature_celsius", 1.0),
    "power": ("power_watts", 1.0),
    "clock": ("sm_clock_hertz", 1e6),
}


def read_of(card: Gpu) -> dict[str, Any]:
    """All that is collected of a card, in the words and units of the file."""
    found: dict[str, Any] = {"source": card.source}
    for word, (field, unit) in _NUMBERS.items():
        value = getattr(card, field)
        if value is not Absent.NOT_COLLECTED:
            found[word] = value if isinstance(value, Absent) else pytest.approx(value / unit)
    texts = {"model": card.model, "profile": card.mig_profile, "node": card.node, "index": card.index}
    texts["pod"] = f"{card.pod_namespace}/{card.pod_name}" if card.pod_name else ""
    found |= {word: text for word, text in texts.items() if text}
    codes = {"throttle": card.throttle, "xid": card.xid}
    return found | {word: code for word, code in codes.items() if code is not None}


@pytest.mark.parametrize("page", PAGES, ids=[page["name"] for page in PAGES])
def test_a_page_makes_its_cards_and_nothing_else(page: dict[str, Any]) -> None:
    samples = parse_exposition(page["text"], NOW)
    cards = gpus(samples)
    found = {card.uuid: read_of(card) for card in cards}
    if not any("node" in wanted for wanted in page["cards"].values()):
        for read in found.values():
            read.pop("node", None)
    assert found == page["cards"]
    assert not any(card.doubts for card in cards)
    assert cards == oracle.gpus(samples)


def test_every_family_of_names_is_read_somewhere() -> None:
    seen = {
        wanted["source"].replace("dcgm B", "dcgm A") for page in PAGES for wanted in page["cards"].values()
    }
    # that of a site's own configuration is read in test_site_vendors.py
    assert seen == {family.value for family in ExporterFamily} - {ExporterFamily.SITE.value} == set(TABLE)


def test_one_name_has_one_meaning() -> None:
    named = [
        name for section in TABLE.values() for name in (*section["metrics"], *section.get("fallback", ()))
    ]
    assert len(named) == len(set(named)) and set(named) <= MEANINGS.keys()


def _quantities(section: dict[str, Any]) -> list[str]:
    told = {**section["metrics"], **section.get("fallback", {})}
    return sorted({word.split()[0].replace("_", " ") for word in told.values()})


OTHERS = (
    "## Others, by configuration",
    "",
    "A vendor that is in none of these tables is named in `config.toml`; a job, a node, a pool, fit,",
    "`get gpus`, the map and the form count its devices then, and what it does not print is *not",
    "collected*. Each series has its unit beside its name; a duty in % is of 100, in `ratio` of 1.",
    "`cockpit config validate` names all that is wrong; every setting is in",
    "[configuration](configuration.md).",
    "",
    "```toml",
    *CONFIG.strip().splitlines(),
    "```",
    "",
)
"""How a site names a vendor that is not built in."""


def page_of_docs() -> str:
    """The page: a row a family, then a row an example."""
    families = [
        f"| {section['vendor']} | {name} | {', '.join(_quantities(section))} "
        f"| {', '.join(section.get('never', ()))} |"
        for name, section in TABLE.items()
    ]
    words = ("duty", "used", "total", "temperature", "power", "clock", "throttle", "xid")
    examples = [
        f"| {page['vendor']} | {page['name']} | {card} | "
        + " | ".join(str(wanted.get(word, "")) for word in words)
        + " |"
        for page in PAGES
        for card, wanted in page["cards"].items()
    ]
    nodes = [
        f"| {shape['cloud']} | {shape['model']} | {shape.get('pool', '')} "
        f"| {', '.join(shape.get('offers', {}))} | {shape.get('gpus', '')} "
        f"| {shape.get('zone', '')} | {'spot' if shape.get('spot') else ''} |"
        for shape in NODES
    ]
    head = ["vendor", "page", "card", *words]
    return "\n".join(
        [
            "# Accelerators and their exporters",
            "",
            "What is read of each family of metric names (`cockpit/telemetry/exporters.toml`), what its",
            "exporters never tell, and what each example page of the tests makes. An empty cell is *not",
            "collected*. Memory in MiB, temperature in degrees Celsius, power in watts, clock in MHz,",
            "throttling in NVML's bits. Made by `python -m tests.unit.telemetry.test_exporter_pages`.",
            "",
            "| vendor | names | quantities | never told |",
            "| --- | --- | --- | --- |",
            *families,
            "",
            f"| {' | '.join(head)} |",
            f"|{' --- |' * len(head)}",
            *examples,
            "",
            *OTHERS,
            "## Nodes",
            "",
            "What is read of nodes in the shapes that clouds publish (`cockpit/k8s/accelerators.toml`): the",
            "model by label, else by the machine type where it names its cards.",
            "",
            "| node | model | pool | offers | accelerators | zone | spot |",
            "| --- | --- | --- | --- | --- | --- | --- |",
            *nodes,
            "",
        ]
    )


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page_of_docs()


if __name__ == "__main__":
    PAGE.write_text(page_of_docs(), "utf-8")
