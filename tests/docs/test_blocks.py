"""The shell blocks of README and the pages run as they are written.

Behind the language of a block stands what it needs: nothing, `embedded cluster`, or `not run: REASON`.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from cockpit.cli import build_parser
from cockpit.jobs.template import read_template
from tests.docs.markdown_pages import DOCS, Block, blocks, pages
from tests.tui.embedded import embedded

EMBEDDED: Final = "embedded cluster"
NOT_RUN: Final = re.compile(r"not run: \w.+")
SHELLS: Final = frozenset({"sh", "bash", "shell", "console"})
SECONDS: Final = 120


def shell_blocks(path: Path) -> list[Block]:
    """The blocks of a page that a shell reads."""
    return [block for block in blocks(path) if block.language in SHELLS]


def lines(text: str) -> list[str]:
    """The commands of a block, continued lines joined."""
    joined = text.replace("\\\n", " ").splitlines()
    return [line for line in joined if line.strip() and not line.startswith("#")]


def passes(line: str, code: int) -> bool:
    """`why` and `triage` answer 3 where something needs a human."""
    return code == 0 or (
        code == 3 and line.removeprefix("COCKPIT_PLAIN=1 ").startswith(("cockpit why", "cockpit triage"))
    )


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with embedded(tmp_path_factory.mktemp("embedded"), "default", 30) as made:
        yield made


RUN = [path for path in pages() if any(block.info in {"", EMBEDDED} for block in shell_blocks(path))]


@pytest.mark.waits
@pytest.mark.parametrize("path", RUN, ids=lambda path: path.stem)
def test_the_blocks_of_a_page_run_in_their_order(path: Path, kubeconfig: Path, tmp_path: Path) -> None:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    empty = {"HOME": str(tmp_path), "PATH": programs, "LANG": "C.UTF-8", "NO_COLOR": "1"}
    ran = 0
    for block in shell_blocks(path):
        if block.info not in {"", EMBEDDED}:
            continue
        env = empty | ({"KUBECONFIG": str(kubeconfig)} if block.info else {})
        for line in lines(block.text):
            done = subprocess.run(
                ["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True,
                check=False, timeout=SECONDS, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert passes(line, done.returncode), (
                f"{block.page}:{block.line}: {line}\n{done.stdout}{done.stderr}"
            )
            ran += 1
    assert ran


def test_what_is_not_run_says_why() -> None:
    found = [block for path in pages() for block in shell_blocks(path)]
    assert len(found) > 25
    wrong = [
        f"{block.page}:{block.line}: {block.info}"
        for block in found
        if block.language != "sh" or not (block.info in {"", EMBEDDED} or NOT_RUN.fullmatch(block.info))
    ]
    assert wrong == []
    assert {path.name for path in RUN} >= {"README.md", "first-ten-minutes.md"}


def test_every_command_of_the_pages_is_one_of_the_grammar() -> None:
    parser, seen = build_parser(), 0
    for path in pages():
        for block in shell_blocks(path):
            for line in lines(block.text):
                words = shlex.split(line.partition(" | ")[0].replace("</dev/null", ""), comments=True)
                if words[0] == "cockpit" and words[1:] != ["--version"]:  # which ends the parser
                    parser.parse_args(words[1:])
                    seen += 1
    assert seen > 60


def test_the_templates_of_the_page_are_whole() -> None:
    found = [block for block in blocks(DOCS / "templates.md") if block.text.startswith("template:")]
    assert found
    for block in found:
        assert read_template(block.text, f"{block.page}:{block.line}").name
