"""The widgets stand alone: a bare interpreter with only their folder and the installed packages."""

import subprocess
import sys
from pathlib import Path
from sysconfig import get_paths

WIDGETS = Path(__file__).parents[3] / "widgets"

_HEAD = """
import sys
sys.path[:] = [entry for entry in sys.path if entry and 'site-packages' not in entry]
sys.path += {paths!r}
"""


def bare(code: str) -> list[str]:
    """Run `code` in an isolated interpreter without site packages of its own; the words it prints."""
    head = _HEAD.format(paths=[str(WIDGETS), get_paths()["purelib"]])
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", head + code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_every_widget_imports_without_cockpit_and_kubernetes() -> None:
    loaded = bare(
        "import cockpit_widgets\n"
        "for name in cockpit_widgets.__all__:\n"
        "    getattr(cockpit_widgets, name)\n"
        "print('count', len(cockpit_widgets.__all__), *sys.modules)\n"
    )
    assert loaded[:2] == ["count", "16"]
    assert "textual.app" in loaded
    roots = {name.partition(".")[0] for name in loaded}
    assert not roots & {"cockpit", "kubernetes", "yaml", "prometheus_api_client", "aiohttp", "requests"}


def test_the_types_and_the_pure_parts_cost_no_textual() -> None:
    loaded = bare(
        "import cockpit_widgets.types, cockpit_widgets.glyphs, cockpit_widgets.columns\n"
        "import cockpit_widgets.heat_layout, cockpit_widgets.form_rules, cockpit_widgets.help_layout\n"
        "import cockpit_widgets.choices\n"
        "print(*sys.modules)\n"
    )
    assert "cockpit_widgets.types" in loaded
    assert not {name.partition(".")[0] for name in loaded} & {"textual", "cockpit", "kubernetes"}


def test_the_types_cost_no_rich_either() -> None:
    loaded = bare("import cockpit_widgets.types\nprint(*sys.modules)\n")
    assert not {name.partition(".")[0] for name in loaded} & {"textual", "rich"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert bare(
        "import cockpit_widgets\n"
        "try:\n"
        "    cockpit_widgets.DataTable\n"
        "except AttributeError as error:\n"
        "    print('DataTable' in str(error))\n"
    ) == ["True"]
