"""Credential plugins of a kubeconfig (`user.exec`), run so that they cannot touch the terminal.

`kubernetes.aio` lets the plugin inherit stdin and waits for ever; here stdin is closed, the plugin gets its
own session (no controlling terminal to prompt on) and a deadline, and its error text is cleaned.
Source of the protocol: kubernetes.io "client-go credential plugins" (ExecCredential v1, v1beta1).
"""

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from typing import Any

import msgspec

from cockpit.clean import clean
from cockpit.errors import NoConnection
from cockpit.kube.decode.times import from_text

DEADLINE_SECONDS = 30.0
OUTPUT_BYTES = 1 << 20


class ExecCredential(msgspec.Struct, frozen=True):
    """What a plugin gave. `expires_seconds` is epoch seconds, None when it did not say."""

    token: str = ""
    certificate: str = ""
    key: str = ""
    expires_seconds: float | None = None

    def __repr__(self) -> str:
        return f"ExecCredential(expires_seconds={self.expires_seconds})"


async def run_plugin(
    spec: Mapping[str, Any],
    cluster: Mapping[str, Any] | None = None,
    *,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> ExecCredential:
    """Run the plugin once. Raises NoConnection naming the command, what went wrong and the remedy."""
    command = str(spec.get("command") or "")
    api_version = str(spec.get("apiVersion") or "")
    if not command or not api_version:
        raise NoConnection(
            "The kubeconfig's exec section lacks command or apiVersion; complete the user entry."
        )
    name = clean(command, 120)
    environment = dict(os.environ)
    for pair in spec.get("env") or ():
        environment[str(pair.get("name", ""))] = str(pair.get("value", ""))
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(_exec_info(spec, api_version, cluster))
    try:
        process = await asyncio.create_subprocess_exec(
            command,
            *(str(one) for one in spec.get("args") or ()),
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=OUTPUT_BYTES,
        )
    except (OSError, ValueError) as error:
        hint = clean(str(spec.get("installHint") or "install it or fix the kubeconfig"), 300)
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise NoConnection(f"The credential plugin {name} cannot be run ({reason}): {hint}") from None
    out, err = await _collect(process, name, deadline_seconds)
    if process.returncode != 0:
        said = clean(err.decode("utf-8", "replace").strip(), 300) or "no output"
        raise NoConnection(f"The credential plugin {name} failed with code {process.returncode}: {said}")
    return _read(out, name, api_version)


def _exec_info(
    spec: Mapping[str, Any], api_version: str, cluster: Mapping[str, Any] | None
) -> dict[str, Any]:
    info: dict[str, Any] = {"interactive": False}
    if spec.get("provideClusterInfo") and cluster:
        kept = (
            "server",
            "tls-server-name",
            "insecure-skip-tls-verify",
            "certificate-authority-data",
            "proxy-url",
        )
        info["cluster"] = {key: cluster[key] for key in kept if key in cluster}
    return {"apiVersion": api_version, "kind": "ExecCredential", "spec": info}


async def _collect(
    process: asyncio.subprocess.Process, name: str, deadline_seconds: float
) -> tuple[bytes, bytes]:
    """Output and error text; kills the plugin with its children when time runs out or the caller leaves."""
    try:
        async with asyncio.timeout(deadline_seconds):
            return await process.communicate()
    except TimeoutError:
        raise NoConnection(
            f"The credential plugin {name} did not answer within {deadline_seconds:g} s; "
            "it may be waiting for a login: run it once in another terminal."
        ) from None
    finally:
        if process.returncode is None:
            _kill(process.pid)
            await process.wait()


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _read(out: bytes, name: str, api_version: str) -> ExecCredential:
    try:
        answer = json.loads(out)
        status = answer["status"]
        said = answer.get("apiVersion")
        token, certificate = status.get("token") or "", status.get("clientCertificateData") or ""
        key, expires = status.get("clientKeyData") or "", status.get("expirationTimestamp")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise NoConnection(
            f"The credential plugin {name} did not print an ExecCredential with a status."
        ) from None
    if said != api_version:
        raise NoConnection(
            f"The credential plugin {name} speaks {clean(str(said), 80)}, the kubeconfig says {api_version}; "
            "set apiVersion of the exec section to what the plugin speaks."
        )
    if not token and not (certificate and key):
        raise NoConnection(
            f"The credential plugin {name} gave neither a token nor a certificate with its key."
        )
    return ExecCredential(
        str(token), str(certificate), str(key), from_text(expires if isinstance(expires, str) else None)
    )
