"""Pages made from the program are those of this program."""

import re

from cockpit.catalogue import by_cause
from tests.docs.generated import pages
from tests.docs.markdown_pages import DOCS


def test_the_pages_are_those_of_this_program() -> None:
    for name, text in pages().items():
        assert (DOCS / name).read_text("utf-8") == text, f"docs/{name} is stale: run make docs, commit it"


def test_every_command_and_every_cause_is_there() -> None:
    made = pages()
    commands = {line for line in made["commands.md"].splitlines() if line.startswith("## cockpit ")}
    assert {"## cockpit get", "## cockpit job submit", "## cockpit pool scale"} <= commands
    assert len(commands) > 40
    causes = re.findall(r"^\| `(.+?)` \|", made["causes.md"], re.MULTILINE)
    assert causes == list(by_cause())
