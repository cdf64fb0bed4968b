"""Kubeconfig, in-cluster and plugin credentials, by way of `kubernetes.aio` configuration.

Importing this module imports the needed part of the `kubernetes` package (`cockpit.kube.kubernetes_client`);
only `cockpit.kube.session` imports it, in a thread.
Client keys that the loader has to hand to the ssl module as files are in memory (`secret_files`), until the
TLS context holds them.
"""

import asyncio
import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cockpit.clock import Clock
from cockpit.errors import LoginExpired, NoConnection
from cockpit.kube import oidc
from cockpit.kube.certificate import SecretFiles, keep_for_loader, validity_of
from cockpit.kube.exec_plugin import ExecCredential
from cockpit.kube.kubeconfig import Chosen, choose
from cockpit.kube.kubernetes_client import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    ConfigException,
    Configuration,
    kube_config,
    load_incluster_config,
)
from cockpit.kube.logins import Logins, due_seconds_of
from cockpit.sanitise import clean

kube_config._create_temp_file_with_content = keep_for_loader

REREAD_SECONDS = 60.0  # token files and OIDC tokens, as client-go does
AGAIN_SECONDS = 4.0  # after TLS or a login failed, between two reads of the same files
FAILED_RENEWAL_SECONDS = 30.0  # a plugin or an identity provider is not asked again sooner
NAMESPACE_FILE = Path(SERVICE_CERT_FILENAME).with_name("namespace")


@dataclass
class _Life:
    """Wall times of what a load found: from when it is renewed, until when it is good as far as it says."""

    due_seconds: float | None = None
    ends_seconds: float = float("inf")


class Credentials:
    """Who we are for one context: header, TLS context, and how to renew both.

    `authorization` gives the header before each request (renewing in time, one renewal at a time);
    `renew` is for the moment after a 401.
    """

    def __init__(
        self,
        clock: Clock,
        configuration: Any,
        chosen: Chosen | None,
        logins: Logins,
        token_file: str = "",
    ) -> None:
        self.configuration = configuration
        self.context = chosen.context if chosen else "in-cluster"
        self.namespace = chosen.namespace if chosen else _own_namespace()
        self.user = chosen.user_name if chosen else "service account"
        self.acts_as = chosen.acts_as if chosen else None
        self.notes = chosen.notes if chosen else ()
        self.is_compressed = not (chosen and chosen.cluster.get("disable-compression"))
        self.tls_context: ssl.SSLContext | None = None
        self._clock = clock
        self._chosen = chosen
        self._logins = logins
        self._token_file = token_file
        self._lock = asyncio.Lock()
        self._life = _Life()  # of what is in force
        self._refused_until = 0.0  # monotonic
        self._failure: NoConnection | None = None  # of the last renewal
        self._certificate = ""  # what the client certificate is and how long it is valid, in words
        self._trust_until = 0.0  # monotonic
        configuration.refresh_api_key_hook = self._refresh_when_due

    @property
    def server(self) -> str:
        """Base URL without a trailing slash."""
        return str(self.configuration.host).rstrip("/")

    @property
    def why_refused(self) -> str:
        """What a 401 means for this user, with the remedy: by the way in which the user logs in."""
        user: dict[str, Any] = self._chosen.user if self._chosen else {"tokenFile": self._token_file}
        if "exec" in user:
            name = clean(str(user["exec"]["command"]), 120)
            return f"what the credential plugin {name} gave is not accepted; log in with it again"
        if "tokenFile" in user:
            return f"the token in {clean(user['tokenFile'], 200)} has expired or is wrong; renew it"
        if "token" in user:
            return "the token or certificate has expired or is wrong; log in again and renew the kubeconfig"
        if "username" in user:
            return (
                "Kubernetes 1.19 removed logging in by username and password; give the user a token, a client"
                " certificate or an exec plugin"
            )
        if "auth-provider" in user:
            return "the id-token is not accepted; log in to the identity provider again"
        if self._certificate:
            return f"{self._certificate} is not accepted; renew it"
        return "the user has no token, certificate or plugin to log in with; log in to the cluster"

    async def authorization(self) -> str:
        """Value of the Authorization header, "" for none. Raises NoConnection where a renewal fails, and
        LoginExpired where what is in force is no longer good."""
        try:
            header = await self.configuration.get_api_key_with_prefix("BearerToken")
        except (ConfigException, OSError, ValueError) as error:
            raise NoConnection(
                f"Credentials of {self.user} cannot be read: {clean(str(error), 300)}"
            ) from None
        return header or ""

    async def renew(self, refused: str) -> bool:
        """New credentials after the header `refused` was answered with 401; True where a retry pays."""
        async with self._lock:
            if self._header() != refused:
                return True  # another request renewed it meanwhile
            if self._clock.monotonic() < self._refused_until:
                return False
            self._refused_until = self._clock.monotonic() + self._pause_seconds()
            before = self.tls_context
            self._life.ends_seconds = self._clock.now()
            try:
                await self._load()
            except NoConnection as error:
                self._failure = error
                raise
            return self._header() != refused or self.tls_context is not before

    async def reload_trust(self) -> None:
        """Read authorities and certificates from their files again: TLS has just failed. A plugin is not run
        for it more often than after a 401."""
        async with self._lock:
            now = self._clock.monotonic()
            if now < self._trust_until:
                return
            self._trust_until = now + self._pause_seconds()
            before, self.tls_context = self.tls_context, None
            try:
                await self._load()
            except (NoConnection, OSError, ValueError):
                self.tls_context = before

    @property
    def asks(self) -> bool:
        """Whether a plugin or an identity provider is asked for a login, and not files alone."""
        return self._chosen is not None and not {"exec", "auth-provider"}.isdisjoint(self._chosen.user)

    def _pause_seconds(self) -> float:
        """Between two renewals that bring nothing new: to read files costs little, to ask others does not."""
        return FAILED_RENEWAL_SECONDS if self.asks else AGAIN_SECONDS

    async def first_load(self) -> None:
        """Load everything once. Raises NoConnection."""
        async with self._lock:
            await self._load(is_first=True)

    def _header(self) -> str:
        return str(self.configuration.api_key.get("BearerToken", ""))

    def _is_due(self) -> bool:
        return self._life.due_seconds is not None and self._clock.now() >= self._life.due_seconds

    async def _refresh_when_due(self, _configuration: Any) -> None:
        """One request renews; others wait for it only where what is in force is no longer good."""
        if not self._is_due() or (self._lock.locked() and self._clock.now() < self._life.ends_seconds):
            return
        async with self._lock:
            if not self._is_due():
                return
            if self._failure is None or self._clock.monotonic() >= self._refused_until:
                try:
                    await self._load()
                except NoConnection as error:
                    self._failure = error
                    self._refused_until = self._clock.monotonic() + self._pause_seconds()
            if self._failure is not None and self._clock.now() >= self._life.ends_seconds:
                raise type(self._failure)(self._failure.sentence)

    async def _load(self, *, is_first: bool = False) -> None:
        if self._chosen is None:
            self._read_token_file()
            if self.tls_context is None:
                self.tls_context = await asyncio.to_thread(_tls_context, self.configuration)
        else:
            await self._load_chosen(self._chosen, is_first=is_first)
        self._failure = None

    def _read_token_file(self) -> None:
        try:
            text = Path(self._token_file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = clean(str(error), 200)
            raise NoConnection(f"The token file {self._token_file} cannot be read: {why}.") from None
        if not text:
            raise NoConnection(f"The token file {self._token_file} is empty; mount a service account token.")
        self.configuration.api_key["BearerToken"] = f"Bearer {text}"
        self._life = _Life(self._clock.now() + REREAD_SECONDS)

    async def _load_chosen(self, chosen: Chosen, *, is_first: bool) -> None:
        """One pass of kubernetes.aio's loader, with our own plugin runner, into the configuration."""
        with SecretFiles() as files:
            try:
                loader = kube_config.KubeConfigLoader(
                    config_dict=_tree(chosen),
                    active_context=chosen.context,
                    config_base_path="",
                )
                if (
                    loader._user is None
                ):  # the loader reads client certificates from a user it takes for granted
                    loader._user = kube_config.ConfigNode("user", {}, chosen.path)
                life = _Life()
                loader.load_from_exec_plugin = lambda: self._from_plugin(
                    loader, chosen, files, life, is_first=is_first
                )
                loader._load_oid_token = lambda: self._from_oidc(loader, chosen, life)
                try:
                    await loader.load_and_set(self.configuration)
                except BaseException:
                    self._life.due_seconds = self._clock.now()
                    raise
                if header := self._header():  # a token file usually ends in a newline
                    self.configuration.api_key["BearerToken"] = header.strip()
                if "tokenFile" in chosen.user:
                    life.due_seconds = self._clock.now() + REREAD_SECONDS
                self._life = life
                self._check_certificate(chosen)
                is_renewable = "exec" in chosen.user or "client-certificate" in chosen.user
                if self.tls_context is None or is_renewable:
                    self.tls_context = await asyncio.to_thread(_tls_context, self.configuration)
            except (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                raise NoConnection(f"Context {chosen.context} in {chosen.path}: {_why(error)}") from None

    async def _from_plugin(
        self, loader: Any, chosen: Chosen, files: SecretFiles, life: _Life, *, is_first: bool
    ) -> bool:
        given = await self._login(chosen, is_first=is_first)
        if given.token:
            loader.token = f"Bearer {given.token}"
        if given.certificate and given.key:
            for attribute, text in (("cert_file", given.certificate), ("key_file", given.key)):
                setattr(loader, attribute, files.put(text))
        if given.expires_seconds is not None:
            life.due_seconds = due_seconds_of(given, self._clock.now())
            life.ends_seconds = given.expires_seconds
        return True

    async def _from_oidc(self, loader: Any, chosen: Chosen, life: _Life) -> str:
        now_seconds, config = self._clock.now(), chosen.user["auth-provider"]["config"]
        life.ends_seconds = await oidc.keep_fresh(chosen.user_name, config, now_seconds)
        life.due_seconds = now_seconds + REREAD_SECONDS
        loader.token = f"Bearer {config['id-token']}"
        return str(loader.token)

    async def _login(self, chosen: Chosen, *, is_first: bool) -> ExecCredential:
        now_seconds, spec = self._clock.now(), chosen.user["exec"]
        if is_first:
            return await self._logins.first(spec, chosen.cluster, now_seconds)
        may_ask = now_seconds >= self._life.ends_seconds
        return await self._logins.renewed(spec, chosen.cluster, now_seconds, may_ask=may_ask)

    def _check_certificate(self, chosen: Chosen) -> None:
        """Raises LoginExpired, naming the file and the date, for a client certificate that has expired.

        Told before a request is sent: a server says only that a certificate is not accepted. At its end the
        file is read again, so that one that was renewed meanwhile is taken.
        """
        file = self.configuration.cert_file
        if not file or not str(self.configuration.host).startswith("https://"):
            return
        place, remedy = _certificate_place(chosen)
        found = validity_of(Path(file).read_text(encoding="utf-8", errors="replace"))
        if found is None:
            self._certificate = place
            return
        now_seconds = self._clock.now()
        self._certificate = f"{place} (valid until {_day(found.ends_seconds)})"
        if now_seconds >= found.ends_seconds:
            self._life = _Life(now_seconds, now_seconds)
            raise LoginExpired(f"{place} expired on {_day(found.ends_seconds)}; {remedy}.")
        if now_seconds < found.begins_seconds:
            self._life = _Life(now_seconds, now_seconds)
            raise LoginExpired(
                f"{place} is valid only from {_day(found.begins_seconds)};"
                f" check the clock of this host, or {remedy}."
            )
        if self._life.due_seconds is None:
            self._life = _Life(found.ends_seconds, found.ends_seconds)


def _certificate_place(chosen: Chosen) -> tuple[str, str]:
    """Where the client certificate stands, and how it is renewed."""
    user = chosen.user
    if "exec" in user:
        name = clean(str(user["exec"]["command"]), 120)
        return f"The client certificate by the credential plugin {name}", "log in with it again"
    if "client-certificate" in user:
        return f"The client certificate {clean(user['client-certificate'], 300)}", "renew it"
    return (
        f"The client certificate inline in user {chosen.user_name} of {chosen.path}",
        "renew client-certificate-data",
    )


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _tree(chosen: Chosen) -> Any:
    """What kubernetes.aio's loader reads: one context with its parts, and nothing that it would take in
    another way than kubectl does. Raises NoConnection for a token file without a token."""
    user = dict(chosen.user)
    file = user.get("tokenFile")
    if file and _has_token(file):
        user.pop("token", None)  # the loader prefers it to the file
    elif file and "token" in user:
        del user["tokenFile"]
    elif file:
        raise NoConnection(
            f"User {chosen.user_name} in {chosen.path}: tokenFile {clean(file, 300)} is missing or empty;"
            " write the token into it."
        )
    names = {"cluster": "cluster", "user": "user"} if user else {"cluster": "cluster"}
    tree: dict[str, Any] = {
        "current-context": chosen.context,
        "contexts": [{"name": chosen.context, "context": names}],
        "clusters": [{"name": "cluster", "cluster": chosen.cluster}],
    }
    if user:
        tree["users"] = [{"name": "user", "user": user}]
    return kube_config.ConfigNode(chosen.path, tree, chosen.path)


def _has_token(file: str) -> bool:
    try:
        return bool(Path(file).read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return False


def _why(error: Exception) -> str:
    text = clean(str(error), 300)
    if isinstance(error, ssl.SSLError):
        return f"the certificate or key cannot be read ({text}); renew the kubeconfig."
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} cannot be read ({error.strerror})."
    if text.startswith("File does not exists: "):
        return (
            f"{text.removeprefix('File does not exists: ')} does not exist; fix its path in the kubeconfig."
        )
    return f"{text or type(error).__name__}; fix the kubeconfig."


def _tls_context(configuration: Any) -> ssl.SSLContext:
    """As kubernetes.aio's own client builds it (client/rest.py).

    The machine's own authorities take 25 ms to load: not for a server without TLS or with verification off.
    """
    if configuration.verify_ssl and not str(configuration.host).startswith("http://"):
        context = ssl.create_default_context(
            cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data
        )
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    # Cluster CAs made by older tools lack extensions that strict checking, default from 3.13, wants.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context


def _own_namespace() -> str:
    try:
        return NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def prepare(
    clock: Clock,
    kubeconfig: str | None,
    context: str | None,
    logins: Logins,
    named: Callable[[str], None] = lambda _name: None,
) -> Credentials:
    """Credentials of the chosen context, not yet loaded; in-cluster when there is no kubeconfig but a pod's
    environment. `named` as for `choose`. Raises NoConnection. Blocking (files): call it in a thread."""
    configuration = Configuration()
    chosen = choose(kubeconfig, context, in_cluster=SERVICE_HOST_ENV_NAME in os.environ, named=named)
    if chosen is not None:
        return Credentials(clock, configuration, chosen, logins)
    try:
        load_incluster_config(configuration, try_refresh_token=False)
    except (ConfigException, OSError) as error:
        raise NoConnection(
            f"No kubeconfig, and this pod's service account cannot be used: {clean(str(error), 200)}"
        ) from None
    return Credentials(clock, configuration, None, logins, SERVICE_TOKEN_FILENAME)
