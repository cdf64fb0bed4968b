"""Where metrics are read, and what lets us in, as a person wrote it. What is secret stays out of `repr`."""

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple


class ServerKind(NamedTuple):
    """What kind of server is asked, and how its options begin, for sentences. `port` is that of a Service of
    which none is named, `narrow` what makes its answers smaller."""

    name: str
    option: str
    port: str
    narrow: str


PROMETHEUS: Final = ServerKind(
    "Prometheus", "--prometheus", "9090", "narrow the namespace or record fewer GPU series"
)
ALERTMANAGER: Final = ServerKind("Alertmanager", "alertmanager", "9093", "set alertmanager-filter")
FIND: Final = "find"
"""As a URL: the server is looked for among the Services of the cluster."""


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """`url` is `http(s)://...` or `namespace/service[:port]`, "" where a server is to be looked for. It may
    hold credentials, so it is never shown as it is. Files are read whenever they are needed. `filters` are
    matchers of an Alertmanager."""

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    password_file: str = ""
    ca_file: str = ""
    filters: tuple[str, ...] = ()
    kind: ServerKind = PROMETHEUS

    @property
    def has_login(self) -> bool:
        """True where credentials stand beside the URL."""
        return bool(self.token or self.token_file or self.username or self.password or self.password_file)


NO_METRICS_SERVER = MetricsServer()
NO_ALERTMANAGER = MetricsServer(kind=ALERTMANAGER)


def in_force(*sources: MetricsServer) -> MetricsServer:
    """What several sources say together, the most important first.

    Credentials are for the URL that stands beside them, or for one that a less important source names: so
    nothing is taken from below the first source with a URL, and never a part of a login from each of two.
    """
    url = ca_file = ""
    filters: tuple[str, ...] = ()
    login = NO_METRICS_SERVER
    for source in sources:
        login = login if login.has_login else source
        ca_file = ca_file or source.ca_file
        filters = filters or source.filters
        url = source.url
        if url:
            break
    return replace(login, url=url, ca_file=ca_file, filters=filters)
