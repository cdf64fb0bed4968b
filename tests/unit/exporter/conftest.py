"""Boxes of cards for the exporter's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.exporter.standin import Box, compiled


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in as a driver of today."""
    return compiled(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stand-in as an old driver, which lacks a dozen symbols."""
    return compiled(tmp_path_factory.mktemp("nvml-old"), "-DOLD_DRIVER")


@pytest.fixture
def box(library: Path, tmp_path: Path) -> Iterator[Box]:
    made = Box(library, tmp_path)
    yield made
    made.close()


@pytest.fixture
def old_box(old_library: Path, tmp_path: Path) -> Iterator[Box]:
    made = Box(old_library, tmp_path)
    yield made
    made.close()
