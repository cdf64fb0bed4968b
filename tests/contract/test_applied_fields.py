"""A field that a second manager holds by apply: the plan names both, and no yes alone takes it."""

from collections.abc import Awaitable

import pytest

from cockpit.actions.execute.run_verb import Intent, Tried, What, carry_verb
from cockpit.actions.planner import NoOptions
from cockpit.actions.planning import Planning
from cockpit.actions.verbs.job import SUSPEND
from cockpit.clock import SystemClock
from cockpit.model.job import Job, JobState
from cockpit.model.plan import Plan
from cockpit.store.store import Store
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import APPLY, Api
from tests.contract.asking import in_space
from tests.contract.conftest import Connect
from tests.contract.shapes import job
from tests.contract.verb_objects import served
from tests.reliability.figures import Tell
from tests.unit.actions.builders import Lines

BATCH = "/apis/batch/v1"


class Reads:
    """Reads what is asked and says yes, by a key (`types` False) or by what is to be typed."""

    asks_again = True

    def __init__(self, *, types: bool) -> None:
        self.types = types
        self.face: Plan | None = None

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        self.face = face
        tried = await trial
        return tried if self.types or not face.typed else None


@pytest.mark.row(52, "fields taken from a manager by default", most=0)
@pytest.mark.row(52, "plans that name manager and field", least=2)
@pytest.mark.row(52, "applies with force that were sent", most=0)
@pytest.mark.row(52, "fields taken after the second confirmation", least=1)
async def test_a_field_of_another_manager_is_taken_only_by_typing_its_name(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    path = in_space(space, "jobs", "train", base=BATCH)
    tree = job("train", suspend=False)
    made = admin.request("PATCH", path, tree, query=[("fieldManager", "argo")], content_type=APPLY)
    assert made.status == 201
    session = await connect(write=True, through=proxy)

    async def suspend(*, types: bool) -> tuple[Reads, bool]:
        about = admin.get(path)["metadata"]
        row = Job(
            key=f"Job/{space}/train", uid=about["uid"], api_version="batch/v1", kind="Job", namespace=space,
            name="train", resource_version=about["resourceVersion"], state=JobState.RUNNING,
        )  # fmt: skip

        def fresh(*, reads: bool = False) -> Planning:
            return Planning(Store(), session, served, "prod", {row.key: row}, reads=reads)

        reader = Reads(types=types)
        await carry_verb(Intent(SUSPEND, (row,), NoOptions()), fresh, Lines, SystemClock(), asker=reader)
        return reader, bool(admin.get(path)["spec"]["suspend"])

    by_default, was_taken = await suspend(types=False)
    by_name, is_taken = await suspend(types=True)
    figure("fields taken from a manager by default", int(was_taken))
    figure("fields taken after the second confirmation", int(is_taken))
    told = [one.face for one in (by_default, by_name) if one.face is not None]
    words = "spec.suspend is held by argo (apply)"
    named = [face for face in told if face.typed == "argo" and words in " ".join(face.warnings)]
    figure("plans that name manager and field", len(named))
    forced = [seen for seen in proxy.seen if "force" in seen.query]
    figure("applies with force that were sent", len(forced))
