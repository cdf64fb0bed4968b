"""The cockpit's folders (XDG base directories) as text, for what has no time to import `paths` as well."""

import os
from collections.abc import Mapping

_NAME = "gpu-cockpit"


def config_folder_name(environment: Mapping[str, str]) -> str:
    """`$XDG_CONFIG_HOME/gpu-cockpit`, else `~/.config/gpu-cockpit`."""
    return _below(environment, "XDG_CONFIG_HOME", ".config")


def state_folder_name(environment: Mapping[str, str]) -> str:
    """`$XDG_STATE_HOME/gpu-cockpit`, else `~/.local/state/gpu-cockpit`."""
    return _below(environment, "XDG_STATE_HOME", ".local/state")


def _below(environment: Mapping[str, str], variable: str, below_home: str) -> str:
    named = environment.get(variable, "")
    # The specification says that a relative path is to be ignored.
    if not os.path.isabs(named):
        named = os.path.join(environment.get("HOME", "") or os.path.expanduser("~"), below_home)
    return os.path.join(named, _NAME)
