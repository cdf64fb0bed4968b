"""`cockpit` without a command: the screens."""

import argparse
import sys

from cockpit.commands.choose import attach_options, settings_in_force
from cockpit.errors import BadInput


def run(options: argparse.Namespace) -> int:
    """Open the screens and stay until they are left."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise BadInput("the screens need a terminal; for text use cockpit get overview")
    chosen = attach_options(options, settings_in_force())
    from cockpit.app import AppOptions
    from cockpit.app import run as run_app

    return run_app(AppOptions(attach_to=chosen))
