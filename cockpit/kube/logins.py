"""Logins by credential plugins: kept for the life of this process, and the terminal that a plugin may ask on.

A plugin with `interactiveMode` IfAvailable or Always may ask a person. Where the terminal is free (a command,
or before the screens open) it gets it. Where the screens have it, they leave it only for a plugin that has
failed without, or that says Always, and only once until the context is chosen again.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cockpit.clock import Clock
from cockpit.errors import BadInput, LoginExpired, NoConnection
from cockpit.sanitise import clean

if TYPE_CHECKING:
    from cockpit.kube.exec_plugin import ExecCredential

NEVER, ALWAYS = "Never", "Always"
RENEW_SHARE = 0.8  # of a credential's life, after which it is renewed (reliability.md row 21)


class Lender(Protocol):
    """Who has this process's terminal (cockpit.terminal, cockpit.screens.login)."""

    @property
    def is_taken(self) -> bool:
        """True where the screens have to leave it first."""

    def lend(self, plugin: str) -> AbstractAsyncContextManager[None]:
        """The terminal is free while the block runs. Raises BadInput where there is none to lend."""


class Logins:
    """The credentials that plugins gave, by exec section and cluster. `lender` None: there is no terminal."""

    def __init__(self, lender: Lender | None = None) -> None:
        self.lender = lender
        self.running = ""
        """The command of the plugin that runs now, or ran when its caller's time was up; "" for none."""
        self._kept: dict[str, tuple[ExecCredential, float]] = {}  # with the time from which it is renewed
        self._failed: dict[str, NoConnection] = {}
        self._asked: set[str] = set()  # a person was asked in vain
        self._lock = asyncio.Lock()

    async def first(
        self, spec: Mapping[str, Any], cluster: Mapping[str, Any], now_seconds: float
    ) -> "ExecCredential":
        """A credential for a session that opens: one that is kept and still good, else a new one.

        What failed just before the screens opened is raised here once, and not tried again.
        """
        key = _key(spec, cluster)
        if (failure := self._failed.pop(key, None)) is not None:
            raise failure
        kept, due_seconds = self._kept.get(key, (None, 0.0))
        if kept is not None and (kept.expires_seconds is None or now_seconds < due_seconds):
            return kept
        self._asked.discard(key)
        return await self.renewed(spec, cluster, now_seconds, may_ask=True)

    async def renewed(
        self, spec: Mapping[str, Any], cluster: Mapping[str, Any], now_seconds: float, *, may_ask: bool
    ) -> "ExecCredential":
        """A new credential. `may_ask` False: the one in force is still good, so no person is asked."""
        key = _key(spec, cluster)
        async with self._lock:
            self.running = clean(str(spec["command"]), 120)
            try:
                given = await self._run(key, spec, cluster, may_ask=may_ask)
            except NoConnection:
                self.running = ""
                raise
            self.running = ""
        self._kept[key] = (given, due_seconds_of(given, now_seconds))
        self._asked.discard(key)
        return given

    def failed(self, spec: Mapping[str, Any], cluster: Mapping[str, Any], error: NoConnection) -> None:
        """Keep a failure for the session that opens next."""
        self._failed[_key(spec, cluster)] = error

    async def _run(
        self, key: str, spec: Mapping[str, Any], cluster: Mapping[str, Any], *, may_ask: bool
    ) -> "ExecCredential":
        from cockpit.kube import exec_plugin

        mode, lender = spec["interactiveMode"], self.lender
        if mode == NEVER or (lender is None and mode != ALWAYS):
            return await exec_plugin.run_plugin(spec, cluster)
        if lender is None:
            raise LoginExpired(
                f"The credential plugin {self.running} asks on a terminal (interactiveMode: Always),"
                " and there is none here; run the cockpit in a terminal."
            )
        may_ask = may_ask and key not in self._asked
        if mode != ALWAYS and lender.is_taken:
            try:
                return await exec_plugin.run_plugin(spec, cluster)
            except LoginExpired:
                if not may_ask:
                    raise
        elif not may_ask and lender.is_taken:
            raise LoginExpired(
                f"The login by the credential plugin {self.running} has expired;"
                " to log in, press ctrl+x and choose the context again."
            )
        if lender.is_taken:
            self._asked.add(key)
        try:
            async with lender.lend(self.running):
                return await exec_plugin.run_plugin(spec, cluster, has_terminal=True)
        except BadInput as error:
            raise LoginExpired(f"The credential plugin {self.running}: {error.sentence}.") from None


async def ask_first(logins: Logins, kubeconfig: str | None, context: str | None, clock: Clock) -> None:
    """Run the plugin of the chosen context where it may ask and the terminal is free.

    What fails is raised by the session that opens next. A kubeconfig that cannot be used is told there, too.
    """
    from cockpit.kube.kubeconfig import choose, files  # loads PyYAML

    if logins.lender is None or not any(map(_may_name_plugin, files(kubeconfig))):
        return
    with suppress(NoConnection):
        chosen = await asyncio.to_thread(choose, kubeconfig, context, in_cluster=True)
        spec = chosen.user.get("exec") if chosen is not None else None
        if chosen is None or spec is None or spec["interactiveMode"] == NEVER:
            return
        try:
            await logins.first(spec, chosen.cluster, clock.now())
        except NoConnection as error:
            logins.failed(spec, chosen.cluster, error)


def _may_name_plugin(path: Path) -> bool:
    """False where a kubeconfig cannot name a plugin: reading it whole costs more than looking for a word."""
    try:
        return b"exec" in path.read_bytes()
    except OSError:
        return False


def due_seconds_of(given: "ExecCredential", now_seconds: float) -> float:
    """Epoch seconds from which a credential is to be renewed; infinite where it does not end."""
    if given.expires_seconds is None:
        return float("inf")
    return now_seconds + max(RENEW_SHARE * (given.expires_seconds - now_seconds), 1.0)


def _key(spec: Mapping[str, Any], cluster: Mapping[str, Any]) -> str:
    return json.dumps([spec, cluster], sort_keys=True, default=str)
