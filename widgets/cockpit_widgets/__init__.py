"""Generic, fast, keyboard-first Textual widgets. Knows no Kubernetes and no cockpit.

Names are imported late, so that `cockpit_widgets.types` costs no Textual import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cockpit_widgets.cell_grid import CellGrid
    from cockpit_widgets.dialogs import ChoiceDialog, ConfirmDialog
    from cockpit_widgets.form import Form
    from cockpit_widgets.heatmap import Heatmap
    from cockpit_widgets.help_dialog import HelpDialog
    from cockpit_widgets.key_footer import KeyFooter
    from cockpit_widgets.key_values import KeyValues
    from cockpit_widgets.line_input import LineInput
    from cockpit_widgets.log_view import LogView
    from cockpit_widgets.meter import Meter
    from cockpit_widgets.note_dialog import NoteDialog
    from cockpit_widgets.resource_table import ResourceTable
    from cockpit_widgets.sparkline import Sparkline
    from cockpit_widgets.status_line import StatusLine
    from cockpit_widgets.tab_line import TabLine

_HOMES = {
    "ResourceTable": "resource_table",
    "CellGrid": "cell_grid",
    "Heatmap": "heatmap",
    "Sparkline": "sparkline",
    "Meter": "meter",
    "StatusLine": "status_line",
    "TabLine": "tab_line",
    "Form": "form",
    "ConfirmDialog": "dialogs",
    "NoteDialog": "note_dialog",
    "ChoiceDialog": "dialogs",
    "HelpDialog": "help_dialog",
    "LogView": "log_view",
    "KeyValues": "key_values",
    "KeyFooter": "key_footer",
    "LineInput": "line_input",
}

__all__ = [
    "CellGrid",
    "ChoiceDialog",
    "ConfirmDialog",
    "Form",
    "Heatmap",
    "HelpDialog",
    "KeyFooter",
    "KeyValues",
    "LineInput",
    "LogView",
    "Meter",
    "NoteDialog",
    "ResourceTable",
    "Sparkline",
    "StatusLine",
    "TabLine",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
