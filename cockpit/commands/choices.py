"""`cockpit template choices NAME [PARAMETER]`: what the cluster offers where a form would let one choose."""

import argparse
import asyncio

from cockpit.actions.field_choices import Offer, ask_offers, asked_lists, known_offer
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.commands.attached import attached
from cockpit.commands.output import grid, note, put
from cockpit.commands.patience import within
from cockpit.commands.settings import attach_options, one_namespace, settings_in_force
from cockpit.commands.submitting import lookup_in
from cockpit.errors import BadInput, NoConnection, Refused
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.template import Template, load_library
from cockpit.kube.discovery import discover
from cockpit.model.record import Kind

KINDS = (Kind.NODE, Kind.NAMESPACE, Kind.LOCAL_QUEUE)


def show(options: argparse.Namespace) -> int:
    """Print the choices of one parameter, or of all that have any."""
    settings = settings_in_force()
    template = load_library(settings.template_folders).named(options.name)
    wanted = [parameter for parameter in template.parameters if parameter.choices_from]
    if options.parameter:
        one = template.parameter(options.parameter)
        if one is None or not one.choices_from:
            names = ", ".join(each.name for each in wanted)
            what = f"parameter {options.parameter!r} of {template.name}"
            raise BadInput(f"{what} takes no values from the cluster; these do: {names}")
        wanted = [one]
    return asyncio.run(
        within(options.timeout, _show(template, wanted, options, attach_options(options, settings)))
    )


async def _show(
    template: Template, wanted: list[Parameter], options: argparse.Namespace, chosen: AttachOptions
) -> int:
    async with attached(chosen, SystemClock()) as live:
        try:
            note(await live.settle(KINDS, options.timeout))
        except Refused as error:
            note((error.sentence,))
        session = live.attachment.session
        if session is None:
            raise NoConnection(live.attachment.sentence or "not connected to a cluster")
        served = live.attachment.served or await discover(session)
        where = one_namespace(chosen) or session.namespace or "default"
        sources = sorted({item.choices_from for item in wanted})
        offers = await ask_offers(session, lookup_in(served), sources, where)
        for source in sources:
            if source not in asked_lists():
                offers[source] = known_offer(source, live.attachment.store, where)
    rows = [[item.name, *row] for item in wanted for row in _rows(offers[item.choices_from])]
    put(grid(["parameter", "value", "note"], rows))
    if len(wanted) == 1 and (offer := offers[wanted[0].choices_from]).is_denied:
        raise Refused(f"{wanted[0].name}: {offer.told}")
    return 0


def _rows(offer: Offer) -> list[list[str]]:
    found = [[name, offer.notes.get(name, "")] for name in offer.values]
    return [*found, ["", offer.told]] if offer.told else found or [["", "nothing to choose from"]]
