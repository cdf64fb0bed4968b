"""Each cause has a page of the site; what stands there is what the program says."""

import shlex

import pytest

from cockpit.catalogue import by_cause
from cockpit.cli import build_parser
from cockpit.views.cause_page import more_of
from tests.docs.cause_pages import cause_pages, index
from tests.docs.markdown_pages import DOCS, anchors, blocks_of, links, read

ONLY_FOLLOW = {"gang-finds-no-room", "gang-refused", "held-before-queue"}
"""Causes that a member of the job explains, which is then the headline."""
NEVER_RECORDED = {"declared-finished", "schedule-never-due"}


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return cause_pages()


def test_each_cause_has_a_page_and_the_index_of_the_site_links_it(pages: dict[str, str]) -> None:
    assert list(pages) == [f"causes/{cause}.md" for cause in by_cause()]
    listed = links("\n".join(index(is_linked=True)))
    assert listed == list(pages)
    assert links(read(DOCS / "causes.md")) == [], "the repository has no such page"


def test_every_link_of_a_page_leads_to_a_page_or_a_heading(pages: dict[str, str]) -> None:
    headings = anchors(read(DOCS / "causes.md"))
    for name, text in pages.items():
        for link in links(text):
            target, _, anchor = link.partition("#")
            is_there = anchor in {"", *headings} if target == "../causes.md" else f"causes/{target}" in pages
            assert is_there, f"{name}: {link}"


def test_each_page_says_what_helps_and_shows_an_answer_to_a_command(pages: dict[str, str]) -> None:
    parser, without = build_parser(), set()
    for row, text in zip(by_cause().values(), pages.values(), strict=True):
        shown = [block.text for block in blocks_of(text, row.cause)]
        if not shown:
            without.add(row.cause)
            continue
        (answer,) = shown
        command, *said = answer.splitlines()
        parser.parse_args(shlex.split(command.removeprefix("$ cockpit ")))
        assert said[-1] == more_of(row.cause)
        assert f"| what helps | {row.remedy.sentence}" in text.replace("\\", "")
    assert without == ONLY_FOLLOW | NEVER_RECORDED


def test_why_names_the_page_of_a_cause_and_links_it_where_the_site_is_known() -> None:
    assert more_of("taint") == "More: cockpit why --explain taint (causes/taint.html of the documents)"
    assert more_of("taint", "https://docs.example/gpu/") == "More: https://docs.example/gpu/causes/taint.html"
    assert more_of("no-such-cause", "https://docs.example") == ""
