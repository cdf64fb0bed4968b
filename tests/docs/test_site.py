"""The site builds without a warning, and every link leads to something that exists."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cockpit.catalogue import by_cause
from cockpit.views.cause_page import PAGE

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "mkdocs.yml"


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(site)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.waits
def test_it_builds_without_a_warning_and_asks_no_other_server(tmp_path: Path) -> None:
    built = build(CONFIG, tmp_path / "site")
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr, built.stderr
    for page in (
        "index.html",
        "causes.html",
        "SECURITY.html",
        "deploy/index.html",
        "cockpit/ARCHITECTURE.html",
    ):
        assert (tmp_path / "site" / page).is_file(), page
    index = (tmp_path / "site/causes.html").read_text("utf-8")
    for page in map(PAGE.format, by_cause()):
        assert (tmp_path / "site" / page).is_file() and f'href="{page}"' in index, page
    for path in (tmp_path / "site").rglob("*.html"):
        text = path.read_text("utf-8")
        assert "|" not in text or not re.search(r"<code>[^<]*\\\|", text), (
            f"{path}: a mark of the source is shown"
        )
        assert '<script src="http' not in text and '<link href="http' not in text, path


@pytest.mark.waits
@pytest.mark.parametrize("link", ["gone.md", "../gone.md", "index.md#gone"])
def test_a_link_that_leads_nowhere_ends_the_build(tmp_path: Path, link: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n\n[there]({link})\n")
    text = CONFIG.read_text("utf-8").partition("\nnav:\n")[0].replace("tests/docs/", f"{ROOT}/tests/docs/")
    (tmp_path / "mkdocs.yml").write_text(text)
    built = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert built.returncode == 1 and "gone" in built.stderr
