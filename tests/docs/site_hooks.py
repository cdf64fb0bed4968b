"""Hooks of MkDocs: what pages link to outside `docs/` becomes part of the site, at its path here; so does a
page for each cause of the catalogue."""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from tests.docs.cause_pages import cause_pages, index

INDEX = "causes.md"
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
_FENCE = re.compile(r"^(```\w+) [^\n`]*$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds each linked file outside `docs/`, and what its page links to, and the pages of the causes."""
    pages = list(files.documentation_pages())
    while pages:
        page = pages.pop()
        text = Path(str(page.abs_src_path)).read_text("utf-8")
        for target in LINK.findall(text):
            source = _source(page.src_uri, target)
            if not source.startswith("../") or files.get_file_from_path(source):
                continue
            if (Path(config.docs_dir) / source).is_file():
                added = _outside(source, config)
                files.append(added)
                pages += [added] if added.is_documentation_page() else []
    if files.get_file_from_path(INDEX):
        for name, text in cause_pages().items():
            made = File.generated(config, name, content=text, inclusion=InclusionLevel.NOT_IN_NAV)
            files.append(made)
    return files


def _source(page: str, target: str) -> str:
    """The path that a link of a page leads to, from `docs/`."""
    source = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return source.removeprefix("../docs/")


def _outside(source: str, config: MkDocsConfig) -> File:
    """`../deploy/README.md` is `deploy/index.html` of the site; a file that is no page keeps its name."""
    target = source.removeprefix("../")
    target = re.sub(r"README\.md$", "index.md", target)
    target = re.sub(r"\.md$", ".html", target)
    added = File(source, config.docs_dir, config.site_dir, use_directory_urls=False, dest_uri=target)
    added.inclusion = InclusionLevel.INCLUDED  # a path that begins with a dot is left out otherwise
    return added


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links back into `docs/` from its root; blocks without what is behind their language, of which
    Python-Markdown knows nothing; links from the index to the pages of the causes."""

    def into_docs(link: re.Match[str]) -> str:
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), link[1]))
        inside = source.startswith("../docs/")
        return link[0].replace(link[1], source.removeprefix("../docs"), 1) if inside else link[0]

    if page.file.src_uri == INDEX:
        markdown = "\n".join(index(is_linked=True))
    return LINK.sub(into_docs, _FENCE.sub(r"\1", markdown))
