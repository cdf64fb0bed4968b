"""`python -m tests.docs`: write the pages that are made from the program."""

from tests.docs.generated import pages
from tests.docs.markdown_pages import DOCS

for name, text in pages().items():
    (DOCS / name).write_text(text, encoding="utf-8")
