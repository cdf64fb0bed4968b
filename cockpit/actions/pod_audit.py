"""The audit line of what reaches into a pod: a command in it, a port of it."""

from typing import Protocol

from cockpit.clock import Clock
from cockpit.local_state.audit import Entry
from cockpit.model.session import Connection


class Way(Protocol):
    """A way into a pod: an entrance, a passage."""

    @property
    def namespace(self) -> str: ...
    @property
    def pod(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def target(self) -> str: ...
    def line(self, context: str = "", /) -> str: ...


def intent(
    way: Way, session: Connection, clock: Clock, audit_id: str, *, verb: str, subresource: str
) -> Entry:
    """The line that is written before the server is asked for `subresource` of the pod."""
    return Entry(
        audit_id=audit_id,
        step="intent",
        at_seconds=clock.now(),
        verb=verb,
        target=way.target,
        context=session.context,
        server=session.server,
        user=session.user,
        acts_as=session.acts_as.user if session.acts_as is not None else "",
        uid=way.uid,
        method="GET",
        path=f"/api/v1/namespaces/{way.namespace}/pods/{way.pod}/{subresource}",
        shell=way.line(session.context),
    )
