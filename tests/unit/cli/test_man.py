"""`cockpit man`: every command and option, in roff that the formatter takes without a warning."""

import argparse
import shutil
import subprocess

import pytest

from cockpit import cli
from cockpit.commands.man import commands, page
from tests.unit.cli.builders import run
from tests.unit.cli.test_commands import Capture


def test_the_page_has_every_command_and_option(capsys: Capture) -> None:
    code, out, err = run(capsys, "man")
    assert (code, err) == (0, "")
    text = out.replace(r"\-", "-")
    parsers = list(commands(cli.build_parser()))
    assert len(parsers) > 40
    for parser in parsers:
        assert f'.SS "{parser.prog}"' in text
        options = [
            name
            for action in parser._actions
            for name in action.option_strings
            if action.help != argparse.SUPPRESS
        ]
        assert all(name in text for name in options)
    assert text.count("--prometheus-token-file") == 1
    assert "complete-names" not in text


@pytest.mark.parametrize(
    "words", [("mandoc", "-Tlint", "-Wwarning"), ("groff", "-man", "-ww", "-Tutf8", "-z")]
)
def test_a_formatter_takes_it_without_a_warning(words: tuple[str, ...]) -> None:
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    text = "\n".join(page(cli.build_parser())) + "\n"
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
