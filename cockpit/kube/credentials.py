"""Kubeconfig, in-cluster and plugin credentials, by way of `kubernetes.aio` configuration.

Importing this module imports the part of the `kubernetes` package that it needs (`cockpit.kube.stock`):
only `cockpit.kube.session` does, in a thread.
Client keys that the loader has to write to files for the ssl module live in a private directory that is
removed as soon as the TLS context holds them.
"""

import asyncio
import os
import ssl
import tempfile
from pathlib import Path
from typing import Any

from cockpit.clean import clean
from cockpit.clock import Clock
from cockpit.errors import NoConnection
from cockpit.kube.exec_plugin import run_plugin
from cockpit.kube.kubeconfig import Chosen, choose
from cockpit.kube.stock import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    ConfigException,
    Configuration,
    kube_config,
    load_incluster_config,
)

RENEW_SHARE = 0.8  # of a credential's life, after which it is renewed (reliability.md row 21)
REREAD_SECONDS = 60.0  # token files and OIDC tokens, as client-go does
FAILED_RENEWAL_SECONDS = 30.0  # a refused renewal is not tried again sooner
NAMESPACE_FILE = Path(SERVICE_CERT_FILENAME).with_name("namespace")


class Credentials:
    """Who we are for one context: header, TLS context, and how to renew both.

    `authorization` gives the header before each request (renewing in time, one renewal at a time);
    `renew` is for the moment after a 401.
    """

    def __init__(self, clock: Clock, configuration: Any, chosen: Chosen | None, token_file: str = "") -> None:
        self.configuration = configuration
        self.context = chosen.context if chosen else "in-cluster"
        self.namespace = chosen.namespace if chosen else _own_namespace()
        self.user = chosen.user_name if chosen else "service account"
        self.tls_context: ssl.SSLContext | None = None
        self._clock = clock
        self._chosen = chosen
        self._token_file = token_file
        self._lock = asyncio.Lock()
        self._due_seconds: float | None = None  # wall time of the next renewal
        self._refused_until = 0.0  # monotonic
        configuration.refresh_api_key_hook = self._refresh_when_due

    @property
    def server(self) -> str:
        """Base URL without a trailing slash."""
        return str(self.configuration.host).rstrip("/")

    async def authorization(self) -> str:
        """Value of the Authorization header, "" for none. Raises NoConnection where a renewal fails."""
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
                return True  # somebody else renewed it meanwhile
            if self._clock.monotonic() < self._refused_until:
                return False
            self._refused_until = self._clock.monotonic() + FAILED_RENEWAL_SECONDS
            before = self.tls_context
            await self._load()
            return self._header() != refused or self.tls_context is not before

    async def first_load(self) -> None:
        """Load everything once. Raises NoConnection."""
        async with self._lock:
            await self._load()

    def _header(self) -> str:
        return str(self.configuration.api_key.get("BearerToken", ""))

    async def _refresh_when_due(self, _configuration: Any) -> None:
        if self._due_seconds is None or self._clock.now() < self._due_seconds:
            return
        async with self._lock:
            if self._due_seconds is not None and self._clock.now() >= self._due_seconds:
                await self._load()

    async def _load(self) -> None:
        if self._chosen is None:
            self._read_token_file()
            if self.tls_context is None:
                self.tls_context = await asyncio.to_thread(_tls_context, self.configuration)
            return
        await self._load_chosen(self._chosen)

    def _read_token_file(self) -> None:
        text = Path(self._token_file).read_text(encoding="utf-8").strip()
        if not text:
            raise NoConnection(f"The token file {self._token_file} is empty; mount a service account token.")
        self.configuration.api_key["BearerToken"] = f"Bearer {text}"
        self._due_seconds = self._clock.now() + REREAD_SECONDS

    async def _load_chosen(self, chosen: Chosen) -> None:
        """One pass of kubernetes.aio's loader, with our own plugin runner, into the configuration."""
        with tempfile.TemporaryDirectory(prefix="gpu-cockpit-") as private:
            loader = kube_config.KubeConfigLoader(
                config_dict=chosen.tree,
                active_context=chosen.context,
                config_base_path=None,
                temp_file_path=private,
            )
            if loader._user is None:  # the loader reads client certificates from a user it takes for granted
                loader._user = kube_config.ConfigNode("user", {}, chosen.path)
            self._due_seconds = None
            loader.load_from_exec_plugin = lambda: self._from_plugin(loader, chosen, private)
            try:
                await loader.load_and_set(self.configuration)
                if header := self._header():  # a token file usually ends in a newline
                    self.configuration.api_key["BearerToken"] = header.strip()
                if loader.provider or "tokenFile" in loader._user:
                    self._due_seconds = self._clock.now() + REREAD_SECONDS
                if self.tls_context is None or "exec" in loader._user:
                    self.tls_context = await asyncio.to_thread(_tls_context, self.configuration)
            except (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
                raise NoConnection(f"Context {chosen.context} in {chosen.path}: {_why(error)}") from None
            finally:
                kube_config._cleanup_temp_files()

    async def _from_plugin(self, loader: Any, chosen: Chosen, private: str) -> bool:
        given = await run_plugin(loader._user["exec"].value, loader._cluster.value)
        if given.token:
            loader.token = f"Bearer {given.token}"
        if given.certificate and given.key:
            for attribute, text in (("cert_file", given.certificate), ("key_file", given.key)):
                path = Path(private) / attribute
                path.write_text(text, encoding="utf-8")
                setattr(loader, attribute, str(path))
        now = self._clock.now()
        if given.expires_seconds is not None:
            self._due_seconds = now + max(RENEW_SHARE * (given.expires_seconds - now), 1.0)
        return True


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

    The machine's own authorities take 25 ms to load: not for a server that nobody checks, or without TLS.
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


def prepare(clock: Clock, kubeconfig: str | None, context: str | None) -> Credentials:
    """Credentials of the chosen context, not yet loaded; in-cluster when there is no kubeconfig but a pod's
    environment. Raises NoConnection. Blocking (files): call it in a thread."""
    configuration = Configuration()
    chosen = choose(kubeconfig, context, in_cluster=SERVICE_HOST_ENV_NAME in os.environ)
    if chosen is not None:
        return Credentials(clock, configuration, chosen)
    try:
        load_incluster_config(configuration, try_refresh_token=False)
    except (ConfigException, OSError) as error:
        raise NoConnection(
            f"No kubeconfig, and this pod's service account cannot be used: {clean(str(error), 200)}"
        ) from None
    return Credentials(clock, configuration, None, SERVICE_TOKEN_FILENAME)
