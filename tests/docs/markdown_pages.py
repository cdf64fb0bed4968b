"""What the tests read of the pages: their blocks, links, headings and pictures."""

import re
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
_FENCED = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"``.*?``|`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SPECIAL = re.compile(r"([\\`*_<>\[\]|])")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page: the line of its fence from 1, the language, what is behind that, the text."""

    page: str
    line: int
    language: str
    info: str
    text: str


def read(path: Path) -> str:
    """The text of a page."""
    return path.read_text("utf-8")


def pages() -> list[Path]:
    """README and every page of `docs/`."""
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of a page in their order."""
    return blocks_of(read(path), path.name)


def blocks_of(text: str, page: str) -> list[Block]:
    """The same of a text."""
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, *_info(found[1]), found[2])
        for found in _FENCED.finditer(text)
    ]


def _info(fence: str) -> tuple[str, str]:
    language, _, info = fence.strip().partition(" ")
    return language, info.strip()


def sections(path: Path) -> dict[str, str]:
    """Heading of the second level -> the text below it."""
    parts = (part.partition("\n") for part in read(path).split("\n## ")[1:])
    return {heading: text for heading, _, text in parts}


def without_blocks(text: str) -> str:
    """A page without its fenced blocks."""
    return _FENCED.sub("", text)


def links(text: str) -> list[str]:
    """Targets of links and pictures, but for those in code."""
    return _LINK.findall(_CODE.sub("", without_blocks(text)))


def anchors(text: str) -> set[str]:
    """The anchors that GitHub and MkDocs give to the headings."""
    headings = _HEADING.findall(without_blocks(text))
    kept = (re.sub(r"[^\w\s-]", "", heading.lower()).strip() for heading in headings)
    return {re.sub(r"\s", "-", heading) for heading in kept}


def anchor(heading: str) -> str:
    """The anchor of one heading."""
    (found,) = anchors(f"# {heading}\n")
    return found


def sentence(text: str) -> str:
    """Plain text as a sentence of Markdown."""
    escaped = plain(text).rstrip(".")
    return f"{escaped[:1].upper()}{escaped[1:]}."


def plain(text: str) -> str:
    """Text in which Markdown finds no mark."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Text as Markdown's code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"
