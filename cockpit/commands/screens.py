"""`cockpit` without a command: the screens."""

import argparse
import asyncio
import os

from cockpit import gc_tuning
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.exposure import exposure_notes
from cockpit.commands.output import note
from cockpit.commands.settings import (
    attach_options,
    contexts_given,
    each_attach_options,
    settings_in_force,
)
from cockpit.errors import BadInput
from cockpit.kube.logins import Logins, ask_first
from cockpit.local_state.paths import state_folder
from cockpit.standard_streams import draw_on_terminal, is_plain
from cockpit.terminal import is_terminal, own_terminal, screen_fault


def run(options: argparse.Namespace) -> int:
    """Open the screens and stay until they are left; a terminal that shows none gets the overview once."""
    if not (is_terminal() or is_plain()):
        raise BadInput("the screens need a terminal; for text output use cockpit get overview")
    settings = settings_in_force()
    contexts = contexts_given(options) or (
        () if getattr(options, "context", None) else settings.open_contexts
    )
    options.contexts = ",".join(contexts) or None
    if fault := screen_fault():
        from cockpit.commands import get, get_clusters

        note([fault])
        return get_clusters.run(argparse.Namespace(**{**vars(options), **get.OVERVIEW}))
    gc_tuning.expect_many()  # its rounds would take a tenth of the imports for the first frame
    chosen, *others = (
        each_attach_options(options, settings, contexts) if contexts else (attach_options(options, settings),)
    )
    logins = _logged_in(chosen)
    from cockpit.app import AppOptions
    from cockpit.app import run as run_app

    notes = dict.fromkeys(note for each in (chosen, *others) for note in exposure_notes(each, settings))
    draw_on_terminal()
    return run_app(
        AppOptions(
            attach_to=chosen,
            attach_also=tuple(others),
            settings=settings,
            state_folder=state_folder(os.environ),
            first_note="; ".join(notes),
            logins=logins,
        )
    )


def _logged_in(chosen: AttachOptions) -> Logins:
    """A credential plugin that may ask a person asks here, before the screens have the terminal."""
    logins = Logins(own_terminal())
    asyncio.run(ask_first(logins, chosen.kubeconfig, chosen.context, SystemClock()))
    return logins
