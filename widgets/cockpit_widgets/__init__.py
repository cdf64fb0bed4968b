"""Generic, fast, keyboard-first Textual widgets. Knows no Kubernetes and no cockpit.

Names are imported late, so that `cockpit_widgets.types` costs no Textual import.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "ResourceTable": "resource_table",
    "Heatmap": "heatmap",
    "Sparkline": "sparkline",
    "Meter": "meter",
    "StatusLine": "status_line",
    "Form": "form",
    "ConfirmDialog": "dialogs",
    "ChoiceDialog": "dialogs",
    "HelpDialog": "dialogs",
    "LogView": "log_view",
    "KeyValues": "key_values",
    "KeyFooter": "key_footer",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
