"""The detail of a row of *Now*, explained again where the store moved."""

from cockpit.screens.app_protocol import Cockpit
from cockpit.screens.explanation import Explanation
from cockpit.triage.engine import is_explained
from cockpit.triage.troubles import Trouble
from cockpit.views.detail import Detail
from cockpit.views.why_detail import finding_detail


class ProblemDetail:
    """Keeps the explanation of the row that was asked for last."""

    def __init__(self, cockpit: Cockpit) -> None:
        self._cockpit = cockpit
        self._about: Explanation | None = None

    def of(self, row: Trouble) -> Detail:
        """Why, with its funnel and offers; what the row says where there is no verdict about its subject."""
        subject, now_seconds = row.found.subject, self._cockpit.clock.cluster_now()
        if not is_explained(subject.kind) or row.is_resolved:
            return finding_detail(row, None, None, now_seconds)
        if self._about is None or self._about.subject != subject:
            self._about = Explanation(self._cockpit, subject)
        known = self._about.view()
        return finding_detail(row, self._about.explained(known), known, now_seconds)
