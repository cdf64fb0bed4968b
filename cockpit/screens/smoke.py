"""`U`: the form of a node's smoke test; what comes of it is told when it ends."""

from functools import partial
from typing import Any

from cockpit.actions.smoke import TEMPLATE, made, name_for, watch
from cockpit.errors import CockpitError
from cockpit.model.plan import Outcome, Plan
from cockpit.screens.app_protocol import Cockpit
from cockpit.screens.submit import SubmitScreen
from cockpit.views.fit import fit_on_node


class SmokeScreen(SubmitScreen):
    """The template of the test, for one node; the Job is taken away when it has ended."""

    keeps_values = False

    def __init__(self, node: str, namespace: str) -> None:
        super().__init__(TEMPLATE, {"node": node, "name": name_for(node), "namespace": namespace})
        self._node = node

    @property
    def heading(self) -> str:
        return f"smoke test of {self._node}"

    @property
    def title_of_form(self) -> str:
        return f"Smoke test of node {self._node}"

    @property
    def has_engine(self) -> bool:
        """It waits in no queue."""
        return False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is no other template of it to pick."""
        return False if action == "template" else super().check_action(action, parameters)

    def _fits(self, plan: Plan, *, with_changes: bool) -> list[str]:
        """Another node is no help: the test is of this one."""
        view, node = self.outlook.view(), self._values.get("node", self._node)
        body, namespace = plan.calls[0].body, self.cockpit.default_namespace
        return fit_on_node(body, view.store, node, view.around, namespace)

    def _submitted(self, outcome: Outcome) -> None:
        if not outcome.is_done or self._plan is None or self.app.screen is not self:
            return
        self.cockpit.spawn(partial(_follow, self.cockpit, self, self._plan, self._node), "smoke test")
        self.dismiss(None)


async def _follow(cockpit: Cockpit, form: SmokeScreen, plan: Plan, node: str) -> None:
    """Follow it to its end in the background."""
    app: Any = cockpit
    template, values = form.template, dict(form._values)
    try:
        session = app.cluster.connected()
        job = await made(session, plan)
        if job is None:
            return
        tell = partial(app.notify, severity="warning")
        app.notify(f"{plan.calls[0].target} tests node {node}: its result is shown when it ends")
        verdict, _lines = await watch(
            template, values, session, cockpit.clock, job, audit=cockpit.audit(), told=tell
        )
    except CockpitError as error:
        app.notify(f"smoke test of node {node}: {error.sentence}", severity="error")
        return
    word, severity = ("pass", "information") if verdict.is_pass else ("FAIL", "error")
    app.notify(f"{word}: node {node}: {verdict.sentence}", severity=severity)
