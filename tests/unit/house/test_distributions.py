"""What is installed: the cockpit without the demo's packages, the exporter without the cockpit."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.release.bill_of_materials import COCKPIT, EXPORTER, ROOT

CHANGELOG = ROOT / "CHANGELOG.md"
MOST_CHANGELOG_LINES = 150
IMPORTED_AS = {
    "grpcio": "grpc",
    "nvidia-ml-py": "pynvml",
    "protobuf": "google",
}
"""Distribution to the module that it installs, where the names differ."""


def project(folder: Path) -> dict[str, Any]:
    tree: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return tree


def modules_of(requirements: list[str]) -> set[str]:
    names = {requirement.partition(">")[0].partition("=")[0] for requirement in requirements}
    return {IMPORTED_AS.get(name, name) for name in names}


def imports_below(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        if path.name == "generate.py":
            continue  # run by `make proto` in a checkout
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names


def test_the_exporter_imports_only_its_own_dependencies() -> None:
    exporter = project(ROOT / "exporter")
    assert imports_below(ROOT / "exporter/cockpit_exporter") == modules_of(exporter["dependencies"]) | {
        "cockpit_exporter"
    }


def test_a_version_is_dated_in_the_changelog_and_the_same_for_both() -> None:
    version = COCKPIT.version()
    assert version == EXPORTER.version()
    assert re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", CHANGELOG.read_text(), re.MULTILINE)
    for folder in (ROOT, ROOT / "exporter"):
        assert project(folder)["dynamic"] == ["version"]
        assert set(project(folder)["classifiers"]) >= {
            f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)
        }
    assert (ROOT / "exporter/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_changelog_is_read_in_one_sitting() -> None:
    assert len(CHANGELOG.read_text().splitlines()) <= MOST_CHANGELOG_LINES


def test_the_extra_demo_is_what_the_embedded_cluster_imports_and_the_product_does_not() -> None:
    product = project(ROOT)
    extra = modules_of(product["optional-dependencies"]["demo"])
    everything = imports_below(ROOT / "cockpit/sim")
    rest = {
        name
        for path in (ROOT / "cockpit").iterdir()
        if path.is_dir() and path.name != "sim"
        for name in imports_below(path)
    }
    assert extra <= everything
    assert not extra & rest
    assert not extra & modules_of(product["dependencies"])


def test_a_demo_without_its_extra_says_the_one_command(tmp_path: Path) -> None:
    program = "import sys; sys.modules['cryptography'] = None; from cockpit.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", program, "demo"],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "cockpit: cockpit demo: cryptography is not installed; install the embedded cluster's packages by "
        "pip install 'gpu-cockpit[demo]'\n"
    )
