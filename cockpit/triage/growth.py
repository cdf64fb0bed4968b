"""Why a job that runs with fewer pods than it asks for does not grow yet."""

from cockpit.catalogue import BY_CAUSE
from cockpit.gangs import registry
from cockpit.gangs.wording import say
from cockpit.jobs.row import SliceGrowth
from cockpit.model.store_reader import StoreReader
from cockpit.model.sureness import Sureness
from cockpit.triage.blocker import Blocker
from cockpit.triage.verdict import Evidence


def why_not_grown(growth: SliceGrowth, store: StoreReader) -> Blocker:
    """The cause of the slice that waits, and how many pods run meanwhile."""
    told = registry.engine_of_workload(growth.then).admission(growth.then, store, {})
    text = f"{growth.pods_now} of {growth.pods_then} pods admitted; the others: {{why}}"
    return Blocker(
        cause=told.cause,
        sentence=say(text, why=told.reason),
        sureness=told.sureness if told.cause in BY_CAUSE else Sureness.SAID,
        facts=told.facts,
        evidence=(Evidence(f"Workload {growth.then.key}", "admission", told.message, told.since_seconds),),
        since_seconds=told.since_seconds,
    )
