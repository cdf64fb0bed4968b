"""The metrics server that a person named: scheme, host, port and path; credentials apart and never shown."""

import ipaddress
import re
from dataclasses import dataclass, replace
from urllib.parse import unquote

from cockpit.errors import BadInput
from cockpit.model.metrics_server import NO_METRICS_SERVER, PROMETHEUS, MetricsServer, ServerKind

_FORMS = "write http://host:port or namespace/service:port"
_SCHEME = re.compile(r"(https?)://", re.IGNORECASE)
_SERVICE = re.compile(r"([a-z0-9-]+)/([a-z0-9.-]+)(?::([a-z0-9-]+))?")
_HOST = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?")
_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%/-]*")
_WITHOUT = "; no part of it is shown, as it may contain a password"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server by its URL: `host` without brackets, `path` without a trailing slash."""

    scheme: str
    host: str
    port: int | None = None
    path: str = ""

    @property
    def is_loopback(self) -> bool:
        """True where nothing leaves this machine."""
        if self.host.lower() == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def origin(self) -> str:
        """`scheme://host:port`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if self.port is None else f':{self.port}'}"

    @property
    def url(self) -> str:
        """All of it."""
        return self.origin + self.path


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A Service of the cluster, reached through the API server's proxy."""

    namespace: str
    name: str
    port: str
    is_https: bool = False

    @property
    def path(self) -> str:
        """Of its root, at the API server."""
        scheme = "https:" if self.is_https else ""
        return f"/api/v1/namespaces/{self.namespace}/services/{scheme}{self.name}:{self.port}/proxy"


@dataclass(frozen=True, slots=True)
class MetricsTarget:
    """A place to ask. `login` holds credentials and authorities for an endpoint, and no URL."""

    place: Endpoint | ServicePort
    who: str
    login: MetricsServer = NO_METRICS_SERVER


def of_service(place: ServicePort, kind: ServerKind = PROMETHEUS) -> MetricsTarget:
    """The target that a Service is."""
    return MetricsTarget(
        place,
        f"{kind.name} at {place.namespace}/{place.name}:{place.port}",
        replace(NO_METRICS_SERVER, kind=kind),
    )


def configured(server: MetricsServer, name: str = "") -> MetricsTarget:
    """The target that a person named; `name` is the field in sentences.

    Raises BadInput naming the field and the remedy. A value that may hold a password is not in the sentence.
    """
    text, kind = server.url.strip(), server.kind
    name = name or f"{kind.name} URL"
    if not text and (server.has_login or server.ca_file):
        raise BadInput(
            f"Credentials or a CA file for {kind.name} need the URL that they are for; "
            f"give {kind.option}-url, too."
        )
    scheme = _SCHEME.match(text)
    if scheme is not None:
        return _endpoint(scheme[1].lower(), text[scheme.end() :], server, name)
    service = _SERVICE.fullmatch(text)
    if service is None:
        shown = "" if re.search(r"[@?#]|://", text) else f" {text!r}"
        raise BadInput(f"{name}{shown} is not usable; {_FORMS}.")
    if server.has_login or server.ca_file:
        raise BadInput(
            f"{name} {text!r} is reached through the API server, which passes no credentials on; "
            "give its own http(s):// URL, or leave the credentials out."
        )
    namespace, service_name, port = service.groups()
    return of_service(ServicePort(namespace, service_name, port or kind.port), kind)


def _endpoint(scheme: str, rest: str, server: MetricsServer, name: str) -> MetricsTarget:
    """`rest` stands behind `scheme://`. What is before the last @ of the authority is credentials."""
    at = min((found for mark in "/?#" if (found := rest.find(mark)) >= 0), default=len(rest))
    authority, tail = rest[:at], rest[at:]
    if "@" in tail:
        # either a path with an @, or a password with a / ? or #: nobody can tell, and a guess would show it
        raise BadInput(
            f"{name} has an @ behind a / ? or #; write these in a password as %2F %3F %23 (an @ of a path as "
            f"%40), or give the password by {server.kind.option}-password-file{_WITHOUT}."
        )
    userinfo, has_login, place = authority.rpartition("@")
    if "?" in tail or "#" in tail:
        raise BadInput(f"{name} has a query or a fragment; leave out what begins with ? or #{_WITHOUT}.")
    host, port = _host_and_port(place, name)
    if not _PATH.fullmatch(tail):
        raise BadInput(f"{name} has a path with characters that a URL cannot hold; write them as %XX.")
    endpoint = Endpoint(scheme, host, port, tail.rstrip("/"))
    login = _login(userinfo if has_login else "", server, name)
    if login.has_login and scheme == "http" and not endpoint.is_loopback:
        raise BadInput(
            f"{name}: credentials for {endpoint.origin} would cross the network unencrypted; use https://, "
            "or a tunnel to 127.0.0.1."
        )
    return MetricsTarget(endpoint, f"{server.kind.name} at {endpoint.url}", login)


def _host_and_port(place: str, name: str) -> tuple[str, int | None]:
    if place.startswith("["):
        host, bracket, rest = place[1:].partition("]")
        try:
            ipaddress.IPv6Address(host)
        except ValueError:
            bracket = ""
        port = rest.removeprefix(":")
        is_good = bool(bracket) and (not rest or rest.startswith(":"))
    else:
        host, _, port = place.partition(":")
        is_good = _HOST.fullmatch(host) is not None and len(host) <= 253
    if not is_good:
        raise BadInput(f"{name} has no usable host; {_FORMS}{_WITHOUT}.")
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536):
        raise BadInput(
            f"{name} has no usable port: put a number from 1 to 65535 after host: and credentials before "
            f"@host{_WITHOUT}."
        )
    return host, int(port)


def _login(userinfo: str, server: MetricsServer, name: str) -> MetricsServer:
    """Credentials of the URL itself, else those beside it. Raises BadInput where there are two kinds."""
    kind = server.kind
    username, has_password, password = userinfo.partition(":")
    if has_password and not username:
        raise BadInput(f"{name} has a password but no user; write https://user:password@host.")
    if (has_password and server.has_login) or (userinfo and server.username):
        raise BadInput(f"{name} contains credentials, and others are given; give only one of them.")
    if has_password:
        return replace(server, url="", username=unquote(username), password=unquote(password))
    user = unquote(userinfo) or server.username
    basic = user or server.password or server.password_file
    if basic and (server.token or server.token_file):
        raise BadInput(f"{kind.name}: give a token or a user with a password, not both.")
    if basic and not (user and (server.password or server.password_file)):
        raise BadInput(
            f"{kind.name}: a user and a password go together; give both, or {kind.option}-token-file."
        )
    if ":" in user:
        raise BadInput(f"{kind.name}: a user name cannot hold a colon.")
    return replace(server, url="", username=user)
