"""A connection to the API server as the rooms above the transport know it: whose it is, and how it is read.

`cockpit.kube.session.ApiSession` is the one that the cockpit opens. A function asks for the least that it
needs: `Reader` to read, `Connection` to say in an audit line which cluster and user it is, `Session` for
both.
"""

from typing import Any, Protocol

from cockpit.model.acts_as import ActsAs


class Answer(Protocol):
    """One complete HTTP response, of any status."""

    @property
    def status(self) -> int:
        """The HTTP status code."""

    def json(self) -> Any:
        """The body as a tree. Raises Refused where it is not JSON."""

    def message(self) -> str:
        """What the server said, in one line; never empty for a failure."""


class Reader(Protocol):
    """A client of the API server."""

    async def request(self, method: str, path: str, /) -> Answer:
        """Send one request. Raises Refused where the guard forbids it, NoConnection where no answer comes."""


class Connection(Protocol):
    """Which cluster this is, who is logged in, and whether writes are let through."""

    @property
    def context(self) -> str:
        """Name of the kubeconfig's context."""

    @property
    def server(self) -> str:
        """URL of the API server."""

    @property
    def user(self) -> str:
        """Name of the kubeconfig's user."""

    @property
    def acts_as(self) -> ActsAs | None:
        """Whom that user acts as; None: as itself."""

    @property
    def read_only(self) -> bool:
        """True: only reading is let through."""


class Session(Reader, Connection, Protocol):
    """One user on one cluster."""
