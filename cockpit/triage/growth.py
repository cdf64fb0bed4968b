"""Why a job that runs with fewer pods than it asks for does not grow yet."""

from msgspec.structs import replace

from cockpit.gangs import registry
from cockpit.gangs.wording import say
from cockpit.jobs.row import SliceGrowth
from cockpit.model.finding import Finding
from cockpit.model.store_reader import StoreReader


def why_not_grown(growth: SliceGrowth, store: StoreReader) -> Finding:
    """The cause of the slice that waits, and how many pods run meanwhile."""
    held = registry.admits_of(growth.then).admission(growth.then, store, {}, False).why
    text = f"{growth.pods_now} of {growth.pods_then} pods admitted; the others: {{why}}"
    return replace(held, sentence=say(text, why=held.sentence), words="")
