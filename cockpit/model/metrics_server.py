"""Where metrics are read, and what lets us in, as a person wrote it. What is secret stays out of `repr`."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricsServer:
    """`url` is `http(s)://...` or `namespace/service[:port]`, "" where a server is to be looked for. It may
    hold credentials, so it is never shown as it is. Files are read whenever they are needed."""

    url: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    password_file: str = ""
    ca_file: str = ""

    @property
    def has_login(self) -> bool:
        """True where credentials stand beside the URL."""
        return bool(self.token or self.token_file or self.username or self.password or self.password_file)


NO_METRICS_SERVER = MetricsServer()


def in_force(*sources: MetricsServer) -> MetricsServer:
    """What several sources say together, the most important first.

    Credentials are for the URL that stands beside them, or for one that a less important source names: so
    nothing is taken from below the first source with a URL, and never a part of a login from each of two.
    """
    url = ca_file = ""
    login = NO_METRICS_SERVER
    for source in sources:
        login = login if login.has_login else source
        ca_file = ca_file or source.ca_file
        url = source.url
        if url:
            break
    return MetricsServer(
        url=url,
        token=login.token,
        token_file=login.token_file,
        username=login.username,
        password=login.password,
        password_file=login.password_file,
        ca_file=ca_file,
    )
