"""Pages made from the program are those of this program."""

from cockpit.catalogue import by_cause
from tests.docs.generated import DOCS, pages


def test_the_pages_are_those_of_this_program() -> None:
    for name, text in pages().items():
        assert (DOCS / name).read_text("utf-8") == text, f"docs/{name} is stale: run make docs, commit it"


def test_every_command_and_every_cause_has_a_section() -> None:
    made = pages()
    commands = {line for line in made["commands.md"].splitlines() if line.startswith("## cockpit ")}
    assert {"## cockpit get", "## cockpit job submit", "## cockpit pool scale"} <= commands
    assert len(commands) > 40
    causes = [line for line in made["causes.md"].splitlines() if line.startswith("### ")]
    assert causes == [f"### {cause}" for cause in by_cause()]
    assert made["causes.md"].count("\n- What helps (") == len(causes)
