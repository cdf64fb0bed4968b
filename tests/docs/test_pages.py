"""README and the pages name what exists: files, anchors, pictures, places, figures, types and markers."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.screen import Screen

from cockpit import screens
from cockpit.jobs.parameters import TYPES
from cockpit.jobs.placeholders import MARKERS
from cockpit.pools import registry
from cockpit.screens.keymap import KEYS
from tests.docs.markdown_pages import (
    DOCS,
    ROOT,
    anchors,
    blocks,
    links,
    pages,
    read,
    sections,
    without_blocks,
)
from tests.screenshots.scenes import MOST_SCENES

README = ROOT / "README.md"
LINKED = [
    *pages(),
    *(ROOT / name for name in ("SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(
        path for room in ("cockpit", "deploy", "exporter", "jobspecs") for path in (ROOT / room).rglob("*.md")
    ),
]
MOST_LINES = 120
WITHOUT_PICTURES = {
    "screen-readers.md": "is for those who see none",
    "causes.md": "is made by the program; the site has an answer of the command for each",
    "configuration.md": "is made by the program; its digits are values",
}
BASES = {
    *(
        "BoundScreen",
        "FormPage",
        "KeepingForm",
        "ObjectScreen",
        "OneNumberScreen",
        "Place",
        "PoolNumberScreen",
    ),
    *("Question", "ReadPlace", "SharedList", "SharedPlace", "TablePlace", "TextScreen"),
}
"""What pages are made of."""


def broken(path: Path, text: str) -> Iterator[str]:
    """The links of a page that lead to no file or no heading."""
    for link in links(text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if not target.exists() or (
            anchor and anchor not in anchors(text if target == path else read(target))
        ):
            yield link


@pytest.mark.parametrize("path", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    assert list(broken(path, read(path))) == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    text = "# Home\n\n[a](gone.md) ![b](index.md) [c](#home) [d](#gone) [e](limits.md#gone) `[f](none.md)`\n"
    assert list(broken(DOCS / "index.md", text)) == ["gone.md", "#gone", "limits.md#gone"]


def test_every_place_of_the_keymap_has_a_section_with_a_picture() -> None:
    parts = sections(DOCS / "places.md")
    places = [key for key in KEYS if key.id.startswith("place.")]
    assert len(places) >= 9
    for key in places:
        section = parts[key.label.capitalize()]
        assert f"`{key.keys}`" in section and "](../screenshots/" in section, key.id
    for name, section in parts.items():
        assert "](../screenshots/" in section, f"{name}: a page without a picture"


def pages_of_the_program() -> set[str]:
    """Classes of its screens and dialogs, but for those that others are made of."""
    for module in pkgutil.iter_modules(screens.__path__, f"{screens.__name__}."):
        importlib.import_module(module.name)
    found, waiting = set[type[Screen[Any]]](), list[type[Screen[Any]]]([Screen])
    while waiting:
        below = waiting.pop().__subclasses__()
        found |= {each for each in below if each.__module__.startswith(("cockpit.", "cockpit_widgets."))}
        waiting += below
    return {each.__name__ for each in found if not each.__name__.startswith("_")} - BASES


def test_every_page_of_the_program_has_its_picture_in_the_page_of_places() -> None:
    shown = {scene.shows: f"](../screenshots/{scene.name}.svg)" for scene in MOST_SCENES if scene.shows}
    assert pages_of_the_program() == {*shown}, (
        "a page without a scene that `shows` it, or a base beside BASES"
    )
    text = read(DOCS / "places.md")
    assert [page for page, picture in shown.items() if picture not in text] == []


def test_a_page_that_names_a_key_shows_what_the_key_opens() -> None:
    keys = {key.keys for key in KEYS if len(key.keys) == 1}
    bare = {
        path.name
        for path in pages()
        if keys & set(re.findall(r"`([^`\n]+)`", without_blocks(read(path))))
        and not any(link.endswith(".svg") for link in links(read(path)))
    }
    assert bare == {*WITHOUT_PICTURES}


def test_readme_is_short_and_shows_the_tour() -> None:
    text = read(README)
    assert text.count("\n") <= MOST_LINES
    assert text.index("](docs/tour.svg)") < text.index("\n## ")


def unsupported(text: str) -> list[str]:
    """Figures of the table of README that its source does not have, and rows without a source."""
    section = text.partition("\n## Measured\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    reliability = read(DOCS / "reliability.md")
    wrong = [] if rows else ["no table"]
    for what, figure, source in rows:
        number = re.search(r"row (\d+)", source)
        if "reliability" in source:
            held = next(
                (line for line in reliability.splitlines() if number and line.startswith(f"| {number[1]} |")),
                "",
            )
            held = held if number else reliability
        else:
            held = read(ROOT / "cockpit" / "DECISIONS.md") if "DECISIONS.md" in source else ""
        numbers = re.findall(r"\d[\d.,]*(?: / [\d.,]+)?(?= |$)", figure)
        if not numbers or any(value not in held for value in numbers):
            wrong.append(what.removeprefix("| "))
    return wrong


def test_every_figure_of_readme_is_in_its_source() -> None:
    text = read(README)
    assert unsupported(text) == []
    assert unsupported(text.replace("| 75 s |", "| 74.5 s |")) == [
        "a link that swallows everything: noticed after"
    ]


def test_the_page_of_templates_has_every_type_and_every_marker() -> None:
    text = read(DOCS / "templates.md")
    assert re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE) == list(TYPES)
    assert [marker for marker in MARKERS if f"`{{{marker}:" not in text and f"`{marker}:" not in text] == []


def test_the_page_of_pools_has_every_owner() -> None:
    owners = [type(owner).__module__.split(".")[2].replace("_", " ") for owner in registry.owners()]
    table = read(DOCS / "pools.md").partition("\n## Who decides the size\n")[2].partition("\n## ")[0].lower()
    assert len(owners) >= 7
    assert [owner for owner in owners if owner not in table] == []


def test_every_block_says_its_language() -> None:
    assert [block for path in pages() for block in blocks(path) if not block.language] == []
