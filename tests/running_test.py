"""A pytest plugin that keeps the id of the running test in a file, so that a parent process can name it."""

import os
from pathlib import Path

import pytest

FILE_VARIABLE = "GPU_COCKPIT_RUNNING_TEST"
BETWEEN = "outside of a test"
"""Collecting, a fixture of the session, or the end."""


def _write(text: str) -> None:
    if path := os.environ.get(FILE_VARIABLE):
        Path(path).write_text(text)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Before the first fixture of a test."""
    _write(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish() -> None:
    """After the last fixture of a test is taken down."""
    _write(BETWEEN)
